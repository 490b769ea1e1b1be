import assert from 'node:assert/strict';
import { refKey } from '@drydock/vsphere';
import { keysOfText } from '../../packages/templates/src/mark/keys.ts';
import { holdAttribute } from '../../packages/templates/src/mark/pointers.ts';
import { attemptsOf } from '../../packages/templates/src/names.ts';
import { replay } from './templates-actors/replayer.ts';
import { beat } from './templates-actors/uploader.ts';
import {
  changed,
  collected,
  copiesAreNothing,
  copyOf,
  DAY,
  elsewhere,
  entered,
  isTheirs,
  isThere,
  MINUTE,
  named,
  OWNER,
  placement,
  published,
  refusal,
  signed,
  silent,
  started,
  takenOver,
  unfinishedCopy,
  unmoved,
  usurped,
  wishOf,
} from './templates-rights-world.ts';
import { copyWorld, FOLDER, leftover, NAME, processOf } from './templates-world.ts';

/** Plays one claim of the documentation, and fails where it is not so. */
export type Play = () => Promise<void>;

/** By who, then by what the documentation says that they could or could not. */
export type Plays = Readonly<
  Record<string, { readonly could: Readonly<Record<string, Play>>; readonly couldNot: Readonly<Record<string, Play>> }>
>;

/** What rights in a vCenter allow: the table of docs/security.md. */
export const VCENTER_PLAYS: Plays = {
  'create VMs in the folder, and read templates': {
    could: {
      'take all eight names that an image may get, which stops its publication': async () => {
        const world = await started();
        for (const { name } of attemptsOf(wishOf('pointer'))) world.inventory.add(world.inventory.at(FOLDER), { name });
        assert.equal(await refusal(world), 'NAME_TAKEN');
      },
      'delay `drydock template publish` with a copy of an unfinished import, for as long as they change its heartbeat':
        async () => {
          const { world, copy } = await unfinishedCopy();
          for (let hour = 0; hour < 3; hour += 1) {
            beat(world.inventory, { uploading: new Set([refKey(copy.ref)]) }, world.clock.now());
            assert.equal(await refusal(world, 'refuse'), 'UPLOAD_IN_PROGRESS');
            world.clock.advance(60 * MINUTE);
          }
        },
      'have that copy removed': async () => {
        const { world, copy } = await unfinishedCopy();
        await silent(world);
        assert.ok(!isThere(world, copy));
      },
      'have the operator adopt a copy of a template that version 0.1.0 made, if they made the copy before the upgrade, that template is gone, and the cluster still refers to its name':
        async () => {
          assert.equal(await takenOver((name) => name === 'base-9.4', 'before'), true);
        },
    },
    couldNot: {
      'have any other copy published, reverted to or listed as proven': copiesAreNothing,
      'have such a copy adopted for its old code alone': async () => {
        assert.equal(await takenOver(() => false, 'before'), false);
      },
      'have such a copy adopted if they made it after the upgrade': async () => {
        assert.equal(await takenOver((name) => name === 'base-9.4', 'after'), false);
      },
      'have a template or a finished copy removed': async () => {
        const world = await started();
        const one = await published(world);
        const copies = [copyOf(world, one), copyOf(world, one, { isTemplate: false, name: 'copy as a machine' })];
        await collected(world, [NAME, one.name]);
        for (const each of [one, ...copies]) assert.ok(isThere(world, each), each.name);
      },
    },
  },
  'set custom attributes': {
    could: {
      'keep a template from being collected, by naming a holder': async () => {
        const world = await started();
        const one = await published(world, 'pointer', '9.5');
        const twin = { ...copyWorld(world), seen: [] };
        await collected(twin);
        assert.ok(!isThere(twin, one), 'it would have been collected');
        await world.inventory.client().setCustomValue(one.ref, holdAttribute('a.tfvars'), 'what nobody can read');
        await collected(world);
        assert.ok(isThere(world, one));
      },
      'make a command that has the key, but another ledger, import an image again': async () => {
        const world = await started();
        const one = await published(world);
        await using store = elsewhere(world);
        const wish = { ...wishOf('pointer'), holder: 'elsewhere' };
        const found = await store.publish(wish, { holderIsLive: () => undefined });
        assert.deepEqual([found.adopted, found.name], [true, one.name]);
        one.customValues.clear();
        await using other = elsewhere(world);
        const { name } = await other.publish(wish, { holderIsLive: () => undefined });
        assert.notEqual(name, one.name);
      },
    },
    couldNot: {
      'release a template for which the ledger has a holder': async () => {
        const world = await started();
        const one = await published(world, 'pointer', '9.5');
        await using store = processOf(world);
        await store.hold(placement, one.name, 'image.auto.tfvars');
        one.customValues.clear();
        await collected(world);
        assert.ok(isThere(world, one));
      },
      'change what is published, or have a template in use removed': async () => {
        for (const deed of [
          'writes older values back',
          'exchanges values',
          'empties attributes',
          'deletes attributes',
        ] as const)
          await unmoved(deed);
      },
    },
  },
  'rename VMs in the folder': {
    could: {
      'give the stable name to a template of theirs, which consumers then use until a person acts, because a swap refuses to touch it':
        async () => {
          const { world, usurper } = await usurped();
          assert.equal(await refusal(world, 'refuse'), 'UNMARKED');
          assert.equal(named(world, NAME).ref, usurper.ref);
        },
      'have a revert go back to that template, after a swap that retires unmarked templates (`--retire-unmarked`, and the operator in swap mode)':
        async () => {
          const { world, usurper } = await usurped();
          assert.notEqual((await published(world, 'retire')).ref, usurper.ref);
          await using store = processOf(world);
          await store.revert({ placement, owner: OWNER, name: NAME, holder: 'here' });
          assert.equal(named(world, NAME).ref, usurper.ref);
        },
      "have an unmarked template removed by a swap, if they rename it to exactly the name that machine-config-operator's swap would leave behind":
        async () => {
          const world = await started();
          const ref = world.inventory.add(world.inventory.at(FOLDER), { name: leftover('old'), template: true });
          await published(world, 'refuse');
          world.clock.advance(DAY);
          await published(world, 'refuse');
          assert.ok(!isThere(world, { ref }));
        },
    },
    couldNot: {
      'have a renamed template removed': async () => {
        const world = await started();
        const one = await published(world, 'pointer', '9.5');
        one.name = 'renamed by hand';
        await collected(world);
        assert.ok(isThere(world, one));
      },
    },
  },
  'reconfigure, convert or power on VMs in the folder, or write files of the datastore': {
    could: {
      "exchange a template's disks for others of the same UUID and size, because Drydock never reads disks back":
        async () => {
          const world = await started();
          const one = await published(world);
          one.disks = one.disks.map((disk) => ({ ...disk, file: `[DS0] theirs/${disk.file.split('/').at(-1)}` }));
          assert.equal((await published(world)).ref, one.ref);
        },
      "have another user's VM removed, if it was never started and they may also rename it, by making it look like an unfinished import":
        async () => {
          const { world, copy, half } = await unfinishedCopy();
          world.inventory.remove(copy.ref);
          const ref = world.inventory.add(world.inventory.at(FOLDER), { name: 'new server' });
          const victim = named(world, 'new server');
          const { name, instanceUuid, extraConfig } = half;
          Object.assign(victim, { name, instanceUuid, extraConfig: new Map(extraConfig) });
          await silent(world);
          assert.ok(!isThere(world, { ref }));
        },
    },
    couldNot: {
      'have a template used after it was powered on': () =>
        changed(({ inventory }, { ref }) => {
          inventory.convert(ref, 'machine');
          inventory.power(ref, 'poweredOn');
          inventory.power(ref, 'poweredOff');
          inventory.convert(ref, 'template');
        }),
      'have a template used whose disks differ in UUID or size, or whose settings differ': async () => {
        await changed((_, one) => {
          one.disks = one.disks.map((disk) => ({ ...disk, uuid: '22222222-0000-4000-8000-000000000000' }));
        });
        await changed((_, one) => {
          one.disks = one.disks.map((disk) => ({ ...disk, capacityKB: 1 }));
        });
        await changed((_, { extraConfig }) => void extraConfig.set('guestinfo.ignition.config.data', 'theirs'));
      },
    },
  },
  'delete VMs in the folder': {
    could: {
      'remove every template, so that the next publication uploads again': async () => {
        const world = await started();
        const one = await published(world);
        world.inventory.remove(one.ref);
        assert.notEqual((await published(world)).ref, one.ref);
      },
    },
    couldNot: { 'have a copy used in its place': copiesAreNothing },
  },
  'administer the vCenter': {
    could: {
      'have a VM of theirs used as the release, because Drydock believes vCenter about morefs and creation dates':
        async () => {
          const world = await started();
          await published(world);
          replay(world, 'restores with the same identity', 'newest', new Map());
          assert.ok(isTheirs(world, await published(world)));
        },
    },
    couldNot: {
      'do so with a reused moref alone, as after vCenter was restored from a backup': async () => {
        const world = await started();
        await published(world);
        replay(world, 'restores', 'newest', new Map());
        assert.ok(!isTheirs(world, await published(world)));
      },
    },
  },
};

