import type { Endpoint, Finding } from '../diff/finding.ts';
import { isList, isObject, type Json, type JsonObject, textOf } from '../schema/json.ts';
import type { Crd } from '../schema/schema.ts';
import { type AdmissionFilter, fits, type LabelsOf } from './admission-filter.ts';
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
  /** Of which objects: of those that one of these fits. */
  readonly filters: readonly AdmissionFilter[];
}

/** Whether a configuration concerns writes of a kind; undefined: it does not. `bindings` are those of policies; a policy without any does nothing. */
export function askedAbout(
  configuration: JsonObject,
  crd: Crd,
  bindings: readonly JsonObject[] = [],
): Asked | undefined {
  const filters = hooksOf(configuration, bindings).flatMap((hook) => filtersOf(hook, crd));
  if (filters.length === 0) return undefined;
  return {
    who: `${textOf(configuration['kind'])} ${nameOf(configuration)}`,
    endpoints: ENDPOINTS.filter((endpoint) => filters.some(({ endpoints }) => endpoints.includes(endpoint))),
    closed: filters.some(({ closed }) => closed),
    filters,
  };
}

/** Whether writes of an object may be asked about: selectors and match conditions narrow what the rules cover. */
export function mayAsk({ filters }: Asked, object: JsonObject, crd: Crd, labelsOf: LabelsOf): boolean {
  return filters.some((filter) => fits(filter, object, crd, labelsOf));
}

/** A webhook, or a policy under one of its bindings. */
interface Hook {
  readonly settings: JsonObject;
  /** Each of these must cover a write; an empty list of rules covers all. */
  readonly matches: readonly JsonObject[];
  readonly rules: readonly JsonObject[];
}

function hooksOf(configuration: JsonObject, bindings: readonly JsonObject[]): readonly Hook[] {
  const spec = at(configuration, 'spec');
  if (spec === undefined)
    return objects(configuration['webhooks']).map((settings) => ({
      settings,
      matches: [settings],
      rules: objects(settings['rules']),
    }));
  const constraints = at(spec, 'matchConstraints') ?? {};
  return bindings
    .map((binding) => at(binding, 'spec') ?? {})
    .filter(({ policyName }) => textOf(policyName) === nameOf(configuration))
    .map((binding) => ({
      settings: spec,
      matches: [constraints, at(binding, 'matchResources') ?? {}],
      rules: objects(constraints['resourceRules']),
    }));
}

function filtersOf({ settings, matches, rules }: Hook, crd: Crd): readonly AdmissionFilter[] {
  const covered = (of: JsonObject, rule: JsonObject): readonly Endpoint[] =>
    endpointsOf(rule, crd, textOf(of['matchPolicy']) === 'Exact');
  const [main = {}, ...others] = matches;
  const selectors = (key: string): readonly JsonObject[] =>
    matches.map((match) => at(match, key)).filter((selector) => selector !== undefined);
  return rules.flatMap((rule): readonly AdmissionFilter[] => {
    const endpoints = covered(main, rule).filter(
      (endpoint) =>
        others.every((match) => {
          const narrower = objects(match['resourceRules']);
          return narrower.length === 0 || narrower.some((one) => covered(match, one).includes(endpoint));
        }) &&
        // One that names objects excludes these alone.
        !matches.some((match) =>
          objects(match['excludeResourceRules']).some(
            (one) => textsOf(one['resourceNames']).length === 0 && covered(match, one).includes(endpoint),
          ),
        ),
    );
    if (endpoints.length === 0) return [];
    return [
      {
        endpoints,
        closed: (settings['failurePolicy'] ?? 'Fail') === 'Fail',
        namespaces: selectors('namespaceSelector'),
        objects: selectors('objectSelector'),
        names: textsOf(rule['resourceNames']),
        conditions: objects(settings['matchConditions']).map(({ expression }) => textOf(expression)),
      },
    ];
  });
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
  const main = textsOf(rule['resources']).some((one) => covers(one, crd.plural, ''));
  const status = textsOf(rule['resources']).some((one) => covers(one, crd.plural, 'status'));
  const found: Endpoint[] = [];
  if (main && has('operations', 'CREATE')) found.push('create', 'apply');
  if (main && has('operations', 'UPDATE')) found.push('spec', 'apply');
  if (status && has('operations', 'UPDATE')) found.push('status');
  return found;
}

/** `*` alone is every resource and no subresource; a subresource `*` is each of them, and the resource itself (k8s.io/apiserver, admission/plugin/webhook/predicates/rules). */
function covers(resource: string, plural: string, subresource: string): boolean {
  const [name, sub = ''] = resource.split('/');
  return (name === '*' || name === plural) && (sub === '*' || sub === subresource);
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

function nameOf(of: JsonObject): string {
  return textOf(at(of, 'metadata')?.['name']);
}

function textsOf(of: Json | undefined): readonly string[] {
  return isList(of) ? of.map(textOf) : [];
}

function at(of: JsonObject, key: string): JsonObject | undefined {
  const value = of[key];
  return isObject(value) ? value : undefined;
}

function objects(of: Json | undefined): readonly JsonObject[] {
  return isList(of) ? of.filter(isObject) : [];
}
