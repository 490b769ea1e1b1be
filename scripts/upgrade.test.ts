import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { readCrds } from '@drydock/crd';
import { root } from './command.ts';
import { compareReleased, nextVersion, releasedVersion, upgradeBetween, upgradeNotes, upgradeNow } from './upgrade.ts';

const read = (file: string): string => readFileSync(join(root, file), 'utf8');

test('an upgrade from the last release refuses and loses nothing, or the version says so', () => {
  const released = releasedVersion();
  const upgrade = upgradeNow();
  const { version } = JSON.parse(read('package.json')) as { readonly version: string };
  assert.ok(compareReleased(version, released) >= 0, `${version} comes after ${released}`);
  if (upgrade.breaks.length > 0)
    assert.ok(
      compareReleased(version, nextVersion(released, upgrade)) >= 0,
      `npm run upgrade-notes: ${upgrade.breaks.join('; ')}`,
    );
});

test('the changelog has what is not released first, then the last release, in the order of their versions', () => {
  const headings = [...read('CHANGELOG.md').matchAll(/^## (.+)$/gm)].map(([, heading = '']) => heading);
  const [first, ...versions] = headings;
  assert.deepEqual([first, versions[0]], ['Unreleased', releasedVersion()]);
  assert.deepEqual(versions, versions.toSorted(compareReleased).reverse());
});

/** A definition with these fields of a spec. */
function definition(field: string): string {
  return `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: ships.example.com }
spec:
  group: example.com
  scope: Namespaced
  names: { kind: Ship, plural: ships }
  versions:
    - name: v1
      served: true
      storage: true
      schema: { openAPIV3Schema: { type: object, properties: { spec: { type: object, properties: { ${field} } } } } }
`;
}

test('negative control: what an upgrade breaks, brings and leaves is told, and asks for its version', () => {
  const map = (field: string) =>
    new Map(readCrds(definition(field), 'ship.yaml').map((crd) => [crd.name, crd] as const));
  const [plain, more, fewer] = [
    'mast: { type: string }',
    'mast: { type: string }, sail: { type: string }',
    'mast: { type: string, enum: [oak] }',
  ].map(map) as [ReturnType<typeof map>, ReturnType<typeof map>, ReturnType<typeof map>];
  const none = upgradeBetween(plain, plain);
  assert.deepEqual(
    [nextVersion('0.1.0', none), upgradeNotes('0.1.0', none)],
    ['0.1.1', 'Since 0.1.0 nothing has changed in them.\n'],
  );
  const wider = upgradeBetween(plain, more);
  assert.deepEqual([wider.breaks, nextVersion('1.4.2', wider)], [[], '1.5.0']);
  assert.match(
    upgradeNotes('1.4.2', wider),
    /next version is 1\.5\.0[\s\S]*An upgrade brings:\n\n- `ships\.example\.com` `spec\.sail`: field is new[\s\S]*Going back loses/,
  );
  const narrower = upgradeBetween(plain, fewer);
  assert.deepEqual([nextVersion('1.4.2', narrower), nextVersion('0.1.0', narrower)], ['2.0.0', '0.2.0']);
  assert.match(
    upgradeNotes('1.4.2', narrower),
    /refuses or loses what may be stored:\*\*\n\n- `ships\.example\.com` `spec\.mast`/,
  );
});
