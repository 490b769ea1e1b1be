import type { Crd, Json, JsonObject } from '@drydock/crd';
import { readCrd } from '@drydock/crd';
import { type Answer, type CrdServer, headOf, pathOf } from './crd-server.ts';

/** An object in the store, and the writes that a test makes to it. All are real, not dry runs. */
export interface Stored {
  get(): Promise<JsonObject>;
  /** PUT of the whole object with another status. */
  putStatus(status: Json): Promise<Answer>;
  /** PUT of the object with some fields exchanged. */
  put(fields: JsonObject): Promise<Answer>;
  merge(patch: JsonObject): Promise<Answer>;
  /** JSON patch, by default of the object, not of its status. */
  patch(steps: readonly JsonObject[], rest?: '/status'): Promise<Answer>;
  /** Server-side apply. */
  apply(fields: JsonObject): Promise<Answer>;
  /** What creating it anew answers, after it was deleted. */
  recreate(): Promise<Answer>;
}

/** Installs a definition, stores an object with its status, and puts the next definition in the place of the first. */
export async function setTrap(server: CrdServer, from: Crd, to: Crd | undefined, object: JsonObject): Promise<Stored> {
  const { name = 'one' } = (object['metadata'] ?? {}) as { readonly name?: string };
  const { metadata: _metadata, status, ...rest } = object;
  const path = pathOf(from, name);
  const body = { ...rest, ...headOf(from, name) };
  await server.call({ method: 'DELETE', path });
  await server.install(from);
  await server.call({ method: 'DELETE', path });
  const create = (): Promise<Answer> => server.call({ method: 'POST', path: pathOf(from), body: { ...body, ...half } });
  const half = status === undefined ? {} : { status };
  expect(await create(), 201);
  const get = async (): Promise<JsonObject> => (await server.call({ method: 'GET', path })).object;
  const putStatus = async (next: Json): Promise<Answer> =>
    server.call({ method: 'PUT', path: `${path}/status`, body: { ...(await get()), status: next } });
  if (status !== undefined) expect(await putStatus(status), 200);
  if (to !== undefined) await server.install(to);
  return {
    get,
    putStatus,
    put: async (fields) => server.call({ method: 'PUT', path, body: { ...(await get()), ...fields } }),
    merge: (patch) => server.call({ method: 'PATCH', path, body: patch, type: 'application/merge-patch+json' }),
    patch: (steps, part) =>
      server.call({ method: 'PATCH', path: `${path}${part ?? ''}`, body: steps, type: 'application/json-patch+json' }),
    apply: (fields) =>
      server.call({
        method: 'PATCH',
        path: `${path}?fieldManager=applier&force=true`,
        body: { ...headOf(from, name), ...fields },
        type: 'application/apply-patch+yaml',
      }),
    recreate: async () => {
      expect(await server.call({ method: 'DELETE', path }), 200);
      return create();
    },
  };
}

function expect(answer: Answer, status: number): void {
  if (answer.status !== status) throw new Error(`the trap cannot be set: ${answer.status} ${answer.message}`);
}

/** A merge patch that sets a label, each time another one. */
export function label(): JsonObject {
  return { metadata: { labels: { touched: `t${touched++}` } } };
}
let touched = 0;

/** A small resource of one version with a status subresource. */
export function crdOf(plural: string, schema: JsonObject): Crd {
  const kind = `${plural.charAt(0).toUpperCase()}${plural.slice(1)}`;
  const version = { name: 'v1', served: true, storage: true, subresources: { status: {} } };
  const root = { type: 'object', ...schema };
  const manifest = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.trap.drydock.dev` },
    spec: {
      group: 'trap.drydock.dev',
      scope: 'Cluster',
      names: { plural, kind, singular: plural, listKind: `${kind}List` },
      versions: [{ ...version, schema: { openAPIV3Schema: root } }],
    },
  };
  return readCrd(manifest as unknown as Json, plural);
}

/** The reasons and fields of a refusal, as one line each. */
export function causesOf({ causes }: Answer): readonly string[] {
  return causes.map(({ reason, field }) => `${field} ${reason}`).toSorted();
}
