import { isUtf8 } from 'node:buffer';
import { open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ReleaseError } from '../errors.ts';

/** The files of a payload by their paths in it. */
export interface PayloadFiles {
  /** As a person named it. */
  readonly name: string;
  readonly files: ReadonlyMap<string, string>;
}

/** A file of a payload, in bytes: the largest CRD has 2 MB. */
export const MAX_FILE: number = 32 << 20;
/** All of it: the largest real one has 60 MB. */
export const MAX_PAYLOAD: number = 512 << 20;
/** Files: a real payload has about 900. */
export const MAX_FILES: number = 20_000;

/** The folder of the release manager's own manifests, which are templates. */
export const OWN_FOLDER = 'manifests';
/** The folder of everybody else's, with what the release says of itself. */
export const RELEASE_FOLDER = 'release-manifests';
/** What is no manifest and is read all the same. */
export const SPECIAL_FILES: readonly string[] = ['release-metadata', 'image-references'];

/** Whether a file of a payload is read at all. */
export function isPayloadFile(path: string): boolean {
  const name = path.slice(path.lastIndexOf('/') + 1);
  return SPECIAL_FILES.includes(name) || /\.(?:ya?ml|json)$/.test(name);
}

/**
 * The files of a folder: one as an image has it, with `manifests/` and `release-manifests/`, or one with everything in it, as `oc adm release extract` leaves it.
 * Links are not followed. Throws `ReleaseError`.
 */
export async function readPayloadDirectory(directory: string): Promise<PayloadFiles> {
  const names = (await entriesOf(directory, directory)).map(({ name }) => name);
  const folders = [OWN_FOLDER, RELEASE_FOLDER].filter((folder) => names.includes(folder));
  const files = new Map<string, string>();
  let size = 0;
  for (const folder of folders.length === 0 ? [''] : folders) {
    const inside = await entriesOf(join(directory, folder), directory);
    for (const { name } of inside.filter((entry) => entry.isFile() && isPayloadFile(entry.name))) {
      const path = folder === '' ? name : `${folder}/${name}`;
      const text = await readText(join(directory, path), path);
      size += text.length;
      if (size > MAX_PAYLOAD || files.size >= MAX_FILES) throw tooLarge(directory);
      files.set(folder === '' ? `${RELEASE_FOLDER}/${name}` : path, text);
    }
  }
  return { name: directory, files };
}

/** The error for a payload that has more than one may have. */
export function tooLarge(name: string): ReleaseError {
  return new ReleaseError('TOO_LARGE', `${name} has more than ${MAX_FILES} files or ${MAX_PAYLOAD} bytes`);
}

async function entriesOf(directory: string, payload: string) {
  try {
    return await readdir(directory, { withFileTypes: true });
  } catch (error) {
    const why = (error as NodeJS.ErrnoException).code === 'ENOTDIR' ? 'it is no folder' : (error as Error).message;
    throw new ReleaseError('NO_PAYLOAD', `${payload} cannot be read: ${why}`, error);
  }
}

async function readText(file: string, path: string): Promise<string> {
  await using handle = await open(file, 'r');
  const { size } = await handle.stat();
  if (size > MAX_FILE) throw new ReleaseError('TOO_LARGE', `${path} has ${size} bytes, more than ${MAX_FILE}`);
  const bytes = await handle.readFile();
  if (!isUtf8(bytes)) throw new ReleaseError('UNREADABLE', `${path} is no text in UTF-8`);
  return bytes.toString();
}
