import type { Status, StatusCause } from '../../status-object.ts';
import type { ServedKind } from './kinds.ts';

/** What the server answers instead of an object: a Status with its HTTP code. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly status: Status & { readonly code: number; readonly metadata?: unknown };

  constructor(status: Status & { readonly code: number; readonly metadata?: unknown }) {
    super(status.message);
    this.status = status;
  }
}

/** The part of a kind that errors name. */
type Named = Pick<ServedKind, 'group' | 'kind' | 'plural'>;

const qualified = (name: string, group: string): string => (group === '' ? name : `${name}.${group}`);
const plural = (kind: Named): string => qualified(kind.plural, kind.group);

function details(kind: Named, name: string, as: string = kind.plural): Status['details'] & object {
  return {
    ...(name === '' ? {} : { name }),
    ...(kind.group === '' ? {} : { group: kind.group }),
    ...(as === '' ? {} : { kind: as }),
  };
}

/** 404: the object does not exist. */
export function notFound(kind: Named, name: string): Refusal {
  return new Refusal({
    code: 404,
    reason: 'NotFound',
    message: `${plural(kind)} "${name}" not found`,
    details: details(kind, name),
  });
}

/** 404: the path is not served. */
export function notServed(): Refusal {
  const message = 'the server could not find the requested resource';
  return new Refusal({ code: 404, reason: 'NotFound', message, details: {} });
}

/** 403: the namespace of a new object is being deleted. */
export function namespaceTerminating(kind: Named, name: string, namespace: string): Refusal {
  const problem = `unable to create new content in namespace ${namespace} because it is being terminated`;
  const message = `namespace ${namespace} is being terminated`;
  return new Refusal({
    code: 403,
    reason: 'Forbidden',
    message: `${plural(kind)} "${name}" is forbidden: ${problem}`,
    details: {
      ...details(kind, name),
      causes: [{ reason: 'NamespaceTerminating', message, field: 'metadata.namespace' }],
    },
  });
}

/** 409: a create met an object of the same name. */
export function alreadyExists(kind: Named, name: string, deleting: boolean): Refusal {
  const message = `${deleting ? 'object is being deleted: ' : ''}${plural(kind)} "${name}" already exists`;
  return new Refusal({ code: 409, reason: 'AlreadyExists', message, details: details(kind, name) });
}

/** 409: a guarded write lost. */
export function conflict(
  kind: Named,
  name: string,
  said = 'the object has been modified; please apply your changes to the latest version and try again',
): Refusal {
  const message = `Operation cannot be fulfilled on ${plural(kind)} "${name}": ${said}`;
  return new Refusal({ code: 409, reason: 'Conflict', message, details: details(kind, name) });
}

/** 422: the schema or a rule rejects the object. At least one cause. */
export function invalid(kind: Named, name: string, causes: readonly StatusCause[], as: string = kind.kind): Refusal {
  const said = causes.map(({ field, message }) => `${field}: ${message}`);
  const list = said.length === 1 ? said[0] : `[${said.join(', ')}]`;
  return new Refusal({
    code: 422,
    reason: 'Invalid',
    message: `${qualified(as, kind.group)} "${name}" is invalid: ${list}`,
    details: { ...details(kind, name, as), causes },
  });
}

/** 422 of options in the query, such as `dryRun`. */
export function invalidOptions(kind: string, field: string, reason: string, message: string): Refusal {
  return invalid({ group: 'meta.k8s.io', kind, plural: kind }, '', [{ reason, message, field }]);
}

/** 422 of a JSON patch: a failed `test` and a bad path look the same. */
export function patchFailed(): Refusal {
  const message = 'the server rejected our request due to an error in our request';
  return new Refusal({ code: 422, reason: 'Invalid', message, details: {} });
}

/** 400. */
export function badRequest(message: string): Refusal {
  return new Refusal({ code: 400, reason: 'BadRequest', message });
}

/** 500 without a reason: how the server answers some mistakes of its callers. */
export function serverError(message: string): Refusal {
  return new Refusal({ code: 500, message });
}

/** 410: a version that the server no longer knows. */
export function expired(message: string, metadata?: unknown): Refusal {
  return new Refusal({ code: 410, reason: 'Expired', message, ...(metadata === undefined ? {} : { metadata }) });
}

/** What Go's decoder says of JSON that is no object; `given` in its words: array, bool, number, string. */
export function noObject(given: string): string {
  const type =
    'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }';
  return `json: cannot unmarshal ${given} into Go value of type ${type}`;
}
