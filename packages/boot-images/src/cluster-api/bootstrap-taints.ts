import { canaryTaint } from '../canary/machine.ts';
import { at, type JsonObject, type JsonPath, list, nonEmpty, object, withLeaf } from '../observe/json.ts';

/** The group of what makes a node of a machine. */
export const BOOTSTRAP = 'bootstrap.cluster.x-k8s.io';

/** Where a kind of bootstrap configuration says with which taints a node registers. */
interface Taints {
  /** Below the spec of the configuration. */
  readonly path: JsonPath;
  /** A list of taints, one of texts as `key=value:Effect`, or such texts in one, with commas. */
  readonly form: 'objects' | 'texts' | 'text';
  /** Where arguments of the kubelet are that would take their place. */
  readonly args?: JsonPath;
  /** Where it says what kind of node it makes, and those of which the taints are taken; absent says the same as the first. */
  readonly only?: { readonly path: JsonPath; readonly values: readonly string[] };
}

const REGISTRATION = ['joinConfiguration', 'nodeRegistration'] as const;
/** The argument of the kubelet. */
const ARGUMENT = 'register-with-taints';

/** By the kind of the template: all that follow the contract are cloned alike, but each has its taints elsewhere. */
const KNOWN: ReadonlyMap<string, Taints> = new Map([
  [
    'KubeadmConfigTemplate',
    { path: [...REGISTRATION, 'taints'], form: 'objects', args: [...REGISTRATION, 'kubeletExtraArgs'] },
  ],
  [
    'RKE2ConfigTemplate',
    { path: ['agentConfig', 'nodeTaints'], form: 'texts', args: ['agentConfig', 'kubelet', 'extraArgs'] },
  ],
  [
    'KThreesConfigTemplate',
    { path: ['agentConfig', 'nodeTaints'], form: 'texts', args: ['agentConfig', 'kubeletArgs'] },
  ],
  // Of Amazon Linux 2023 its provider takes the labels of these arguments, and nothing else.
  [
    'EKSConfigTemplate',
    { path: ['kubeletExtraArgs', ARGUMENT], form: 'text', only: { path: ['nodeType'], values: [''] } },
  ],
]);

/** Kinds of which a canary can start. */
export const TAINTED_KINDS: readonly string[] = [...KNOWN.keys()];

/** A text as the kubelet reads it. */
const TAINT = `${canaryTaint.key}=${canaryTaint.value}:${canaryTaint.effect}`;

/** Why no taint can be put beside what a configuration says, as a clause; undefined where it can. `spec`: of the configuration that a template makes. */
export function taintFault(kind: string, spec: JsonObject): string | undefined {
  const known = KNOWN.get(kind);
  if (known === undefined) return `it is not known where a ${kind} has its taints`;
  const { path, form, args, only } = known;
  const of = only === undefined ? '' : (nonEmpty(at(spec, only.path)) ?? '');
  if (only !== undefined && !only.values.includes(of))
    return `${only.path.join('.')} is ${of}, for which the provider passes no taints to the kubelet`;
  const live = at(spec, path);
  const fits = form === 'text' ? nonEmpty(live) !== undefined : Array.isArray(live);
  if (live !== undefined && !fits) return `${path.join('.')} is no ${form === 'text' ? 'text' : 'list'}`;
  // Of two that say it one counts, and nobody knows which.
  const said = args === undefined ? undefined : at(spec, args);
  return JSON.stringify(said ?? null).includes(ARGUMENT) ? `${args?.join('.')} has ${ARGUMENT}` : undefined;
}

/** The configuration with the taint of a canary beside its own. */
export function tainted(kind: string, spec: JsonObject): JsonObject {
  const { path, form } = KNOWN.get(kind) ?? { path: [], form: 'objects' };
  const live = at(spec, path);
  switch (form) {
    case 'objects':
      return object(withLeaf(spec, path, [...list(live), canaryTaint]));
    case 'texts':
      return object(withLeaf(spec, path, [...list(live), TAINT]));
    case 'text':
      return object(
        withLeaf(spec, path, [nonEmpty(live), TAINT].filter((one) => one !== undefined && one !== '').join(',')),
      );
  }
}
