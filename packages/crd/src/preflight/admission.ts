import type { Endpoint, Finding } from '../diff/finding.ts';
import { isList, isObject, type Json, type JsonObject, textOf } from '../schema/json.ts';
import type { Crd } from '../schema/schema.ts';
import type { PreflightOptions } from './preflight-object.ts';

/** Kinds of admissionregistration.k8s.io by which a cluster asks somebody else about a write, or changes it. */
export const ADMISSION_KINDS = [
  'ValidatingWebhookConfiguration',
  'MutatingWebhookConfiguration',
  'ValidatingAdmissionPolicy',
  'MutatingAdmissionPolicy',
] as const;

/** Whom a server asks about writes of a kind. */
export interface Asked {
  /** `ValidatingWebhookConfiguration NAME`. */
  readonly who: string;
  /** Writes that it is asked about. `apply` is one of them wherever `spec` is. */
  readonly endpoints: readonly Endpoint[];
  /** A write is refused where no answer comes. */
  readonly closed: boolean;
}

/**
 * Whether a configuration concerns writes of a kind; undefined: it does not. Selectors and match conditions, which narrow that further, are not looked at: it may be asked. `bindings` are those of policies, of which one
 * without any does nothing.
 */
export function askedAbout(
  configuration: JsonObject,
  crd: Crd,
  bindings: readonly JsonObject[] = [],
): Asked | undefined {
  const name = textOf(at(configuration, 'metadata')?.['name']);
  const who = `${textOf(configuration['kind'])} ${name}`;
  const spec = at(configuration, 'spec');
  const hooks =
    spec === undefined
      ? objects(configuration['webhooks']).map((hook) => ({ hook, rules: objects(hook['rules']) }))
      : bindings.some((binding) => textOf(at(binding, 'spec')?.['policyName']) === name)
        ? [{ hook: spec, rules: objects(at(spec, 'matchConstraints')?.['resourceRules']) }]
        : [];
  const concerned = hooks.flatMap(({ hook, rules }) => {
    const endpoints = rules.flatMap((rule) => endpointsOf(rule, crd, textOf(hook['matchPolicy']) === 'Exact'));
    return endpoints.length === 0 ? [] : [{ endpoints, closed: (hook['failurePolicy'] ?? 'Fail') === 'Fail' }];
  });
  if (concerned.length === 0) return undefined;
  const all = new Set(concerned.flatMap(({ endpoints }) => endpoints));
  return {
    who,
    endpoints: ENDPOINTS.filter((endpoint) => all.has(endpoint)),
    closed: concerned.some(({ closed }) => closed),
  };
}

const ENDPOINTS: readonly Endpoint[] = ['spec', 'status', 'create', 'apply'];

/** Writes that a rule of a configuration covers. `Equivalent`, which is the default, takes every version for every other. */
function endpointsOf(rule: JsonObject, crd: Crd, exact: boolean): readonly Endpoint[] {
  const has = (key: string, ...names: readonly string[]): boolean =>
    isList(rule[key]) && rule[key].some((one) => one === '*' || names.includes(textOf(one)));
  if (!has('apiGroups', crd.group)) return [];
  if (exact && !has('apiVersions', ...crd.versions.map(({ name }) => name))) return [];
  const scope = textOf(rule['scope']);
  if (scope !== '' && scope !== '*' && scope !== crd.scope) return [];
  const main = has('resources', crd.plural);
  const status = isList(rule['resources']) && rule['resources'].some((one) => isStatusOf(textOf(one), crd.plural));
  const found: Endpoint[] = [];
  if (main && has('operations', 'CREATE')) found.push('create', 'apply');
  if (main && has('operations', 'UPDATE')) found.push('spec', 'apply');
  if (status && has('operations', 'UPDATE')) found.push('status');
  return found;
}

/** `*` alone is every resource and no subresource. */
function isStatusOf(resource: string, plural: string): boolean {
  return [`${plural}/status`, `${plural}/*`, '*/status', '*/*'].includes(resource);
}

/** What the verdicts about a kind leave open: whoever is asked about its writes goes back as well, and only he knows what he will say. */
export function preflightAdmission(asked: readonly Asked[], crd: Crd, options: PreflightOptions): readonly Finding[] {
  return asked.map(({ who, endpoints, closed }) => ({
    class: 'UNDECIDED',
    rule: 'N28',
    crd: crd.name,
    version: '',
    object: '',
    resourceVersion: '',
    path: who.replace(' ', '/'),
    endpoints,
    blocking: false,
    eraNow: options.now.era,
    eraTarget: options.target.era,
    what: `is asked about ${endpoints.join(', ')}, ${closed ? 'and fails closed' : 'but fails open'}: its verdict is its own`,
    sample: '',
    remedy: 'Try writes where it runs in the version that you go to, or accept with --ack.',
  }));
}

function at(of: JsonObject, key: string): JsonObject | undefined {
  const value = of[key];
  return isObject(value) ? value : undefined;
}

function objects(of: Json | undefined): readonly JsonObject[] {
  return isList(of) ? of.filter(isObject) : [];
}
