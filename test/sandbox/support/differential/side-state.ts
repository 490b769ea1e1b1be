import { edited } from './field-mutations.ts';
import type { Fields, PlannedRequest } from './planned-request.ts';
import { keyOf, type ServerNames } from './server-names.ts';
import type { ServerAnswer, ServerSide } from './server-side.ts';

/** What one server said so far in a history, from which requests get its versions and identities. */
export interface SideState {
  readonly side: ServerSide;
  readonly names: ServerNames;
  send(request: PlannedRequest): Promise<ServerAnswer>;
  note(request: PlannedRequest, answer: ServerAnswer): void;
  /** Paths of the objects that this server stored. */
  written(): readonly string[];
  /** Paths of the objects that a request may have changed. */
  objectPaths(request: PlannedRequest, all: readonly string[]): readonly string[];
  keyOfPath(path: string): string;
  /** Deletes an object, whatever holds it. */
  removeObject(path: string): Promise<void>;
  /** Forgets what was said. */
  begin(): void;
}

interface Known {
  readonly object: Fields;
  readonly version: string;
  readonly before: string | undefined;
  readonly uid: string;
}

const NEVER = '11111111-1111-4111-8111-111111111111';

/** The state of a side at the beginning of a history. */
export function sideState(side: ServerSide, names: ServerNames): SideState {
  const known = new Map<string, Known>();
  const tokens = new Map<string, string>();
  const written = new Set<string>();

  const filled = (text: string): string =>
    text
      .replaceAll(/<<version ([^>]+)>>/g, (_all, path: string) => known.get(path)?.version ?? '')
      .replaceAll(/<<old ([^>]+)>>/g, (_all, path: string) => known.get(path)?.before ?? '')
      .replaceAll(/<<uid ([^>]+)>>/g, (_all, path: string) => known.get(path)?.uid ?? NEVER)
      .replaceAll(/<<continue ([^>]+)>>/g, (_all, path: string) => encodeURIComponent(tokens.get(path) ?? ''));

  const bodyOf = ({ path, body, edits }: PlannedRequest): unknown => {
    const current = edits === undefined ? undefined : known.get(objectPath(path))?.object;
    const sent = current === undefined ? body : edited(current, edits ?? []);
    return sent === undefined ? undefined : (JSON.parse(filled(JSON.stringify(sent))) as unknown);
  };

  return {
    side,
    names,
    send: async (request) => {
      const { method, type, accept, user, path } = request;
      const body = bodyOf(request);
      return await side.send({
        ...{ method, path: filled(path) },
        ...(body === undefined ? {} : { body }),
        ...(type === undefined ? {} : { type }),
        ...(accept === undefined ? {} : { accept }),
        ...(user === undefined ? {} : { user }),
      });
    },
    note: (request, { code, body }) => {
      const { kind, method, path, verb } = request;
      if (code >= 300 || verb === 'watch' || verb === 'discovery') return;
      const place = kind.split('/').slice(0, 2).join('/');
      if (/[?&]dryRun=/.test(path)) return;
      names.note(place, body);
      const { metadata } = body as { readonly metadata?: Fields };
      const token = metadata?.['continue'];
      if (verb === 'list') tokens.set(path.split('?', 1)[0] ?? '', typeof token === 'string' ? token : '');
      const { name, uid, resourceVersion: version } = metadata ?? {};
      if (typeof uid !== 'string' || typeof version !== 'string') return;
      const own = method === 'POST' ? `${path.split('?', 1)[0]}/${String(name)}` : objectPath(path);
      if (request.accept !== undefined || /\/(?:scale|eviction|binding|token)(?:\?|$)/.test(path)) return;
      if (method !== 'GET') written.add(own);
      const before = known.get(own)?.version;
      known.set(own, { object: body as Fields, version, before, uid });
    },
    written: () => [...written],
    objectPaths: ({ method, path, verb, body }, all) => {
      const bare = path.split('?', 1)[0] ?? '';
      if (verb === 'deletecollection') return all.filter((one) => one.startsWith(`${bare}/`));
      const { metadata } = (body ?? {}) as { readonly metadata?: { readonly name?: unknown } };
      if (method === 'POST') return all.filter((one) => one === `${bare}/${String(metadata?.name)}`);
      return all.filter((one) => one === objectPath(path));
    },
    keyOfPath: (path) => {
      const { group, plural, namespace, name } = partsOf(path);
      return keyOf(`${group}/${plural}`, { namespace, name });
    },
    removeObject: async (path) => {
      known.delete(path);
      const type = 'application/merge-patch+json';
      const free = { metadata: { finalizers: null } };
      await side.send({ method: 'PATCH', path, body: free, type });
      const query = '?gracePeriodSeconds=0&propagationPolicy=Background';
      await side.send({ method: 'DELETE', path: `${path}${query}` });
      if (!/^\/api\/v1\/namespaces\/[^/]+$/.test(path)) return;
      const { code, body } = await side.send({ method: 'GET', path });
      if (code !== 200) return;
      const object = { ...(body as Fields), spec: { finalizers: [] } };
      await side.send({ method: 'PUT', path: `${path}/finalize`, body: object });
    },
    begin: () => {
      known.clear();
      tokens.clear();
      written.clear();
    },
  };
}

interface PathParts {
  readonly group: string;
  readonly plural: string;
  readonly namespace: string | undefined;
  readonly name: string;
}

const PATH = /^(?:\/api\/[^/]+|\/apis\/([^/]+)\/[^/]+)(?:\/namespaces\/([^/]+)(?=\/[^/]+\/[^/]+))?\/([^/]+)\/([^/?]+)/;

function partsOf(path: string): PathParts {
  const [, group = '', namespace, plural = '', name = ''] = PATH.exec(path) ?? [];
  return { group, plural, namespace, name };
}

/** The path of the object that a request is about, without query and subresource. */
export function objectPath(path: string): string {
  return PATH.exec(path)?.[0] ?? path;
}
