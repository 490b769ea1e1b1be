import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Crd, ERAS, type Json, type JsonObject, preflight, readCrd, readManifests } from '@drydock/crd';
import { soaking } from '@drydock/model';
import { build, crdFolder, startSandbox } from '@drydock/sandbox';
import { taken } from './support/crd-bridge.ts';
import { diceOf, resourceOf, without } from './support/crd-samples.ts';
import { type CrdServer, connectCrdServer } from './support/crd-server.ts';

const SETS = ['cluster-api-1.9.0', 'cluster-api-1.14.2'] as const;
const FULLNESS = [10, 8, 5, 2];

function definitions(set: string): readonly Crd[] {
  return globSync(join(crdFolder(set), '*.yaml'))
    .toSorted()
    .flatMap((file) => readManifests(readFileSync(file, 'utf8'), file))
    .map((manifest) => {
      const { labels: _labels, ...metadata } = manifest['metadata'] as JsonObject;
      return readCrd({ ...manifest, metadata } as Json, set);
    });
}

function pathOf(crd: Crd, version: string, name = ''): string {
  const namespace = crd.scope === 'Cluster' ? '' : '/namespaces/default';
  return `/apis/${crd.group}/${version}${namespace}/${crd.plural}${name === '' ? '' : `/${name}`}`;
}

/** Objects that a definition takes, as they are stored. */
async function stored(server: CrdServer, crd: Crd): Promise<readonly JsonObject[]> {
  const { name: version = '', schema = {} } = crd.versions.find(({ storage }) => storage) ?? {};
  const objects: JsonObject[] = [];
  for (let seed = 1; seed <= 8; seed += 1) {
    const dice = diceOf(seed);
    const head = { apiVersion: `${crd.group}/${version}`, kind: crd.kind, metadata: { name: `s${seed}` } };
    let sent: JsonObject | undefined = resourceOf(schema, seed, FULLNESS[seed % FULLNESS.length] ?? 5);
    for (let tries = 0; sent !== undefined && tries < 60; tries += 1) {
      const body = { ...sent, ...head };
      const { causes, object, status } = await server.call({ method: 'POST', path: pathOf(crd, version), body });
      if (status === 201) {
        objects.push(object);
        break;
      }
      const cause = causes[dice() % Math.max(1, causes.length)];
      sent = without(sent, cause?.field ?? '', dice) ?? without(sent, 'spec', dice);
    }
  }
  return objects;
}

test('TRUTH-16 where another version is stored, a server of era E0 refuses no write that was not foretold', {
  skip: soaking || process.env['DRYDOCK_ERAS'] === '1' ? false : 'fetches two releases: only in a soak',
  timeout: 900_000,
}, async (t) => {
  await build({ servers: [], crds: SETS, log: () => undefined });
  await using sandbox = await startSandbox({ era: 'E0' });
  await using server = connectCrdServer(sandbox);
  const [before, after] = [definitions(SETS[0]), definitions(SETS[1])];
  const missed: string[] = [];
  const count = { writes: 0, refused: 0 };
  for (const now of before) {
    const target = after.find(({ name }) => name === now.name);
    if (target === undefined) continue;
    await server.install(now);
    const objects = await stored(server, now);
    const found = preflight(objects, [now], [target], { now: ERAS.E0, target: ERAS.E0 });
    assert.ok((await taken(server, target)).status < 300, target.name);
    await server.install(target);
    for (const object of objects)
      for (const { name: version } of target.versions.filter(({ served }) => served)) {
        const { name = '' } = object['metadata'] as { readonly name?: string };
        const body = { metadata: { labels: { written: version } } };
        const type = 'application/merge-patch+json';
        const answer = await server.call({ method: 'PATCH', path: pathOf(target, version, name), type, body });
        count.writes += 1;
        if (answer.status !== 422) continue;
        count.refused += 1;
        const foretold = found.some(
          (one) => one.object.endsWith(name) && one.blocking && one.class !== 'PRUNE' && one.endpoints.includes('spec'),
        );
        if (!foretold) missed.push(`${target.name} ${version} ${name}: ${answer.message}`);
      }
  }
  t.diagnostic(JSON.stringify(count));
  assert.deepEqual(missed, []);
  assert.ok(count.refused > 50, `${count.refused} refusals prove too little`);
});
