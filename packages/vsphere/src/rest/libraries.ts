import { quotedText } from '@drydock/api/text';
import { isVimError, VimError } from '../errors.ts';
import { foreignText } from '../foreign-text.ts';
import type { Caller } from '../soap/call.ts';
import type { CallOptions, Libraries, LibraryDownload, LibraryEntry, LibraryFile } from '../vcenter.ts';
import { action, one, record, strings, textField, unusable } from './answers.ts';
import type { Rest } from './rest.ts';
import { readTransfer } from './transfer.ts';

const LIBRARY = '/content/library';
const ITEM = '/content/library/item';
const SESSION = '/content/library/item/download-session';
/** Of one name; more are told by nobody apart, and not read one by one. */
const MOST_NAMESAKES = 16;
/** Files of one item. An OVF has a handful. */
const MOST_FILES = 256;
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
/** A file that its library has not fetched yet is fetched when somebody asks for it. */
const PREPARE_MS = 30 * 60_000;
const LOOK_MS = 500;
const SLOW_LOOK_MS = 5_000;
/** A session that says nothing ends after some minutes. */
const ALIVE_MS = 60_000;

/** Content libraries by REST. */
export function createLibraries(rest: Rest, caller: Pick<Caller, 'clock' | 'baseUrl' | 'httpsAgentFor'>): Libraries {
  return {
    named: (name, options = {}) => find(rest, LIBRARY, { name }, name, options),
    items: async (library, name, options = {}) =>
      find(rest, ITEM, { name, library_id: library }, name, options, library),
    files: (item, options = {}) => filesOf(rest, item, options),
    download: (item, options = {}) => openDownload(rest, caller, item, options),
  };
}

/** The server compares names without regard to case: what is written as it was asked for comes before what is not. */
async function find(
  rest: Rest,
  path: string,
  spec: Readonly<Record<string, string>>,
  name: string,
  options: CallOptions,
  library?: string,
): Promise<readonly LibraryEntry[]> {
  const answer = await rest.call({
    ...options,
    method: 'POST',
    path: action(path, 'find'),
    body: (generation) => (generation === 'rest' ? { spec } : spec),
  });
  const ids = strings(path, answer);
  const isId = ids.length === 0 && UUID.test(name);
  const looked = isId ? [name] : ids.slice(0, MOST_NAMESAKES);
  const found: (LibraryEntry & { readonly of: string })[] = [];
  for (const id of looked) {
    const entry = await entryOf(rest, path, id, options);
    if (entry !== undefined) found.push(entry);
  }
  const here = found.filter(({ of }) => library === undefined || of === '' || of === library);
  const exact = here.filter((entry) => entry.name === name);
  return (exact.length > 0 ? exact : here).map(({ id, name: called }) => ({ id, name: called }));
}

/** undefined for one that is gone. */
async function entryOf(
  rest: Rest,
  path: string,
  id: string,
  options: CallOptions,
): Promise<(LibraryEntry & { readonly of: string }) | undefined> {
  try {
    const value = record(path, await rest.call({ ...options, method: 'GET', path: one(path, id) }));
    return { id, name: textField(value, 'name'), of: path === ITEM ? textField(value, 'library_id') : '' };
  } catch (error) {
    if (isVimError(error, 'VIM_NOT_FOUND')) return undefined;
    throw error;
  }
}

async function filesOf(rest: Rest, item: string, options: CallOptions): Promise<readonly LibraryFile[]> {
  const id = encodeURIComponent(item);
  const answer = await rest.call({
    ...options,
    method: 'GET',
    path: (generation) => (generation === 'rest' ? `${ITEM}/file?library_item_id=${id}` : `${ITEM}/${id}/file`),
  });
  const files = list('content/library/item/file', answer).map(fileOf);
  if (new Set(files.map(({ name }) => name)).size < files.length)
    throw unusable('content/library/item/file', 'has two files of one name');
  return files;
}

function fileOf(value: unknown): LibraryFile {
  const file = record('content/library/item/file', value);
  const { size, checksum_info: said } = file;
  const name = textField(file, 'name');
  if (name === '' || typeof size !== 'number' || !Number.isSafeInteger(size) || size < 0)
    throw unusable('content/library/item/file', `has a file ${foreignText(name)} without a size`);
  const checksum = checksumOf(said);
  return { name, size, ...(checksum === undefined ? {} : { checksum }) };
}

function checksumOf(said: unknown): LibraryFile['checksum'] {
  if (typeof said !== 'object' || said === null) return undefined;
  const info = said as Readonly<Record<string, unknown>>;
  // SHA1 where the server names no algorithm, as its reference says.
  const algorithm = (textField(info, 'algorithm') || 'SHA1').toLowerCase();
  const sum = textField(info, 'checksum').toLowerCase();
  return isAlgorithm(algorithm) && sum !== '' ? { algorithm, sum } : undefined;
}

function isAlgorithm(name: string): name is NonNullable<LibraryFile['checksum']>['algorithm'] {
  return name === 'md5' || name === 'sha1' || name === 'sha256' || name === 'sha512';
}

