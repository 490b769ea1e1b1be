import { existsSync, globSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { crdArchive } from './crd-archive.ts';
import type { CrdSet } from './crd-set.ts';
import { CRD_SETS, findCrdSet } from './crd-sets.ts';
import { SandboxError } from './errors.ts';
import { goModDownload } from './go-tool.ts';
import { cacheDirectory, GO_DIRECTORY } from './paths.ts';

interface Pin {
  readonly module: string;
  readonly version: string;
  /** `h1:…` of the module's content. */
  readonly sum: string;
}

function readPin(set: CrdSet): Pin {
  const read = (name: string): string => readFileSync(join(GO_DIRECTORY, set.pin, name), 'utf8');
  const [module, version] =
    read('go.mod')
      .match(/^require (\S+) (\S+)$/m)
      ?.slice(1) ?? [];
  const lines = read('go.sum').split('\n');
  const sum = lines.find((line) => line.startsWith(`${module} ${version} `))?.split(' ')[2];
  if (module === undefined || version === undefined || sum === undefined) {
    throw new SandboxError(
      'BadInput',
      `go/${set.pin} pins no module: go.mod needs one require line, go.sum its checksum.`,
    );
  }
  return { module, version, sum };
}

/** Where the set's files are: a new pin is a new folder. */
export function crdDirectory(set: CrdSet): string {
  return join(cacheDirectory(), 'crds', `${set.name}@${readPin(set).version}`);
}

/** The folder with the CRDs of a set, such as `openshift-4.17`. A set that neither `build` has copied nor the archive has is refused with `BadInput`. */
export function crdFolder(name: string): string {
  const set = findCrdSet(name);
  const archived = set === undefined ? undefined : archivedCrds(set);
  if (set !== undefined && archived !== undefined && !crdsReady(set)) publish(set, archived);
  if (set !== undefined && crdsReady(set)) return crdDirectory(set);
  const why = set === undefined ? 'there is no such set' : 'they are not there yet: build them first';
  throw new SandboxError('BadInput', `The CRDs ${name} cannot be read: ${why}.`);
}

/** The folders of all sets that `build` has copied so far. */
export function crdFolders(): readonly string[] {
  return CRD_SETS.filter(crdsReady).map(crdDirectory);
}

function isGlob(file: string): boolean {
  return file.includes('*');
}

/** Whether all files of the set are there. */
export function crdsReady(set: CrdSet): boolean {
  const directory = crdDirectory(set);
  // The folder appears as a whole; what a glob stands for is not known before it does.
  if (set.files.some(isGlob)) return existsSync(directory) && readdirSync(directory).length > 0;
  return set.files.every((file) => existsSync(join(directory, basename(file))));
}

/** The files of a set that the sandbox brings along, by their names; undefined for a set that is downloaded with Go. */
export function archivedCrds(set: CrdSet): Readonly<Record<string, string>> | undefined {
  return crdArchive()[basename(crdDirectory(set))];
}

/** Puts a set's CRDs into the cache: from the archive, or else out of its Go module, which Go downloads and verifies. */
export async function copyCrds(set: CrdSet, log: (line: string) => void, signal?: AbortSignal): Promise<void> {
  if (crdsReady(set)) return;
  publish(set, archivedCrds(set) ?? (await moduleCrds(set, log, signal)));
}

/** The texts of a set's files in its Go module, by their names. Throws where the module is not the pinned one. */
export async function moduleCrds(
  set: CrdSet,
  log: (line: string) => void,
  signal?: AbortSignal,
): Promise<Readonly<Record<string, string>>> {
  const pin = readPin(set);
  const module = `${pin.module}@${pin.version}`;
  log(`sandbox: taking the ${set.name} CRDs from ${module}`);
  const { directory, sum } = await goModDownload(join(GO_DIRECTORY, set.pin), module, signal);
  if (sum !== pin.sum) {
    throw new SandboxError(
      'BuildFailed',
      `${module} has the checksum ${sum}, but go/${set.pin}/go.sum says ${pin.sum}: what was downloaded is not what was pinned. Clear it with "go clean -modcache" and look at GOPROXY.`,
    );
  }
  const files = set.files.flatMap((file) => (isGlob(file) ? globSync(file, { cwd: directory }) : [file]));
  return Object.fromEntries(files.map((file) => [basename(file), readFileSync(join(directory, file), 'utf8')]));
}

/** The set's folder appears as a whole. */
function publish(set: CrdSet, files: Readonly<Record<string, string>>): void {
  const target = crdDirectory(set);
  const unfinished = `${target}.unfinished.${process.pid}`;
  try {
    mkdirSync(unfinished, { recursive: true });
    for (const [name, text] of Object.entries(files)) writeFileSync(join(unfinished, name), text);
    try {
      renameSync(unfinished, target);
    } catch (error) {
      // Another process has published the same files meanwhile. Those stay, because they may be in use.
      if (crdsReady(set)) return;
      if (!existsSync(target)) throw error;
      // A folder that lacks files was never published by a rename: nobody uses it.
      rmSync(target, { recursive: true, force: true });
      renameSync(unfinished, target);
    }
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
}
