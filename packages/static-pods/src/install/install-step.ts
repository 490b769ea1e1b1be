/** How far one part of an installation is: `durable` is known to this process to be as wanted and to survive a power cut. */
export type PartState = 'absent' | 'present' | 'durable';

/** What an installer sees of the disk. */
export interface InstallView {
  readonly revision: PartState;
  /** The shared certificates; `durable` where there are none. */
  readonly certs: PartState;
  /** In the order of publication. */
  readonly manifests: readonly { readonly name: string; readonly state: PartState }[];
}

/** The next thing to do. Each is seen entirely or not at all, except that the objects of a revision that is there are replaced one by one. */
export type InstallStep =
  /** The whole revision appears by one rename. */
  | { readonly do: 'commit-revision' }
  /** The revision is there: its objects are compared and replaced, the directory keeps its inode for pods that have it mounted. */
  | { readonly do: 'reconcile-revision' }
  | { readonly do: 'sync-certs' }
  | { readonly do: 'write-manifest'; readonly name: string }
  | { readonly do: 'done' };

/** What to do next: nothing that kubelet reads before everything that it leads to is durable. */
export function decideInstall({ revision, certs, manifests }: InstallView): InstallStep {
  if (revision === 'absent') return { do: 'commit-revision' };
  if (revision === 'present') return { do: 'reconcile-revision' };
  if (certs !== 'durable') return { do: 'sync-certs' };
  const next = manifests.find(({ state }) => state !== 'durable');
  return next === undefined ? { do: 'done' } : { do: 'write-manifest', name: next.name };
}
