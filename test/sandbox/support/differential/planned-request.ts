/** A user in whose name a request is made. */
export type RequestUser = 'admin' | 'reader' | 'editor' | 'nobody';

/** A change of one field of the object that a server returned last. */
export interface FieldEdit {
  readonly path: readonly (string | number)[];
  /** Absent: the field is removed. */
  readonly value?: unknown;
}

/** What a request counts as in the coverage table. */
export interface RequestClass {
  readonly verb: string;
  /** `json`, `merge`, `strategic` or `apply`; '' for other verbs. */
  readonly patch: string;
  /** `group/plural` or `group/plural/subresource`. */
  readonly kind: string;
}

/**
 * One request of a history, the same for both servers. In texts of `path` and `body`, `<<version PATH>>`, `<<old PATH>>`, `<<uid PATH>>` and
 * `<<continue PATH>>` stand for what each server itself last said about the object or list at PATH.
 */
export interface PlannedRequest extends RequestClass {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly body?: unknown;
  /** Applied to the object that the server last returned for `path`; then `body` is only sent where it never returned one. */
  readonly edits?: readonly FieldEdit[];
  readonly type?: string;
  readonly accept?: string;
  readonly user?: RequestUser;
}

/** A kind of objects, with what requests on it need. */
export interface ObjectKind {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
  readonly subresources: readonly { readonly name: string; readonly verbs: readonly string[] }[];
  /** Valid objects without apiVersion, kind and metadata; some have labels or annotations of their own. */
  readonly templates: readonly Fields[];
  /** Only dry runs write it: a controller inside the real server changes its objects at times of its own. */
  readonly dryRunOnly?: boolean;
  /** Whether the server has patch types beyond those of custom resources. */
  readonly builtIn: boolean;
}

/** Fields of an object. */
export type Fields = Readonly<Record<string, unknown>>;

/** The path of a collection or an object. */
export function pathOf(
  { group, version, plural, namespaced }: ObjectKind,
  namespace: string | undefined,
  name?: string,
  subresource?: string,
): string {
  const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  const place = namespaced && namespace !== undefined ? `${root}/namespaces/${namespace}` : root;
  return [place, plural, name, subresource].filter((part) => part !== undefined).join('/');
}
