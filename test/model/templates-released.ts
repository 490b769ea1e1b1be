import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { virtualClock } from '@drydock/model';
import type { MoRef } from '@drydock/vsphere';
import { type MachineSnapshot, type MemoryInventory, memoryInventory } from '@drydock/vsphere/testing';
import { FOLDER } from './templates-world.ts';

interface ReleasedMachine {
  readonly name: string;
  readonly template: boolean;
  readonly powerState: 'poweredOff';
  readonly instanceUuid: string;
  readonly complete: boolean;
  readonly extraConfig: Readonly<Record<string, string>>;
  readonly customValues: Readonly<Record<string, string>>;
  readonly disks: readonly { readonly file: string }[];
}

/**
 * VMs exactly as version 0.1.0 left them after each of its calls that changes what a reader can see, recorded from its code on the in-memory vCenter with the tests' key. `retired` was imported by
 * 0.1.0 and put away by its next swap; `claimed` is an installer's template that it put away.
 */
export const RELEASED = JSON.parse(readFileSync(join(import.meta.dirname, 'templates-0.1.0.json'), 'utf8')) as Readonly<
  Record<string, ReleasedMachine>
>;

/** A vCenter whose folder has one VM of version 0.1.0. */
export function releasedWorld(state: string): {
  readonly clock: ReturnType<typeof virtualClock>;
  readonly inventory: MemoryInventory;
  readonly ref: MoRef;
} {
  const clock = virtualClock({ auto: true, start: Date.UTC(2026, 1, 1) });
  const inventory = memoryInventory({ now: () => clock.now() });
  const machine = RELEASED[state];
  if (machine === undefined) throw new Error(`version 0.1.0 has no state ${state}`);
  const ref = inventory.add(inventory.at(FOLDER), machine);
  const stored = storedAt(inventory, ref);
  stored.complete = machine.complete;
  for (const [field, value] of Object.entries(machine.customValues))
    stored.customValues.set(inventory.state.customFields.push(field) - 1, value);
  return { clock, inventory, ref };
}

function storedAt({ state }: MemoryInventory, { value }: MoRef) {
  const found = [...state.machines.values()].find(({ ref }) => ref.value === value);
  if (found === undefined) throw new Error(`there is no ${value}`);
  return found;
}

/**
 * Whose a VM is for version 0.1.0, frozen: what its `readMark` answered before it asked for a proof. It acts only on VMs of its own owner, and a swap of its operator also puts away what has no owner.
 */
export function ownerBy010({
  instanceUuid,
  extraConfig,
  customValues,
}: Pick<MachineSnapshot, 'instanceUuid' | 'extraConfig' | 'customValues'>): string | undefined {
  const own = (id: unknown): boolean => typeof id === 'string' && id.toLowerCase() === instanceUuid.toLowerCase();
  const born = ['owner', 'digest', 'holder', 'instanceUuid'].map((field) => extraConfig[`drydock.${field}`] ?? '');
  if (!born.includes('') && own(born[3])) return born[0];
  const said = JSON.parse(customValues['drydock'] ?? '{}') as Readonly<Record<string, unknown>>;
  const roles: readonly unknown[] = ['adopted', 'retired', 'staged'];
  const named = own(said['id']) && roles.includes(said['role']) && typeof said['owner'] === 'string';
  return named ? String(said['owner']) : undefined;
}
