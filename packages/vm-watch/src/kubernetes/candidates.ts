import type { MoRef } from '@drydock/vsphere';

/** Machines that said that they belong to an object which names none yet. A hint: whoever uses it asks the machine again. */
export interface Candidates {
  add(namespacedName: string, server: string, ref: MoRef): void;
  of(namespacedName: string, server: string): readonly MoRef[];
  drop(namespacedName: string, server: string, ref: MoRef): void;
  forget(namespacedName: string): void;
  /** References to this vCenter mean nothing any more. */
  forgetServer(server: string): void;
}

/** Names that no object ever has are the oldest, and go first. */
const MOST = 50_000;

/** None yet. */
export function candidates(): Candidates {
  const byName = new Map<string, Map<string, { readonly server: string; readonly ref: MoRef }>>();
  const idOf = (server: string, ref: MoRef): string => `${server} ${ref.value}`;
  return {
    add: (name, server, ref) => {
      const known = byName.get(name) ?? new Map<string, { readonly server: string; readonly ref: MoRef }>();
      known.set(idOf(server, ref), { server, ref });
      byName.delete(name);
      byName.set(name, known);
      if (byName.size > MOST) for (const oldest of byName.keys()) return void byName.delete(oldest);
      return undefined;
    },
    of: (name, server) =>
      [...(byName.get(name)?.values() ?? [])].filter((one) => one.server === server).map(({ ref }) => ref),
    drop: (name, server, ref) => void byName.get(name)?.delete(idOf(server, ref)),
    forget: (name) => void byName.delete(name),
    forgetServer: (server) => {
      for (const [name, known] of byName) {
        for (const [id, one] of known) if (one.server === server) known.delete(id);
        if (known.size === 0) byName.delete(name);
      }
    },
  };
}
