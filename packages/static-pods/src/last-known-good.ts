import { basename, dirname, join } from 'node:path';
import { type DurableOptions, type FsOps, nodeOps, replaceSymlinkDurable } from '@drydock/durable';
import { decodePod } from './pod.ts';
import { revisionDir, revisionOfDirectory } from './revision.ts';

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

/** Makes the link name a revision, in one step. The link is relative, so that it holds under every mount. */
export async function markLastKnownGood(
  place: RevisionPlace,
  revision: number,
  options: DurableOptions = {},
): Promise<void> {
  const name = `${place.target}-pod`;
  await replaceSymlinkDurable(lastKnownGoodPath(place), `${name}-${revision}/${name}.yaml`, options);
}

/** The newest revision before `before` whose manifest can be used; undefined where there is none. Fails where the directory cannot be read. */
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
  for (const revision of revisions) if (await isUsable(place, revision, ops)) return revision;
  return undefined;
}

/** Whether a revision's manifest is there and is a pod. */
export async function isUsable(place: RevisionPlace, revision: number, ops: FsOps = nodeOps): Promise<boolean> {
  const path = revisionManifest(place, revision);
  try {
    decodePod(await ops.read(path), path);
    return true;
  } catch {
    return false;
  }
}
