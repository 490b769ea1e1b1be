import type { CallOptions, DiskSummary, MachineDisks, MoRef, VCenter } from '@drydock/vsphere';

/** Disks of a machine or template. */
interface Disked {
  readonly ref: MoRef;
  readonly disks: readonly DiskSummary[];
}

/**
 * For each of `bases`: names of the machines whose disks lie on its disks, or on disks that its own lie on (a clone of its snapshot). All machines of
 * the datacenter are asked, wherever they sit: a clone rarely stays in its template's folder.
 */
export async function linkedMachines<T extends Disked>(
  vcenter: VCenter,
  datacenter: MoRef,
  bases: readonly T[],
  options: CallOptions,
): Promise<ReadonlyMap<T, readonly string[]>> {
  if (bases.length === 0) return new Map();
  const all = await vcenter.disksOn(datacenter, options);
  return new Map(bases.map((base) => [base, linkedTo(base, all)]));
}

/** Names of those of `all` whose disks lie on `base`'s. */
export function linkedTo(base: Disked, all: readonly MachineDisks[]): readonly string[] {
  const files = new Set(base.disks.flatMap(({ file, parents }) => [file, ...parents]));
  return all
    .filter(({ ref }) => ref.value !== base.ref.value)
    .filter(({ disks }) => disks.some(({ parents }) => parents.some((parent) => files.has(parent))))
    .map(({ name }) => name);
}
