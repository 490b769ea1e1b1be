import { VimError } from '../errors.ts';
import type { Libraries, LibraryFile } from '../vcenter.ts';
import type { CallRunner } from './hooks.ts';
import { type InventoryState, type MemoryLibraryItem, newUuid } from './inventory.ts';

/** Adds an item; libraries are made as they are named. Two calls with one name make two items. Resolves to the item's id. */
export function addLibraryItem(
  state: InventoryState,
  library: string,
  name: string,
  files: MemoryLibraryItem['files'],
): string {
  const known = [...state.libraries].find(([, called]) => called === library)?.[0];
  const of = known ?? newUuid(state);
  state.libraries.set(of, library);
  const id = newUuid(state);
  state.libraryItems.set(id, { library: of, name, files });
  return id;
}

/** The libraries of the in-memory vCenter, as one client reads them. */
export function memoryLibraries(state: () => InventoryState, run: CallRunner): Libraries {
  const itemOf = (id: string) => {
    const item = state().libraryItems.get(id);
    if (item === undefined) throw gone(`item ${id}`);
    return item;
  };
  return {
    named: (name, options) =>
      run(
        'libraries.named',
        [name],
        () => {
          const all = [...state().libraries].map(([id, called]) => ({ id, name: called }));
          const found = all.filter((one) => one.name === name);
          return found.length > 0 ? found : all.filter(({ id }) => id === name);
        },
        options,
      ),
    items: (library, name, options) =>
      run(
        'libraries.items',
        [library, name],
        () => {
          const all = [...state().libraryItems]
            .filter(([, item]) => item.library === library)
            .map(([id, item]) => ({ id, name: item.name }));
          const found = all.filter((one) => one.name === name);
          return found.length > 0 ? found : all.filter(({ id }) => id === name);
        },
        options,
      ),
    files: (item, options) =>
      run(
        'libraries.files',
        [item],
        () =>
          [...itemOf(item).files].map(([name, { bytes, size = bytes.length, checksum }]) => ({
            ...{ name, size },
            ...(checksum === undefined ? {} : { checksum }),
          })),
        options,
      ),
    download: (item, options) =>
      run(
        'libraries.download',
        [item],
        () => {
          const { files } = itemOf(item);
          if (state().deniedPrivileges.has(DOWNLOAD)) throw denied(item);
          const session = newUuid(state());
          state().libraryDownloads.add(session);
          return {
            async *read(file: LibraryFile, how = {}) {
              const bytes = await run(
                'libraries.read',
                [item, file.name],
                () => {
                  if (!state().libraryDownloads.has(session)) throw gone('download session');
                  return files.get(file.name)?.bytes ?? new Uint8Array();
                },
                how,
              );
              const half = Math.ceil(bytes.length / 2);
              for (const part of [bytes.subarray(0, half), bytes.subarray(half)])
                if (part.length > 0) yield Uint8Array.from(part);
              if (bytes.length !== file.size) throw wrongSize(file, bytes.length);
            },
            [Symbol.asyncDispose]: async () => {
              const end = (): void => {
                state().libraryDownloads.delete(session);
              };
              await run('libraries.close', [item], end).catch(() => undefined);
            },
          };
        },
        options,
      ),
  };
}

const DOWNLOAD = 'ContentLibrary.DownloadSession';

function gone(what: string): VimError {
  return new VimError({
    ...{ kind: 'http', code: 'VIM_NOT_FOUND', op: 'content/library', status: 404 },
    message: `${what} does not exist`,
  });
}

function denied(item: string): VimError {
  return new VimError({
    ...{ kind: 'http', code: 'VIM_NO_PERMISSION', op: 'POST download-session', status: 403 },
    message: `the user lacks ${DOWNLOAD} on item ${item} of a content library`,
  });
}

function wrongSize({ name, size }: LibraryFile, received: number): VimError {
  const op = `GET ${name}`;
  return received > size
    ? new VimError({
        ...{ kind: 'protocol', code: 'VIM_BAD_RESPONSE', op },
        message: `the file has more than the ${size} bytes that the library lists`,
      })
    : new VimError({
        ...{ kind: 'transport', code: 'VIM_UNREACHABLE', op, retriable: true },
        message: `the file ended after ${received} of the ${size} bytes that the library lists`,
      });
}
