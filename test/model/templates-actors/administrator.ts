import assert from 'node:assert/strict';
import type { InventorySnapshot, MachineSnapshot, MemoryInventory } from '@drydock/vsphere/testing';

/** What an administrator does to a template in the client: each is ordinary, none of it is ours to undo. */
export type Deed = 'converts' | 'converts and boots' | 'converts, boots and switches off' | 'boots and converts back';
export const DEEDS: readonly Deed[] = [
  'converts',
  'converts and boots',
  'converts, boots and switches off',
  'boots and converts back',
];

/** An administrator beside us, and what must be true of what was touched. */
export interface Administrator {
  /** Does it to a template. */
  act(template: MachineSnapshot): void;
  /** Fails unless what was touched is there, and is what the administrator made of it. */
  check(now: InventorySnapshot): void;
  /** Refs of what ran once and is a template again: never to be pointed at. */
  readonly booted: ReadonlySet<string>;
}

/** See {@link Administrator}. */
export function administrator(inventory: MemoryInventory, deed: Deed): Administrator {
  const touched = new Map<string, Pick<MachineSnapshot, 'isTemplate' | 'powerState'>>();
  const booted = new Set<string>();
  return {
    booted,
    act: ({ ref: key, isTemplate }) => {
      if (!isTemplate) return;
      const ref = { type: 'VirtualMachine', value: key.split(':')[1] ?? '' };
      inventory.convert(ref, 'machine');
      if (deed !== 'converts') inventory.power(ref, 'poweredOn');
      if (deed === 'converts, boots and switches off' || deed === 'boots and converts back')
        inventory.power(ref, 'poweredOff');
      if (deed === 'boots and converts back') {
        inventory.convert(ref, 'template');
        booted.add(key);
      }
      const powerState = deed === 'converts and boots' ? 'poweredOn' : 'poweredOff';
      touched.set(key, { isTemplate: deed === 'boots and converts back', powerState });
    },
    check: ({ machines }) => {
      for (const [ref, { isTemplate, powerState }] of touched) {
        const now = machines.find((machine) => machine.ref === ref);
        assert.ok(now !== undefined, `${ref}, which somebody ${deed}, is gone`);
        assert.deepEqual(
          [now.isTemplate, now.powerState],
          [isTemplate, powerState],
          `${now.name} is another thing now`,
        );
      }
    },
  };
}
