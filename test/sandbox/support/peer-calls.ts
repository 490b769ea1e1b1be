import { ApiException, CoreV1Api, CustomObjectsApi, type KubeConfig, setHeaderOptions } from '@kubernetes/client-node';
import { errorOfStatus } from '../../../packages/kube/src/errors.ts';
import { JSON_PATCH } from '../../../packages/kube/src/patch-types.ts';
import type { Status } from '../../../packages/kube/src/status-object.ts';

/** What `@kubernetes/client-node` has no call for. A scenario that ends in it says nothing about either client. */
export class CannotSay extends Error {
  override readonly name = 'CannotSay';
}

/** One call, in the words of the API. */
export interface PeerCall {
  readonly kind: { readonly group: string; readonly version: string; readonly plural: string };
  readonly verb: 'get' | 'list' | 'create' | 'replace' | 'patch' | 'delete';
  readonly status?: boolean;
  readonly name?: string | undefined;
  readonly namespace?: string | undefined;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly contentType?: string | undefined;
}

type Method = (parameters: object, options?: object) => Promise<unknown>;

/** The peer's names of the core kinds that scenarios use. */
const CORE: Readonly<Record<string, string>> = { configmaps: 'ConfigMap', namespaces: 'Namespace' };

/** Query parameters that it wants as something other than text. */
const NUMBERS: readonly string[] = ['limit', 'timeoutSeconds'];
const BOOLEANS: readonly string[] = ['force'];

/** The name of the method that the peer has for a call. */
function methodOf({ kind, verb, status, namespace, name }: PeerCall): string {
  if (kind.group !== '') {
    return `${verb}${namespace === undefined ? 'Cluster' : 'Namespaced'}CustomObject${status === true ? 'Status' : ''}`;
  }
  const of = CORE[kind.plural];
  if (of === undefined || status === true)
    throw new CannotSay(`${verb} ${kind.plural}${status === true ? '/status' : ''}`);
  const said = verb === 'get' ? 'read' : verb;
  if (of === 'Namespace') return `${said}Namespace`;
  if (namespace !== undefined) return `${said}Namespaced${of}`;
  if (verb === 'list') return `list${of}ForAllNamespaces`;
  throw new CannotSay(`${verb} ${of} ${name} without a namespace`);
}

/** Makes calls through the peer's generated API. Rejects with `ApiError`, or with `CannotSay`. */
export function peerCalls(config: KubeConfig): (call: PeerCall) => Promise<unknown> {
  const core = config.makeApiClient(CoreV1Api) as unknown as Readonly<Record<string, Method | undefined>>;
  const custom = config.makeApiClient(CustomObjectsApi) as unknown as Readonly<Record<string, Method | undefined>>;
  return async (call) => {
    const { kind, namespace, name, body, contentType } = call;
    const named = methodOf(call);
    const api = kind.group === '' ? core : custom;
    const method = api[named];
    if (method === undefined) throw new CannotSay(named);
    const parameters = {
      ...(kind.group === '' ? {} : kind),
      ...(namespace === undefined ? {} : { namespace }),
      ...(name === undefined ? {} : { name }),
      ...(body === undefined ? {} : { body }),
      ...queryOf(call.query ?? {}),
    };
    const options = contentType === undefined ? undefined : setHeaderOptions('Content-Type', contentType);
    try {
      return wireForm(await method.call(api, parameters, options));
    } catch (error) {
      throw error instanceof ApiException ? refusal(error, named, contentType) : error;
    }
  };
}

function queryOf(query: Readonly<Record<string, string>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(query).map(([name, value]) => {
      if (name === 'continue') return ['_continue', value];
      if (NUMBERS.includes(name)) return [name, Number(value)];
      return [name, BOOLEANS.includes(name) ? value === 'true' : value];
    }),
  );
}

/** The peer's typed answers as they came: times are strings, what is absent has no key, and `continue` has its name. */
function wireForm(answer: unknown): unknown {
  const text = JSON.stringify(answer, (key, value: unknown) => {
    if (/^(creation|deletion)Timestamp$|^time$/i.test(key) && typeof value === 'string')
      return value.replace(/\.000Z$/, 'Z');
    return value;
  });
  return text === undefined ? undefined : JSON.parse(text.replaceAll('"_continue":', '"continue":'));
}

function refusal(error: ApiException<unknown>, action: string, contentType: string | undefined): Error {
  let status: Status = {};
  try {
    status = (typeof error.body === 'string' ? JSON.parse(error.body) : error.body) as Status;
  } catch {
    // No Status: the code is all there is.
  }
  return errorOfStatus(status, error.code, { action, jsonPatch: contentType === JSON_PATCH });
}
