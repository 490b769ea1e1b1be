import { type MoRef, refKey } from '@drydock/vsphere';
import type { MachineSnapshot } from '@drydock/vsphere/testing';
import type { World } from '../templates-world.ts';

/** Clones a machine or template as vCenter does, mark and attributes copied, in its folder; the clone is foreign. */
export function cloneMarked(world: World, source: MachineSnapshot, template: boolean): MoRef {
  const from: MoRef = { type: 'VirtualMachine', value: source.ref.split(':')[1] ?? '' };
  // Named as an import of the same wish would be.
  const [, tail = ''] = /(-9\.\d-[0-9a-f]{8})$/.exec(source.name) ?? [];
  const name = `clone-${world.inventory.state.next}${tail}`;
  const ref = world.inventory.clone(from, { name, template, copyCustomValues: true });
  const key = refKey(ref);
  const made = world.inventory.snapshot().machines.find((machine) => machine.ref === key);
  world.foreign.set(key, JSON.stringify(made));
  return ref;
}

/** A worker whose disk lies on the disk of a template. */
export function cloneLinked(world: World, source: MachineSnapshot): void {
  const from: MoRef = { type: 'VirtualMachine', value: source.ref.split(':')[1] ?? '' };
  const folder = world.inventory.at('/DC0/vm/other');
  const name = `worker-${world.inventory.state.next}`;
  world.inventory.clone(from, { name, folder, linked: true, powerOn: true });
}