function list(what: string, value: unknown): readonly unknown[] {
  if (value === null || value === undefined) return [];
  if (!Array.isArray(value)) throw unusable(what, 'is not a list');
  if (value.length > MOST_FILES) throw unusable(what, `has ${value.length} entries, where ${MOST_FILES} are the most`);
  return value;
}

async function openDownload(
  rest: Rest,
  caller: Pick<Caller, 'clock' | 'baseUrl' | 'httpsAgentFor'>,
  item: string,
  options: CallOptions,
): Promise<LibraryDownload> {
  const spec = { library_item_id: item };
  const id = await allowed(
    item,
    rest.call({
      ...options,
      method: 'POST',
      path: () => SESSION,
      body: (generation) => (generation === 'rest' ? { create_spec: spec } : spec),
    }),
  );
  if (typeof id !== 'string' || id === '') throw unusable(SESSION, 'names no session');
  const { clock } = caller;
  let told = clock.now();
  const keepAlive = async (how: CallOptions): Promise<void> => {
    if (clock.now() - told < ALIVE_MS) return;
    told = clock.now();
    await rest.call({
      ...how,
      method: 'POST',
      path: (generation) => action(one(SESSION, id)(generation), 'keep-alive')(generation),
      body: () => ({}),
    });
  };
  return {
    async *read(file, how = {}) {
      const path = await prepared(rest, caller, id, file, how, keepAlive);
      for await (const chunk of readTransfer(caller, rest, path, file, how)) {
        yield chunk;
        await keepAlive(how);
      }
    },
    async [Symbol.asyncDispose]() {
      // It ends by itself where it cannot be told.
      await rest.call({ method: 'DELETE', path: one(SESSION, id) }).catch(() => undefined);
    },
  };
}

/** Says which privilege it is: the server does not. */
async function allowed<T>(item: string, call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (cause) {
    if (!isVimError(cause, 'VIM_NO_PERMISSION')) throw cause;
    throw new VimError({
      kind: 'http',
      code: 'VIM_NO_PERMISSION',
      op: cause.op,
      ...(cause.status === undefined ? {} : { status: cause.status }),
      message: `the user lacks ContentLibrary.DownloadSession on item ${foreignText(item)} of a content library`,
      cause,
    });
  }
}

/** Has a file made ready; resolves to where it is, as a path at this vCenter, whichever host the answer names: nobody is led elsewhere. */
async function prepared(
  rest: Rest,
  { clock }: Pick<Caller, 'clock'>,
  session: string,
  { name }: LibraryFile,
  options: CallOptions,
  keepAlive: (how: CallOptions) => Promise<void>,
): Promise<string> {
  const since = clock.now();
  let info = record(
    SESSION,
    await rest.call({
      ...options,
      method: 'POST',
      path: (generation) =>
        generation === 'rest'
          ? `/content/library/item/downloadsession/file/id:${encodeURIComponent(session)}?~action=prepare`
          : `${SESSION}/${encodeURIComponent(session)}/file?action=prepare`,
      body: () => ({ file_name: name, endpoint_type: 'HTTPS' }),
    }),
  );
  for (;;) {
    const status = textField(info, 'status');
    if (status === 'PREPARED') return pathOf(info, name);
    if (status === 'ERROR') {
      const { error_message: said } = info;
      const why = typeof said === 'object' && said !== null ? textField(record(SESSION, said), 'default_message') : '';
      throw transferFault(name, `the server cannot make it ready: ${quotedText(foreignText(why))}`);
    }
    if (clock.now() - since > PREPARE_MS) throw transferFault(name, 'the server does not make it ready');
    await clock.sleep(clock.now() - since < 10_000 ? LOOK_MS : SLOW_LOOK_MS, options);
    await keepAlive(options);
    info = await lookAgain(rest, session, name, options);
  }
}

async function lookAgain(
  rest: Rest,
  session: string,
  name: string,
  options: CallOptions,
): Promise<Readonly<Record<string, unknown>>> {
  const id = encodeURIComponent(session);
  const answer = await rest.call({
    ...options,
    method: 'GET',
    path: (generation) =>
      generation === 'rest'
        ? `/content/library/item/downloadsession/file?download_session_id=${id}`
        : `${SESSION}/${id}/file`,
  });
  const files = list(SESSION, answer).map((file) => record(SESSION, file));
  const found = files.find((file) => textField(file, 'name') === name);
  if (found === undefined) throw transferFault(name, 'the item has no such file any more');
  return found;
}

function pathOf(info: Readonly<Record<string, unknown>>, name: string): string {
  const { download_endpoint: endpoint } = info;
  const uri = typeof endpoint === 'object' && endpoint !== null ? textField(record(SESSION, endpoint), 'uri') : '';
  const url = URL.parse(uri);
  // Not repeated: there may be a ticket in it.
  if (url?.protocol !== 'https:' && url?.protocol !== 'http:')
    throw unusable(SESSION, `has no address of http for ${foreignText(name)}`);
  return `${url.pathname}${url.search}`;
}

function transferFault(name: string, why: string): VimError {
  return new VimError({
    kind: 'protocol',
    code: 'VIM_BAD_RESPONSE',
    op: 'prepare',
    message: `${foreignText(name)}: ${why}`,
    retriable: true,
  });
}
