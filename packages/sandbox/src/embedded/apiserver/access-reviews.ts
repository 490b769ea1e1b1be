import { badRequest, type FieldCause, invalid } from './api-failure.ts';
import type { UserInfo } from './objects.ts';
import { type Authorizer, aggregated } from './rbac-authorizer.ts';
import type { AccessRequest, PolicyRule } from './rbac-rules.ts';
import { ISSUER } from './service-account-tokens.ts';
import type { Authenticator } from './user-authentication.ts';

/** Who asks for a review, and with what. */
export interface ReviewRequest {
  readonly user: UserInfo;
  /** '' where the path names none. */
  readonly namespace: string;
  readonly body: Review;
}

/** A review, as far as all kinds have it in common. */
interface Review {
  readonly kind?: string;
  readonly apiVersion?: string;
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly spec?: ReviewSpec;
}

interface ReviewSpec {
  readonly resourceAttributes?: {
    readonly namespace?: string;
    readonly verb?: string;
    readonly group?: string;
    readonly resource?: string;
    readonly subresource?: string;
    readonly name?: string;
  };
  readonly nonResourceAttributes?: { readonly path?: string; readonly verb?: string };
  readonly user?: string;
  readonly groups?: readonly string[];
  readonly namespace?: string;
  readonly token?: string;
  readonly audiences?: readonly string[];
}

/** What answers reviews. */
export interface Reviewers {
  readonly authorizer: Authorizer;
  readonly authenticator: Authenticator;
}

type Reviewer = (from: Reviewers, request: ReviewRequest) => unknown;

/** Reviews by the group and plural under which they are created. They store nothing. */
export const REVIEWS: ReadonlyMap<string, Reviewer> = new Map<string, Reviewer>([
  ['authorization.k8s.io/selfsubjectaccessreviews', selfSubjectAccessReview],
  ['authorization.k8s.io/subjectaccessreviews', subjectAccessReview],
  ['authorization.k8s.io/localsubjectaccessreviews', subjectAccessReview],
  ['authorization.k8s.io/selfsubjectrulesreviews', selfSubjectRulesReview],
  ['authentication.k8s.io/selfsubjectreviews', selfSubjectReview],
  ['authentication.k8s.io/tokenreviews', tokenReview],
]);

const AUTHORIZATION = 'authorization.k8s.io';

function selfSubjectAccessReview({ authorizer }: Reviewers, { body, user }: ReviewRequest): unknown {
  const spec = body.spec ?? {};
  const causes = causesOf(spec);
  if (causes.length > 0) throw invalid(AUTHORIZATION, '', '', causes);
  return { metadata: {}, ...body, status: statusOf(authorizer, user, spec) };
}

function subjectAccessReview({ authorizer }: Reviewers, { body, namespace }: ReviewRequest): unknown {
  const spec = body.spec ?? {};
  const local = body.kind === 'LocalSubjectAccessReview';
  const causes = [...causesOf(spec)];
  if ((spec.user ?? '') === '' && (spec.groups ?? []).length === 0)
    causes.push(cause('spec.user', 'Invalid value: "": at least one of user or group must be specified'));
  if (local && spec.resourceAttributes !== undefined && spec.resourceAttributes.namespace !== namespace) {
    const given = JSON.stringify(spec.resourceAttributes.namespace ?? '');
    causes.push(cause('spec.resourceAttributes.namespace', `Invalid value: ${given}: must match metadata.namespace`));
  }
  if (causes.length > 0) throw invalid(AUTHORIZATION, '', '', causes);
  const user = { username: spec.user ?? '', groups: spec.groups ?? [] };
  return { metadata: {}, ...body, status: statusOf(authorizer, user, spec) };
}

function selfSubjectRulesReview({ authorizer }: Reviewers, { body, user }: ReviewRequest): unknown {
  const namespace = body.spec?.namespace ?? '';
  if (namespace === '') throw badRequest('no namespace on request');
  const { rules, errors } = authorizer.rulesFor(user, namespace);
  const ofResources = rules.filter(({ resources = [] }) => resources.length > 0);
  const ofPaths = rules.filter(({ nonResourceURLs = [] }) => nonResourceURLs.length > 0);
  const { kind, apiVersion } = body;
  return {
    kind,
    apiVersion,
    metadata: {},
    spec: {},
    status: {
      resourceRules: ofResources.map(resourceRule),
      nonResourceRules: ofPaths.map(({ verbs = [], nonResourceURLs }) => ({ verbs, nonResourceURLs })),
      incomplete: false,
      ...(errors.length === 0 ? {} : { evaluationError: aggregated(errors) }),
    },
  };
}

function resourceRule({ verbs = [], apiGroups, resources, resourceNames = [] }: PolicyRule): unknown {
  return { verbs, apiGroups, resources, ...(resourceNames.length === 0 ? {} : { resourceNames }) };
}

function selfSubjectReview(_from: Reviewers, { body, user }: ReviewRequest): unknown {
  const creationTimestamp = `${new Date().toISOString().slice(0, 19)}Z`;
  return { ...body, metadata: { creationTimestamp }, status: { userInfo: userInfo(user) } };
}

function tokenReview({ authenticator }: Reviewers, { body }: ReviewRequest): unknown {
  const { token = '', audiences = [] } = body.spec ?? {};
  if (token === '') throw badRequest('token is required for TokenReview in authentication');
  const wanted = audiences.length === 0 ? [ISSUER] : audiences;
  try {
    const proof = authenticator.token(token, wanted);
    if (proof === undefined) return { metadata: {}, ...body, status: { user: {}, error: 'invalid bearer token' } };
    return {
      ...{ metadata: {}, ...body },
      status: { authenticated: true, user: userInfo(proof.user), audiences: proof.audiences },
    };
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error);
    return { metadata: {}, ...body, status: { user: {}, error: `[invalid bearer token, ${said}]` } };
  }
}

/** As reviews show it, with the reviewed user's own groups. */
function userInfo({ username, uid, groups, extra = {} }: UserInfo): unknown {
  const some = Object.keys(extra).length > 0;
  return { username, ...(uid === undefined ? {} : { uid }), groups, ...(some ? { extra } : {}) };
}

function statusOf(authorizer: Authorizer, user: UserInfo, spec: ReviewSpec): unknown {
  const { allowed, reason } = authorizer.authorize(user, questionOf(spec));
  return { allowed, ...(reason === '' ? {} : { reason }) };
}

function questionOf({ resourceAttributes: of, nonResourceAttributes: plain }: ReviewSpec): AccessRequest {
  if (of === undefined) return { verb: plain?.verb ?? '', path: plain?.path ?? '' };
  const { verb = '', group = '', resource = '', subresource = '', namespace = '', name = '' } = of;
  return { verb, resource: { group, resource, subresource, namespace, name } };
}

const cause = (field: string, message: string): FieldCause => ({ reason: 'FieldValueInvalid', message, field });

function causesOf({ resourceAttributes, nonResourceAttributes }: ReviewSpec): readonly FieldCause[] {
  const one = 'exactly one of nonResourceAttributes or resourceAttributes must be specified';
  if (resourceAttributes === undefined && nonResourceAttributes === undefined)
    return [cause('spec.resourceAttributes', `Invalid value: null: ${one}`)];
  if (resourceAttributes === undefined || nonResourceAttributes === undefined) return [];
  const { path = '', verb = '' } = nonResourceAttributes;
  const given = JSON.stringify({ Path: path, Verb: verb });
  const both = 'cannot be specified in combination with resourceAttributes';
  return [cause('spec.nonResourceAttributes', `Invalid value: ${given}: ${both}`)];
}
