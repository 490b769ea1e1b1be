import type { CallOptions, DiskSummary, MachineDisks, MoRef, VCenter } from '@drydock/vsphere';

/** Disks of a machine or template. */
interface Disked {
  readonly ref: MoRef;
  readonly disks: readonly DiskSummary[];
}

/** Names of machines that need a base's disks, and of those of which nobody can tell because their disks cannot be read. */
export interface Links {
  readonly linked: readonly string[];
  readonly unseen: readonly string[];
}

/** No machine needs them. */
export const NO_LINKS: Links = { linked: [], unseen: [] };

/**
 * For each of `bases`: the machines whose disks lie on its disks, or on disks that its own lie on (a clone of its snapshot), or that have one of them attached. All machines of
 * the datacenter are asked, wherever they sit: a clone rarely stays in its template's folder.
 */
export async function linkedMachines<T extends Disked>(
  vcenter: VCenter,
  datacenter: MoRef,
  bases: readonly T[],
  options: CallOptions,
): Promise<ReadonlyMap<T, Links>> {
  if (bases.length === 0) return new Map();
  const all = await vcenter.disksOn(datacenter, options);
  return new Map(bases.map((base) => [base, linkedTo(base, all)]));
}

/** Those of `all` that need `base`'s disks. One whose disks cannot be read may need those of every datastore that it has files on. */
export function linkedTo(base: Disked, all: readonly MachineDisks[]): Links {
  const files = new Set(base.disks.flatMap(({ file, parents }) => [file, ...parents]));
  const mine = all.find(({ ref }) => ref.value === base.ref.value)?.datastores ?? [];
  const others = all.filter(({ ref }) => ref.value !== base.ref.value);
  const near = ({ datastores }: MachineDisks): boolean =>
    mine.length === 0 ||
    datastores.length === 0 ||
    datastores.some(({ value }) => mine.some((own) => own.value === value));
  return {
    linked: others
      .filter(({ disks }) => disks.some(({ file, parents }) => [file, ...parents].some((one) => files.has(one))))
      .map(({ name }) => name),
    unseen: others.filter((one) => one.unreadable !== undefined && near(one)).map(({ name }) => name),
  };
}
