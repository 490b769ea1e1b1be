import { diff } from './diff.ts';
import { CLASS_MEANINGS, type Finding, type FindingClass } from './finding.ts';
import type { PreflightOptions } from './preflight-object.ts';
import type { Crd } from './schema.ts';
import type { RuleId, Step } from './step.ts';

/** Classes of steps that concern the definition, whatever its objects are. */
const CLASSES: Readonly<Partial<Record<RuleId, FindingClass>>> = {
  N23: 'CRD_REJECTED',
  N24: 'CONVERT',
  N25: 'CRD_REJECTED',
  N27: 'WEBHOOK',
  N29: 'BLOCK_STATUS',
  N30: 'BLOCK_STATUS',
  N31: 'CRD_REJECTED',
  N32: 'ORPHAN',
};

/** What stops a definition, before any object is looked at. Undefined is a definition that the target lacks. */
export function preflightCrd(now: Crd, target: Crd | undefined, options: PreflightOptions): readonly Finding[] {
  return diff(now, target).steps.flatMap((step): readonly Finding[] => {
    const kind = CLASSES[step.rule];
    if (kind === undefined || (step.effect === 'widens' && step.rule !== 'N32')) return [];
    // Not all that a client asks for needs a server that cannot answer: stored bytes do.
    const blocking = !(kind === 'ORPHAN' || step.rule === 'N24' || step.rule === 'N30' || step.effect === 'undecided');
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
        what: whatOf(step, now, target),
        sample: '',
        remedy: CLASS_MEANINGS[kind].remedy,
      },
    ];
  });
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
