import type { NormalAnswer } from './answer-normal.ts';
import type { Difference } from './differences.ts';

/** A difference that nobody mends, with its reason; the sandbox's README lists them, too. */
interface Explanation {
  readonly why: string;
  readonly fits: (difference: Difference) => boolean;
}

interface Cause {
  readonly field?: string;
  readonly message?: string;
}

const bare = ({ request }: Difference): string => request.path.split('?', 1)[0] ?? '';

/** Whether a difference is one of bodies, all of it in these places. */
function only({ class: what, places }: Difference, ...paths: readonly RegExp[]): boolean {
  return what === 'body' && places.every(({ path }) => paths.some((one) => one.test(path)));
}

function causesOf(answer: NormalAnswer | undefined): readonly string[] {
  const { details } = (answer?.body ?? {}) as { readonly details?: { readonly causes?: readonly Cause[] } };
  // Which value is shown depends on how a language prints it.
  return (details?.causes ?? []).map(
    ({ field, message = '' }) => `${field}: ${message.replace(/value: (?:null|[{[].*[}\]])(?=: )/, 'value: …')}`,
  );
}

function messageOf(answer: NormalAnswer | undefined): string {
  return String((answer?.body as { readonly message?: string } | undefined)?.message ?? '');
}

const CUSTOM = /^\/apis\/[^/]*(?:openshift\.io|x-k8s\.io)\//;

/** Rules of a built-in kind that the embedded server does not have: it refuses less. */
function lacksRules(difference: Difference): boolean {
  const { reference, tested } = difference;
  if (reference?.code !== 422 || CUSTOM.test(difference.request.path)) return false;
  const theirs = causesOf(reference);
  if (theirs.length === 0 || / "" is invalid: (?:patch|fieldManager|dryRun)/.test(messageOf(reference))) return false;
  if (tested?.code !== 422) return tested !== undefined && (tested.code < 300 || LATER.has(tested.code));
  const ours = causesOf(tested);
  return ours.length > 0 && ours.every((one) => theirs.includes(one));
}

/** What is refused only after an object was validated. */
const LATER = new Set([404, 409]);

const EXPLANATIONS: readonly Explanation[] = [
  { why: 'the version names another build and platform', fits: (one) => bare(one) === '/version' },
  {
    why: 'OpenAPI documents: their hashes, and those of paths without kinds',
    fits: (one) => bare(one) === '/openapi/v3' && only(one, /^body\.paths\./),
  },
  {
    why: 'autoscaling/v1 HorizontalPodAutoscalers are not served',
    fits: (one) =>
      /^\/apis(?:\/autoscaling)?$/.test(bare(one)) &&
      only(one, /^body\.(?:items\.\d+\.versions|groups\.\d+\.versions|versions)\.\d+$/),
  },
  { why: 'validation of built-in kinds: rules of the real server are missing', fits: lacksRules },
  {
    why: 'apply to the scale subresource is not implemented',
    fits: ({ tested, request }) => tested?.code === 501 && /\/scale$/.test(request.kind),
  },
  {
    why: 'an applied null',
    fits: ({ request }) => request.patch === 'apply' && JSON.stringify(request.body).includes(':null'),
  },
  {
    why: 'who owns the replicas of a custom object that was scaled',
    fits: ({ places, class: what }) =>
      (what === 'body' || what === 'watch') &&
      places.every(
        ({ path, reference, tested }) =>
          path.includes('metadata.managedFields.') &&
          reference === undefined &&
          JSON.stringify(tested).includes('"subresource":"scale"'),
      ),
  },
  {
    why: 'an empty list that was sent is owned by who sent it',
    fits: (one) =>
      only(one, /^body\.metadata\.managedFields\.\d+\.fieldsV1\./) && JSON.stringify(one.request.body).includes('[]'),
  },
  {
    why: 'a strategic merge patch of raw JSON is taken',
    fits: ({ reference }) => messageOf(reference).includes('struct RawExtension for the json field'),
  },
  {
    why: 'a scale that changes nothing makes no version',
    fits: (one) => one.request.kind.endsWith('/scale') && only(one, /^body\.metadata\.resourceVersion$/),
  },
  {
    why: 'logs of scheduled pods are not implemented',
    fits: ({ tested, request }) => tested?.code === 501 && request.kind === '/pods/log',
  },
  {
    why: 'scales of custom kinds: how wrong numbers are refused',
    fits: ({ tested, reference, request }) =>
      /\..*\/scale$/.test(request.kind) && (tested?.code ?? 0) >= 400 && (reference?.code ?? 0) >= 400,
  },
  {
    why: 'a write of the status of a Service that is not there makes none',
    fits: ({ tested, request }) =>
      tested?.code === 404 && request.kind === '/services/status' && request.method !== 'GET',
  },
  {
    why: 'the rule that allows a request is any of those that do',
    fits: (one) =>
      only(one, /^body\.status\.reason$/) &&
      one.places.every(({ reference, tested }) =>
        [reference, tested].every((text) => String(text).startsWith('RBAC: allowed by ')),
      ),
  },
  {
    why: "what a strategic merge patch cannot be decoded into is named in Go's words",
    fits: (one) =>
      one.request.patch === 'strategic' &&
      messageOf(one.tested).startsWith(' "" is invalid: patch: Invalid value: ') &&
      one.reference?.code === 422,
  },
];

/** Why a difference needs no mending; undefined where it does. */
export function explanationOf(difference: Difference): string | undefined {
  return EXPLANATIONS.find(({ fits }) => fits(difference))?.why;
}
