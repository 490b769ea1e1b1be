import { isObject, type JsonObject, objectOf, shown } from './json.ts';
import { apiVersionOf, type ServedKind } from './kinds.ts';
import { nameOf } from './metadata.ts';
import { badRequest, invalid, noObject, type Refusal } from './refusal.ts';

/** The object in the body of a write, which is of the kind and the version of the path; 400 for any other. */
export function writtenBody(
  { kind, version, query }: { readonly kind: ServedKind; readonly version: string; readonly query: URLSearchParams },
  body: unknown,
): JsonObject {
  const unrecognized = (said: string): Refusal =>
    badRequest(`the object provided is unrecognized (must be of type ${kind.kind}): ${said}`);
  if (body !== undefined && !isObject(body)) {
    const given = Array.isArray(body) ? 'array' : body === null ? 'null' : typeof body;
    throw unrecognized(`couldn't get version/kind; json parse error: ${noObject(given)} (${hexOf(body)})`);
  }
  const object = objectOf(body);
  const apiVersion = apiVersionOf(kind, version);
  if (!kind.builtIn) {
    const text = JSON.stringify(object);
    if (!object['kind'] && query.get('fieldValidation') === 'Ignore') {
      const said = `Object 'Kind' is missing in '${text}'`;
      throw badRequest(`${kind.kind} in version "${version}" cannot be handled as a ${kind.kind}: ${said}`);
    }
    if (!object['kind']) throw unrecognized(`Object 'Kind' is missing in '${text}' (${excerpt(text)})`);
    if (object['apiVersion'] !== apiVersion) {
      const data = shown(object['apiVersion'] ?? '');
      throw badRequest(`the API version in the data (${data}) does not match the expected API version (${apiVersion})`);
    }
    if (object['kind'] === kind.kind) return object;
    const cause = {
      reason: 'FieldValueInvalid',
      message: `Invalid value: ${JSON.stringify(object['kind'])}: must be ${kind.kind}`,
      field: 'kind',
    };
    throw invalid({ group: kind.group, kind: shown(object['kind']), plural: kind.plural }, nameOf(object), [cause]);
  }
  const { kind: given = kind.kind, apiVersion: as = apiVersion } = object;
  if (given === kind.kind && as === apiVersion) return object;
  const [name, in_] = [shown(given), shown(as)];
  const said =
    given === kind.kind
      ? `no kind "${name}" is registered for version "${in_}" in scheme "pkg/runtime/scheme.go:110"`
      : `converting (${in_.split('/').at(-1) ?? ''}.${name}) to (${kind.group === '' ? 'core' : kind.group.split('.')[0]}.${kind.kind}): unknown conversion`;
  throw badRequest(`${name} in version "${in_}" cannot be handled as a ${kind.kind}: ${said}`);
}

/** How much of a body a refusal shows. */
const SHOWN = 30;

function excerpt(text: string): string {
  const bytes = Buffer.from(text);
  return bytes.length > SHOWN ? `${bytes.subarray(0, SHOWN).toString()} ...` : text;
}

/** The first bytes of a body, as the decoder shows them. */
function hexOf(body: unknown): string {
  return Buffer.from(JSON.stringify(body)).subarray(0, 128).toString('hex');
}
