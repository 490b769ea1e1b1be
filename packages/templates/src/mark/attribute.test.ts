import assert from 'node:assert/strict';
import { test } from 'node:test';
import { virtualClock } from '@drydock/model';
import fc from 'fast-check';
import { fails, testRig } from '../testing/rig.ts';
import { testPlacement } from '../testing/wishes.ts';
import { ATTRIBUTE_LIMIT, attributeParts, readAttribute, writeAttribute } from './attribute.ts';

const FOLDER = '/DC0/vm/ocp';
const OWNER = 'f6c1e3f0-9a52-4c5e-8d52-2a3c0e6f1b77';

test('OWN-11 whatever is said, no value has more than 255 characters, and the pieces make the whole again', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 2 }), fc.string({ unit: 'binary', maxLength: 900 }), (json, text) => {
      const value = { json, text };
      const parts = attributeParts('a', value);
      for (const [, part] of parts)
        assert.ok(part.length <= ATTRIBUTE_LIMIT && Buffer.byteLength(part) === part.length);
      const read = readAttribute(new Map(parts), 'a');
      assert.deepEqual(read, { kind: 'value', value: JSON.parse(JSON.stringify(value)) });
      // Any piece of it that is missing, or cut off, is noticed.
      for (const [name, part] of parts) {
        if (parts.length > 1) assert.notEqual(readAttribute(without(parts, name), 'a').kind, 'value');
        const cut = new Map([...parts, [name, part.slice(0, -1)] as const]);
        assert.notDeepEqual(readAttribute(cut, 'a'), read);
      }
    }),
  );
});

function without(parts: ReturnType<typeof attributeParts>, gone: string): ReadonlyMap<string, string> {
  return new Map(parts.filter(([name]) => name !== gone));
}

test('OWN-11 pieces of two values never make a third', () => {
  const [one, two] = ['x', 'y'].map((letter) => attributeParts('a', letter.repeat(400)));
  assert.deepEqual(readAttribute(new Map([...(one ?? []).slice(0, 1), ...(two ?? []).slice(1)]), 'a'), {
    kind: 'torn',
  });
});

for (const longAttributes of ['refused', 'truncated'] as const) {
  test(`OWN-11 a vCenter where longer values are ${longAttributes}: a swap with the longest names, its recovery and the way back work`, async () => {
    const clock = virtualClock({ auto: true });
    const made = testRig(clock, { longAttributes });
    const name = `${'⚓'.repeat(40)}${'"\\'.repeat(20)}`;
    made.inventory.add(made.inventory.at(FOLDER), { name, template: true, productVersion: '9.4' });
    const owner = { cluster: OWNER };
    const image = (release: string) => ({ release, location: 'https://m.test/x', sha256: release.padEnd(64, '0') });
    await made.swap(name, { ...owner, image: image('9.6') });
    clock.advance(1000);
    await made.swap(name, { ...owner, image: image('9.8') });
    clock.advance(1000);
    await made.store.revert({ placement: testPlacement(), owner: OWNER, name, holder: 'h' });
    assert.deepEqual(
      (await made.store.history(testPlacement(), OWNER, name))
        .map(({ release, current }) => [release, current])
        .toSorted(([a = ''], [b = '']) => String(a).localeCompare(String(b))),
      [
        ['9.4', false],
        ['9.6', true],
        ['9.8', false],
      ],
    );
    for (const { customValues } of made.in(FOLDER))
      for (const value of Object.values(customValues)) assert.ok(value.length <= 255, `${value.length}: ${value}`);
  });
}

test('OWN-21 while a longer value is written, readers see the one before or the new one, never half of it', async () => {
  const made = testRig(virtualClock({ auto: true }));
  const vm = { ref: made.inventory.add(made.inventory.at(FOLDER), { name: 'stable', template: true }), name: 'stable' };
  const client = made.inventory.client();
  await writeAttribute(client, vm, 'a', 'short', {});
  const long = 'x'.repeat(600);
  const seen: unknown[] = [];
  made.inventory.onCall = async (method, phase) => {
    if (method !== 'setCustomValue' || phase !== 'after') return;
    const { customFields, machines } = made.inventory.state;
    const [machine] = machines.values();
    const values = new Map([...(machine?.customValues ?? [])].map(([key, value]) => [customFields[key] ?? '', value]));
    const reading = readAttribute(values, 'a');
    seen.push(reading.kind === 'value' ? reading.value : reading.kind);
  };
  await writeAttribute(client, vm, 'a', long, {});
  assert.deepEqual(seen, ['short', 'short', long]);
});

test('OWN-11 a vCenter that keeps less than was written is told, with what to do, and nothing is renamed', async () => {
  const made = testRig(virtualClock({ auto: true }));
  made.inventory.add(made.inventory.at(FOLDER), { name: 'stable', template: true });
  made.inventory.onCall = (method, phase) => {
    if (method !== 'setCustomValue' || phase !== 'after') return;
    for (const { customValues } of made.inventory.state.machines.values())
      for (const [key, value] of customValues) customValues.set(key, value.slice(0, 100));
  };
  const adopt = made.store.adopt({ placement: testPlacement(), owner: OWNER, reference: 'stable', holder: 'h' });
  await fails(adopt, 'ATTRIBUTE_CUT', /kept 100 of \d+ characters of the attribute drydock\.ownership of stable/);
});
