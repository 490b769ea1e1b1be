import type { VCenterServerState } from './vcenter-server-state.ts';

/** A call of a REST session. */
export interface RestCall {
  readonly state: VCenterServerState;
  readonly method: string;
  /** After `/rest`. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly body: JsonRecord;
}

/** An answer: JSON `{value}`, bytes, or a status alone. */
export interface RestAnswer {
  readonly status: number;
  readonly value?: unknown;
  readonly bytes?: Uint8Array;
}

export type JsonRecord = Readonly<Record<string, unknown>>;

export const OK: RestAnswer = { status: 200 };
export const NOT_FOUND: RestAnswer = { status: 404 };
export const NOT_ALLOWED: RestAnswer = { status: 405 };
export const ALREADY_EXISTS: RestAnswer = {
  status: 400,
  value: { type: 'com.vmware.vapi.std.errors.already_exists', value: {} },
};
export const ok = (value: unknown): RestAnswer => ({ status: 200, value });

export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
export const recordOf = (value: unknown): JsonRecord =>
  typeof value === 'object' && value !== null ? (value as JsonRecord) : {};

/** The id in a path such as `/com/vmware/cis/tagging/tag/id:X`. */
export function idOf({ path }: RestCall): string | undefined {
  const at = path.indexOf('/id:');
  return at < 0 ? undefined : decodeURIComponent(path.slice(at + 4)).split('/')[0];
}

export function actionOf({ query }: RestCall): string {
  return query.get('~action') ?? '';
}

/** What can be done with a collection and its items. */
interface Resource<T> {
  readonly list: () => RestAnswer;
  readonly create: (spec: JsonRecord) => RestAnswer;
  readonly find: (id: string) => T | undefined;
  readonly get: (item: T, id: string) => object;
  readonly update?: (item: T, id: string, spec: JsonRecord) => void;
  readonly remove: (item: T, id: string) => void;
}

/** Answers a call of a collection, or of the item whose id is in the path. */
export function answerResource<T>(call: RestCall, resource: Resource<T>): RestAnswer {
  const id = idOf(call);
  if (id === undefined) {
    return call.method === 'GET' ? resource.list() : resource.create(recordOf(call.body['create_spec']));
  }
  const item = resource.find(id);
  if (item === undefined) return NOT_FOUND;
  if (call.method === 'GET') return ok(resource.get(item, id));
  if (call.method === 'DELETE') resource.remove(item, id);
  else if (call.method === 'PATCH' && resource.update !== undefined) {
    resource.update(item, id, recordOf(call.body['update_spec']));
  } else return NOT_ALLOWED;
  return OK;
}
