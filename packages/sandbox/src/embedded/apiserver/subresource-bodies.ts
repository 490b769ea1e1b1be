import {
  badRequest,
  exactText,
  invalid,
  type JsonObject,
  type OtherRequest,
  objectOf,
  Undecodable,
} from '@drydock/kube/testing/api-server';
import { decodeObject } from './go-codec.ts';
import { typeOfKind } from './recorded-schema.ts';

// Subresources with a kind of their own: what is sent is decoded like an object of that kind.

const KINDS: Readonly<Record<string, readonly [group: string, version: string, kind: string]>> = {
  binding: ['', 'v1', 'Binding'],
  eviction: ['policy', 'v1', 'Eviction'],
  scale: ['autoscaling', 'v1', 'Scale'],
};

/** Refuses a body that its kind cannot hold, and warns of fields that the kind does not have. */
export function checkSubresourceBody({ subresource, method, body, kind: parent, warn, query }: OtherRequest): void {
  const [group, version, kind] = KINDS[subresource] ?? [];
  if (group === undefined || version === undefined || kind === undefined) return;
  if (method !== 'POST' && method !== 'PUT') return;
  const unknown: string[] = [];
  try {
    decodeObject(objectOf(body) as JsonObject, typeOfKind(group, version, kind), unknown);
  } catch (error) {
    if (!(error instanceof Undecodable)) throw error;
    // So the server says for custom kinds, whose codecs do not know scales.
    if (!parent.builtIn)
      throw badRequest('no kind is registered for the type v1.Scale in scheme "pkg/runtime/scheme.go:110"');
    throw badRequest(`${kind} in version "${version}" cannot be handled as a ${kind}: ${error.message}`);
  }
  if (unknown.length === 0 || query.get('fieldValidation') === 'Ignore') return;
  const said = unknown
    .filter((field) => field !== 'apiVersion' && field !== 'kind')
    .map((field) => `unknown field "${field}"`);
  if (query.get('fieldValidation') === 'Strict' && said.length > 0)
    throw badRequest(
      `${kind} in version "${version}" cannot be handled as a ${kind}: strict decoding error: ${said.join(', ')}`,
    );
  for (const one of said) warn(one);
}

/** Refuses a scale that a patch made and its kind cannot hold: it is the patch's fault. */
export function checkPatchedScale(scale: JsonObject): void {
  try {
    decodeObject(scale, typeOfKind('autoscaling', 'v1', 'Scale'), []);
  } catch (error) {
    if (!(error instanceof Undecodable)) throw error;
    const message = `Invalid value: ${JSON.stringify(exactText(scale))}: ${error.message}`;
    throw invalid({ group: '', kind: '', plural: '' }, '', [{ reason: 'FieldValueInvalid', message, field: 'patch' }]);
  }
}
