import { basename, dirname, join } from 'node:path';
import {
  DurableError,
  type DurableOptions,
  type FsOps,
  nodeOps,
  recover,
  replaceSymlinkDurable,
} from '@drydock/durable';
import { StaticPodError } from '../errors.ts';
import { decodePod } from '../revision/pod.ts';
import { revisionDir, revisionOfDirectory } from '../revision/revision.ts';

/** Where the revisions of one static pod lie. `target` is its name without `-pod`, such as `kube-apiserver`. */
export interface RevisionPlace {
  readonly resourceDir: string;
  readonly target: string;
}

/** The manifest in a revision's own directory. */
export function revisionManifest({ resourceDir, target }: RevisionPlace, revision: number): string {
  return join(revisionDir(resourceDir, `${target}-pod`, revision), `${target}-pod.yaml`);
}

/** The link to the manifest of the newest revision that was seen ready. */
export function lastKnownGoodPath({ resourceDir, target }: RevisionPlace): string {
  return join(resourceDir, `${target}-last-known-good`);
}

/** The revision that the link names; undefined without a link. What it names may be gone. */
export async function lastKnownGood(place: RevisionPlace, ops: FsOps = nodeOps): Promise<number | undefined> {
  const path = lastKnownGoodPath(place);
  if ((await ops.lstat(path))?.kind !== 'symlink') return undefined;
  // Absolute ones, as library-go makes them, may have been made under another mount.
  return revisionOfDirectory(basename(dirname(await ops.readlink(path))), `${place.target}-pod`);
}

/** Makes the link name a revision, in one step, and removes what a crash left of an earlier one. The link is relative, so that it holds under every mount. */
export async function markLastKnownGood(
  place: RevisionPlace,
  revision: number,
  options: DurableOptions = {},
): Promise<void> {
  const name = `${place.target}-pod`;
  const link = basename(lastKnownGoodPath(place));
  await recover(place.resourceDir, { ...options, owns: (entry) => entry === link });
  await replaceSymlinkDurable(lastKnownGoodPath(place), `${name}-${revision}/${name}.yaml`, options);
}

/**
 * The newest revision before `before` whose manifest can be used; undefined where there is none. One that cannot be read is passed over; where no older one can be
 * used either, that is an error, as it is where the directory cannot be read.
 */
export async function previousRevision(
  place: RevisionPlace,
  before: number,
  ops: FsOps = nodeOps,
): Promise<number | undefined> {
  const revisions = (await ops.list(place.resourceDir))
    .filter(({ kind }) => kind === 'directory')
    .map(({ name }) => revisionOfDirectory(name, `${place.target}-pod`))
    .filter((revision) => revision !== undefined)
    .filter((revision) => revision < before)
    .sort((a, b) => b - a);
  let unreadable: unknown;
  for (const revision of revisions) {
    try {
      if (await isUsable(place, revision, ops)) return revision;
    } catch (error) {
      unreadable ??= error;
    }
  }
  // A disk that fails for a moment must not look like a node without revisions.
  if (unreadable !== undefined) throw unreadable;
  return undefined;
}

/** Whether a revision's manifest is there and is a pod. Fails where it cannot be read. */
export async function isUsable(place: RevisionPlace, revision: number, ops: FsOps = nodeOps): Promise<boolean> {
  const path = revisionManifest(place, revision);
  try {
    decodePod(await ops.read(path), path);
    return true;
  } catch (error) {
    const errno = error instanceof DurableError ? error.errno : (error as NodeJS.ErrnoException).code;
    if (error instanceof StaticPodError || errno === 'ENOENT' || errno === 'ENOTDIR' || errno === 'EISDIR')
      return false;
    throw error;
  }
}