/** What else proves ownership: the table of docs/install.md. */
export const PROOF_PLAYS: Plays = {
  'has the mark key, and may create VMs and set attributes': {
    could: {
      'have a template of theirs published wherever that key counts': async () => {
        const world = await started();
        const one = await signed(world);
        assert.equal((await published(world)).ref, one.ref);
      },
    },
    couldNot: {
      'have a template removed that is not in the ledger': async () => {
        const world = await started();
        const one = await signed(world);
        await collected(world);
        assert.ok(isThere(world, one));
      },
      'have a template published after the key was revoked': async () => {
        const world = await started();
        const one = await signed(world);
        await using store = elsewhere(world, keysOfText(`new:${'f'.repeat(64)}`).keys);
        const wish = { ...wishOf('pointer'), holder: 'here' };
        const { name } = await store.publish(wish, { holderIsLive: () => undefined });
        assert.notEqual(name, one.name);
      },
    },
  },
  'may edit the ConfigMaps `drydock-ownership-0` to `-3`, or the file `ownership.json`': {
    could: {
      'have a template of theirs published': async () => {
        const world = await started();
        const one = await entered(world);
        assert.equal((await published(world)).ref, one.ref);
      },
      'have any unused template in the folder removed': async () => {
        const world = await started();
        const one = await entered(world);
        await collected(world);
        assert.ok(!isThere(world, one));
      },
    },
    couldNot: {
      'stop work on other templates with an unreadable entry': async () => {
        const world = await started();
        const [key = ''] = world.records.texts.keys();
        world.records.texts.set(key, '{}');
        await published(world, 'pointer', '9.9');
      },
      'have a template removed that is in use': async () => {
        const world = await started();
        const one = await entered(world);
        await collected(world, [NAME, one.name]);
        assert.ok(isThere(world, one));
      },
    },
  },
};
