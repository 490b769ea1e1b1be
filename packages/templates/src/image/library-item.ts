import { addressText } from '@drydock/api/text';
import { type CallOptions, foreignText, isVimError, type Libraries, type LibraryFile } from '@drydock/vsphere';
import { TemplateError, type TemplateErrorCode } from '../errors.ts';
import { failure } from '../failure.ts';

const BEGINNING = 'library://vcenter/';
/** What a header of ustar takes. */
const MOST_NAME = 100;
const MOST_SIZE = 0o77777777777;
const MOST_FILES = 64;

/** Where an item of a content library of the vCenter is in which its template is made, as the location of an image. `item`: library and item by name or id, as `Images/rhcos`. */
export function libraryLocation(item: string): string {
  return `${BEGINNING}${item.split('/').map(encodeURIComponent).join('/')}`;
}

/** Whether a location is one of {@link libraryLocation}. */
export function isLibraryLocation(location: string): boolean {
  return location.startsWith(BEGINNING);
}

/** An item that an image can be read from. */
export interface LibraryImage {
  /** Id of the item. */
  readonly id: string;
  /** Where it is, for messages. */
  readonly text: string;
  /** In the order in which they stand in the OVA: the descriptor, then the others by name. */
  readonly files: readonly LibraryFile[];
  /** The one file is an OVA itself. */
  readonly whole: boolean;
}

/**
 * Finds the item that a location names. Fails with `LIBRARY_ITEM_MISSING`, `LIBRARY_ITEM_AMBIGUOUS` where several have the name, and `LIBRARY_ITEM_UNUSABLE` where no image can be made of
 * its files.
 */
export async function findItem(
  libraries: Libraries | undefined,
  location: string,
  call: CallOptions,
): Promise<LibraryImage> {
  const text = addressText(location);
  const [library, item, ...more] = location.slice(BEGINNING.length).split('/').map(decoded);
  if (libraries === undefined || library === undefined || item === undefined || item === '' || more.length > 0)
    throw failed('LIBRARY_ITEM_MISSING', `${text} names no item of a content library that could be asked for`);
  try {
    const of = one(await libraries.named(library, call), `content libraries ${foreignText(library)}`, text);
    const { id } = one(
      await libraries.items(of.id, item, call),
      `items ${foreignText(item)} of content library ${foreignText(library)}`,
      text,
    );
    return { id, text, ...ordered(await libraries.files(id, call), text) };
  } catch (error) {
    throw itemFailure(text, error);
  }
}

/** What made an item unreadable, as an error of this package. The server names no privilege. */
export function itemFailure(text: string, error: unknown): unknown {
  if (!isVimError(error, 'VIM_NO_PERMISSION')) return failure('DOWNLOAD_FAILED', 'download', text, error);
  const message = `failed to download ${text}: the user of the vCenter may not: it needs the privilege ContentLibrary.DownloadSession by a global permission (govc role.update -a ROLE ContentLibrary.DownloadSession)`;
  return new TemplateError({ code: 'PRIVILEGE_MISSING', message, cause: error });
}

function one<T extends { readonly id: string }>(found: readonly T[], what: string, text: string): T {
  const [first, ...more] = found;
  if (first === undefined) throw failed('LIBRARY_ITEM_MISSING', `${text} is not there: the vCenter has no ${what}`);
  if (more.length === 0) return first;
  const ids = found
    .slice(0, 4)
    .map(({ id }) => foreignText(id))
    .join(', ');
  throw failed('LIBRARY_ITEM_AMBIGUOUS', `${text} is not one: the vCenter has ${found.length} ${what} (${ids})`);
}

function ordered(files: readonly LibraryFile[], text: string): Pick<LibraryImage, 'files' | 'whole'> {
  const unusable = (why: string): TemplateError => failed('LIBRARY_ITEM_UNUSABLE', `${text} is no image: ${why}`);
  const [only] = files;
  if (files.length === 1 && only?.name.endsWith('.ova') === true) return { files, whole: true };
  if (files.length > MOST_FILES) throw unusable(`it has ${files.length} files, where ${MOST_FILES} are the most`);
  for (const { name, size } of files) {
    if (!/^[\x20-\x7e]+$/.test(name) || name.includes('/') || name.length > MOST_NAME)
      throw unusable(`its file ${foreignText(name)} has a name that no OVA can have`);
    if (size > MOST_SIZE) throw unusable(`its file ${name} has ${size} bytes, where ${MOST_SIZE} are the most`);
  }
  const descriptors = files.filter(({ name }) => name.endsWith('.ovf'));
  const [descriptor] = descriptors;
  if (descriptor === undefined || descriptors.length > 1)
    throw unusable(`of its ${files.length} files ${descriptors.length} are OVF descriptors, instead of one`);
  const others = files.filter((file) => file !== descriptor).toSorted((a, b) => (a.name < b.name ? -1 : 1));
  return { files: [descriptor, ...others], whole: false };
}

function failed(code: TemplateErrorCode, message: string): TemplateError {
  return new TemplateError({ code, message });
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
