import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BootImageStatus } from '@drydock/api';
import { testPlacement } from '@drydock/templates/testing';
import { bootImageStatus } from '../status/boot-image.ts';
import type { SetOutcome } from '../status/subject.ts';
import { capiObject, machineDeployment, vsphereTemplate } from '../testing/capi-world.ts';
import { fakeStore } from '../testing/fake-store.ts';
import { IMAGE_GONE } from '../way-back/history.ts';
import { imageLeafOf } from './image-leaf.ts';
import { createLooks } from './looks.ts';
import type { Rotation } from './rotation.ts';
import { rotatedSet } from './set.ts';
import { vsphereImages } from './vsphere-images.ts';

/** A set of which releases `a`, `b`, `c` are there, and its BootImage as it is written. */
function rig() {
  const store = fakeStore(Object.fromEntries(['a', 'b', 'c'].map((name) => [name, { version: name, ours: true }])));
  const time = { ms: 0 };
  const images = vsphereImages({
    ...{ store, owner: 'us', holder: 'h', holderIsLive: () => true, elapsed: () => time.ms },
    places: async () => [testPlacement()],
  });
  const looks = createLooks({ images, placeText: () => 'vc1 /dc', elapsed: () => time.ms });
  const set = rotatedSet('MachineDeployment', machineDeployment('worker', 'worker'));
  const said: { status: BootImageStatus | undefined } = { status: undefined };
  const settles = async (image: string, outcome: Partial<SetOutcome> = {}): Promise<BootImageStatus> => {
    const template = vsphereTemplate('worker', image, 2);
    const rotation: Rotation = {
      ...{ set, siblings: [], cluster: capiObject('Cluster', 'c1', {}), clusterClass: undefined, template },
      ...{ beside: () => undefined, remediated: [], otherAuthority: undefined },
    };
    const leaf = set.reference === undefined ? undefined : imageLeafOf(set.reference, []);
    if (typeof leaf !== 'object') throw new TypeError('its template names an image');
    await looks.images.look({ rotation, leaf, image: { kind: 'named', image, release: image } }, {});
    const current = { kind: 'current', current: image, target: image, ...outcome } as SetOutcome;
    said.status = bootImageStatus(said.status, await looks.told(set, current, said.status), {
      ...{ set: set.id, platform: looks.platform(set), generation: 1, now: new Date(time.ms) },
      facts: { ...looks.facts(set), reference: image, target: image },
    });
    return said.status;
  };
  return { store, time, settles };
}

const back = ({ history = [] }: BootImageStatus): readonly unknown[] =>
  history.map(({ image, revertable, why }) => [image, revertable, why].filter((one) => one !== undefined));

test('OWN-18 the history of a set of Cluster API says what can be gone back to, with the move itself, and again each hour', async () => {
  const { store, time, settles } = rig();
  assert.deepEqual(back(await settles('a')), [['a']]);
  assert.deepEqual(back(await settles('b')), [['b'], ['a', true]], 'with the move');
  assert.deepEqual(back(await settles('c')), [['c'], ['b', true], ['a', true]]);
  store.templates.delete('a');
  time.ms += 60_000;
  const calls = store.calls.length;
  const soon = await settles('c');
  assert.deepEqual(back(soon), [['c'], ['b', true], ['a', true]], 'it was looked at a minute ago');
  assert.ok(store.calls.length - calls <= 1, 'nothing but the image in use is asked about');
  time.ms += 3_600_000;
  const later = await settles('c');
  assert.deepEqual(back(later), [['c'], ['b', true], ['a', false, IMAGE_GONE]]);
  assert.equal(later.revertTo, 'b');
});

test('OWN-18 where a vCenter does not answer, what was said of a way back stays said, and it is looked again the next time', async () => {
  const { store, time, settles } = rig();
  await settles('a');
  await settles('b');
  time.ms += 3_600_000;
  store.failInspect = new Error('vc1 does not answer');
  assert.deepEqual(back(await settles('b')), [['b'], ['a', true]]);
  store.failInspect = undefined;
  store.templates.delete('a');
  assert.deepEqual(back(await settles('b')), [['b'], ['a', false, IMAGE_GONE]]);
});
