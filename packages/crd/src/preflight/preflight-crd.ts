import { NO_OPTIONALS } from '../diff/diff-rules.ts';
import { CLASS_MEANINGS, type Finding, type FindingClass } from '../diff/finding.ts';
import type { RuleId, Step } from '../diff/step.ts';
import type { Crd } from '../schema/schema.ts';
import { traitsOf } from '../schema/traits.ts';
import type { Backend, PreflightOptions } from './preflight-object.ts';

/** Classes of steps that concern the definition, whatever its objects are. */
const CLASSES: Readonly<Partial<Record<RuleId, FindingClass>>> = {
  N23: 'CRD_REJECTED',
  N24: 'CONVERT',
  N25: 'CRD_REJECTED',
  N27: 'CONVERT',
  N29: 'BLOCK_STATUS',
  N30: 'BLOCK_STATUS',
  N31: 'CRD_REJECTED',
  N32: 'ORPHAN',
};

/** What stops a definition, before any object is looked at. `steps` are the differences; an undefined target is a definition that it lacks. */
export function preflightCrd(
  steps: readonly Step[],
  now: Crd,
  target: Crd | undefined,
  options: PreflightOptions,
): readonly Finding[] {
  return [...stepFindings(steps, now, target, options), ...optionalFindings(now, target, options)];
}

/** What to do about conversions: no probe settles them, because a probe converts nothing. */
const TRY_WEBHOOK =
  'Try it where nothing is lost: read and write one object of each stored version under the target definition. Or accept it with --ack.';
const BRING_WEBHOOK =
  'Bring the webhook with its Service first, or write every object in the version that the target stores while this release still converts.';
const ASK = 'Ask who wrote the definition, or accept it with --ack.';

function stepFindings(
  steps: readonly Step[],
  now: Crd,
  target: Crd | undefined,
  options: PreflightOptions,
): readonly Finding[] {
  return steps.flatMap((step): readonly Finding[] => {
    const known = CLASSES[step.rule];
    const backend = step.rule === 'N27' ? backendOf(now, target, options) : undefined;
    // What nobody can tell of a definition no look at an object tells.
    const isDoubt =
      (step.effect === 'undecided' &&
        (step.half === 'definition' || step.rule === 'N35') &&
        backend?.answers !== false) ||
      (step.rule === 'N27' && backend?.answers === true);
    const kind = isDoubt ? 'UNDECIDED' : known;
    // What status.storedVersions of a cluster does not list is none of its concern.
    const isNamed = step.rule === 'N25' && step.effect === 'shifts';
    if (kind === undefined || isNamed || (step.effect === 'widens' && step.rule !== 'N32')) return [];
    // Not all that a client asks for needs a server that cannot answer: stored bytes do.
    const blocking = !(isDoubt || kind === 'ORPHAN' || step.rule === 'N24' || step.rule === 'N30');
    return [
      {
        class: kind,
        rule: step.rule,
        crd: now.name,
        version: step.version,
        object: '',
        resourceVersion: '',
        path: step.path === '' ? step.keyword : step.path,
        endpoints: [],
        blocking,
        eraNow: options.now.era,
        eraTarget: options.target.era,
        what: backend?.answers === false ? `${step.what}; ${backend.why}` : whatOf(step, now, target),
        sample: '',
        remedy:
          step.rule === 'N27' ? (isDoubt ? TRY_WEBHOOK : BRING_WEBHOOK) : isDoubt ? ASK : CLASS_MEANINGS[kind].remedy,
      },
    ];
  });
}

/** Who answers to the webhook that converts under the target; undefined: there is none, or nobody knows. */
function backendOf(now: Crd, target: Crd | undefined, { backends }: PreflightOptions): Backend | undefined {
  return target?.conversion === 'Webhook' ? backends?.get(now.name) : undefined;
}

/** A server of era E0 refuses to take, and may refuse to go on with, definitions whose rules have optional old values. */
function optionalFindings(now: Crd, target: Crd | undefined, options: PreflightOptions): readonly Finding[] {
  if (options.target.era !== 'E0') return [];
  const kind: FindingClass = target === undefined ? 'UNDECIDED' : 'CRD_REJECTED';
  return (target ?? now).versions
    .filter(({ schema }) => schema !== undefined && traitsOf(schema).optionals)
    .map(({ name }) => ({
      class: kind,
      rule: 'N35',
      crd: now.name,
      version: name,
      object: '',
      resourceVersion: '',
      path: 'x-kubernetes-validations',
      endpoints: [],
      blocking: target !== undefined,
      eraNow: options.now.era,
      eraTarget: options.target.era,
      what: NO_OPTIONALS,
      sample: '',
      remedy: 'Take a definition without optionalOldSelf, or a server from 1.30 with its ratcheting on.',
    }));
}

/** With the words of the servers, which differ: those up to 1.32 name the field, later ones the versions. */
function whatOf(step: Step, now: Crd, target: Crd | undefined): string {
  if (step.rule !== 'N25' || target === undefined) return step.what;
  const names = new Set(target.versions.map(({ name }) => name));
  const lost = now.storedVersions.filter((name) => !names.has(name));
  const index = now.storedVersions.findIndex((name) => !names.has(name));
  return (
    `${step.what} (up to 1.32: "status.storedVersions[${Math.max(0, index)}]: Invalid value: "${lost[0] ?? ''}": must appear in spec.versions"; ` +
    `from 1.33: "status.storedVersions[${Math.max(0, index)}]: Invalid value: "${lost[0] ?? ''}": missing from spec.versions; ${lost[0] ?? ''} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in ${lost[0] ?? ''} and removes ${lost[0] ?? ''} from status.storedVersions")`
  );
}
