import { badRequest, conflict, type FieldCause, invalid, notFound } from './api-failure.ts';
import type { ObjectServer } from './objects.ts';
import type { ResourcePath } from './request-info.ts';
import { ISSUER, type TokenClaims, type TokenIssuer, type TokenRef } from './service-account-tokens.ts';

interface TokenRequest {
  readonly kind?: string;
  readonly apiVersion?: string;
  readonly metadata?: { readonly name?: string; readonly namespace?: string; readonly uid?: string };
  readonly spec?: {
    readonly audiences?: readonly string[];
    readonly expirationSeconds?: number;
    readonly boundObjectRef?: BoundRef | null;
  };
}

interface BoundRef {
  readonly kind?: string;
  readonly apiVersion?: string;
  readonly name?: string;
  readonly uid?: string;
}

interface Bound {
  readonly metadata: TokenRef;
  readonly spec?: { readonly serviceAccountName?: string; readonly nodeName?: string };
}

const GROUP = 'authentication.k8s.io';
const HOUR = 3600;
const MINIMUM = 600;
const MAXIMUM = 2 ** 32;

/** Answers `POST …/serviceaccounts/NAME/token`. `now` is in milliseconds since 1970. */
export function requestToken(
  objects: Pick<ObjectServer, 'peek'>,
  issuer: TokenIssuer,
  { namespace, name }: ResourcePath,
  body: unknown,
  now: number,
): unknown {
  const { metadata = {}, spec = {} } = body as TokenRequest;
  const mismatch = (field: 'name' | 'namespace', given: string): FieldCause => ({
    reason: 'FieldValueInvalid',
    message: `Invalid value: ${JSON.stringify(given)}: must match the service account ${field} if specified`,
    field: `metadata.${field}`,
  });
  if ((metadata.name ?? name) !== name)
    throw invalid(GROUP, 'TokenRequest', name, [mismatch('name', metadata.name ?? '')]);
  if ((metadata.namespace ?? namespace) !== namespace)
    throw invalid(GROUP, 'TokenRequest', name, [mismatch('namespace', metadata.namespace ?? '')]);
  const account = objects.peek('', 'serviceaccounts', { namespace, name }) as Bound | undefined;
  if (account === undefined) throw notFound('', 'serviceaccounts', name);
  const { uid } = account.metadata;
  if (metadata.uid !== undefined && metadata.uid !== '' && metadata.uid !== uid) {
    const why = `the UID in the token request (${metadata.uid}) does not match the UID of the service account (${uid})`;
    throw conflict(GROUP, 'TokenRequest', name, why);
  }
  const { audiences = [], expirationSeconds = HOUR, boundObjectRef } = spec;
  const causes = expiryCauses(expirationSeconds);
  if (causes.length > 0) throw invalid(GROUP, 'TokenRequest', '', causes);
  const ref = boundObjectRef ?? undefined;
  const bound = ref === undefined ? {} : boundObject(objects, namespace, name, ref);
  const wanted = audiences.length === 0 ? [ISSUER] : audiences;
  const token = issuer.issue({
    namespace,
    account: { name, uid },
    audiences: wanted,
    expirationSeconds,
    ...bound,
  });
  return {
    kind: 'TokenRequest',
    apiVersion: 'authentication.k8s.io/v1',
    metadata: { name, namespace, uid, creationTimestamp: seconds(now) },
    spec: { audiences: wanted, expirationSeconds, boundObjectRef: ref ?? null },
    status: { token, expirationTimestamp: seconds(now + expirationSeconds * 1000) },
  };
}

const seconds = (at: number): string => `${new Date(at).toISOString().slice(0, 19)}Z`;

function expiryCauses(expirationSeconds: number): readonly FieldCause[] {
  const said =
    expirationSeconds < MINIMUM
      ? 'may not specify a duration less than 10 minutes'
      : expirationSeconds > MAXIMUM
        ? 'may not specify a duration larger than 2^32 seconds'
        : undefined;
  if (said === undefined) return [];
  const message = `Invalid value: ${expirationSeconds}: ${said}`;
  return [{ reason: 'FieldValueInvalid', message, field: 'spec.expirationSeconds' }];
}

function boundObject(
  objects: Pick<ObjectServer, 'peek'>,
  namespace: string,
  account: string,
  ref: BoundRef,
): Pick<TokenClaims, 'pod' | 'secret' | 'node'> {
  const { kind = '', apiVersion = '', name = '', uid } = ref;
  const plural = apiVersion === 'v1' ? { Pod: 'pods', Secret: 'secrets', Node: 'nodes' }[kind] : undefined;
  if (plural === undefined) {
    const [group, version] = apiVersion.includes('/') ? apiVersion.split('/') : ['', apiVersion];
    throw badRequest(`cannot bind token to object of type ${group}/${version}, Kind=${kind}`);
  }
  const key = kind === 'Node' ? { name } : { namespace, name };
  const found = objects.peek('', plural, key) as Bound | undefined;
  if (found === undefined) throw notFound('', plural, name);
  if (kind === 'Pod' && found.spec?.serviceAccountName !== account) {
    const who = JSON.stringify(account);
    throw badRequest(`cannot bind token for serviceaccount ${who} to pod running with different serviceaccount name.`);
  }
  if (uid !== undefined && uid !== '' && uid !== found.metadata.uid) {
    const why = `the UID in the bound object reference (${uid}) does not match the UID in record. The object might have been deleted and then recreated`;
    throw conflict('', kind, name, why);
  }
  const is = { name, uid: found.metadata.uid };
  if (kind === 'Secret') return { secret: is };
  if (kind === 'Node') return { node: is };
  const { nodeName = '' } = found.spec ?? {};
  if (nodeName === '') return { pod: is };
  const node = objects.peek('', 'nodes', { name: nodeName }) as Bound | undefined;
  return { pod: is, node: { name: nodeName, uid: node?.metadata.uid ?? '' } };
}
