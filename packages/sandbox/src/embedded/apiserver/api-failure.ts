/** What the server answers in plain text instead of a Status. */
export class PlainFailure extends Error {
  override readonly name = 'PlainFailure';
  readonly code: number;

  constructor(code: number, text: string) {
    super(text);
    this.code = code;
  }
}

/** A Status of Kubernetes, without what is the same in all of them. */
export interface FailureStatus {
  readonly code: number;
  readonly reason?: string;
  readonly message: string;
  readonly details?: Readonly<Record<string, unknown>>;
}

/** What the server answers instead of an object. */
export class ApiFailure extends Error {
  override readonly name = 'ApiFailure';
  readonly status: FailureStatus;
  /** Headers besides the usual ones, such as `retry-after`. */
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: FailureStatus, headers: Readonly<Record<string, string>> = {}) {
    super(status.message);
    this.status = status;
    this.headers = headers;
  }
}

/** The JSON body of a failure. */
export function statusBody({ code, reason, message, details }: FailureStatus): Readonly<Record<string, unknown>> {
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message,
    ...(reason === undefined ? {} : { reason }),
    ...(details === undefined ? {} : { details }),
    code,
  };
}

const qualified = (group: string, resource: string): string => (group === '' ? resource : `${resource}.${group}`);

/** 401. The server says no more about why. */
export function unauthorized(): ApiFailure {
  return new ApiFailure({ code: 401, reason: 'Unauthorized', message: 'Unauthorized' });
}

/** 403, with what the user lacks. `resource` is '' for plain paths. */
export function forbidden(group: string, resource: string, name: string, why: string): ApiFailure {
  const plain = group === '' && resource === '';
  const what = plain
    ? 'forbidden'
    : `${qualified(group, resource)}${name === '' ? '' : ` ${JSON.stringify(name)}`} is forbidden`;
  const details = {
    ...(name === '' ? {} : { name }),
    ...(group === '' ? {} : { group }),
    ...(resource === '' ? {} : { kind: resource }),
  };
  return new ApiFailure({ code: 403, reason: 'Forbidden', message: `${what}: ${why}`, details });
}

/** 404 of a path whose group is served. */
export function notServed(): ApiFailure {
  const message = 'the server could not find the requested resource';
  return new ApiFailure({ code: 404, reason: 'NotFound', message, details: {} });
}

/** 405. */
export function methodNotAllowed(): ApiFailure {
  const message = 'the server does not allow this method on the requested resource';
  return new ApiFailure({ code: 405, reason: 'MethodNotAllowed', message, details: {} });
}

/** 404 of an object. */
export function notFound(group: string, resource: string, name: string): ApiFailure {
  const details = { name, ...(group === '' ? {} : { group }), kind: resource };
  const message = `${qualified(group, resource)} ${JSON.stringify(name)} not found`;
  return new ApiFailure({ code: 404, reason: 'NotFound', message, details });
}

/** 400. */
export function badRequest(message: string): ApiFailure {
  return new ApiFailure({ code: 400, reason: 'BadRequest', message });
}

/** 409. */
export function conflict(group: string, resource: string, name: string, why: string): ApiFailure {
  const details = { name, ...(group === '' ? {} : { group }), kind: resource };
  const message = `Operation cannot be fulfilled on ${qualified(group, resource)} ${JSON.stringify(name)}: ${why}`;
  return new ApiFailure({ code: 409, reason: 'Conflict', message, details });
}

/** One wrong field. */
export interface FieldCause {
  readonly reason: string;
  readonly message: string;
  readonly field: string;
}

/** 422 of a kind that the wire half answers itself. */
export function invalid(group: string, kind: string, name: string, causes: readonly FieldCause[]): ApiFailure {
  const said = causes.map(({ field, message }) => `${field}: ${message}`);
  const list = said.length === 1 ? said[0] : `[${said.join(', ')}]`;
  const message = `${qualified(group, kind)} ${JSON.stringify(name)} is invalid: ${list}`;
  const named = { ...(name === '' ? {} : { name }), ...(group === '' ? {} : { group }) };
  const details = { ...named, ...(kind === '' ? {} : { kind }), causes };
  return new ApiFailure({ code: 422, reason: 'Invalid', message, details });
}

/** 501: part of Kubernetes that the embedded server does not have. */
export function notImplemented(feature: string): ApiFailure {
  const message = `the embedded API server does not implement ${feature}; run with SERVERS=real for a server that does`;
  return new ApiFailure({ code: 501, reason: 'NotImplemented', message });
}
