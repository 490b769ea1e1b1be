import { idKey, idText } from '../payload/manifest.ts';
import { pinOf } from './pin.ts';
import type { ApplyPlan, PlannedObject } from './plan.ts';
import type { ApplyPorts } from './wish.ts';

/**
 * The first object about which something else would be done now than a plan says, as a sentence; undefined where what would be done is what is left of the plan. What was done of it, by whomever, is no difference.
 */
export function planDifference(plan: ApplyPlan, now: ApplyPlan): string | undefined {
  for (const field of ['owner', 'version', 'mode'] as const)
    if (plan[field] !== now[field]) return `the plan is for ${field} ${plan[field]}, and this is ${now[field]}`;
  const said = objectsOf(plan);
  for (const object of objectsOf(now).values()) {
    const why = otherwise(said.get(idKey(object.id)), object);
    if (why !== undefined) return why;
  }
  return undefined;
}

/** Keeps an apply to a plan: see `ApplyPorts.objection`. */
export function keptTo(plan: ApplyPlan): NonNullable<ApplyPorts['objection']> {
  const said = objectsOf(plan);
  return (step, manifest, live) => {
    const pin = pinOf(manifest, step, live);
    const { id, file, line } = manifest;
    return otherwise(said.get(idKey(id)), {
      ...{ id, file, line, action: step.action },
      ...('differences' in step ? { differences: step.differences } : {}),
      ...(pin === undefined ? {} : { pin }),
    });
  };
}

function objectsOf({ phases }: ApplyPlan): ReadonlyMap<string, PlannedObject> {
  const objects = phases.flatMap(({ nodes }) => nodes.flatMap((node) => node.objects));
  return new Map(objects.map((one) => [idKey(one.id), one]));
}

const DONE = new Set<PlannedObject['action']>(['nothing', 'wait']);
const WORDS = {
  create: 'to be made',
  update: 'to be updated',
  delete: 'to be deleted',
  wait: 'to be waited for',
  nothing: 'as it should be',
  refuse: 'not to be touched',
} as const;

function otherwise(said: PlannedObject | undefined, now: PlannedObject): string | undefined {
  if (DONE.has(now.action)) return undefined;
  const name = idText(now.id);
  if (said === undefined) return `the plan knows no ${name}`;
  const [first] = now.differences ?? [];
  const place = first === undefined ? '' : ` (${first.path}: ${first.was ?? 'absent'} → ${first.is ?? 'absent'})`;
  // What was being deleted is made when it is gone.
  const same = said.action === now.action || (said.action === 'wait' && now.action === 'create');
  if (!same)
    return `${name} is ${WORDS[said.action]} by the plan, and now it is ${WORDS[now.action]}${place}${now.why === undefined ? '' : `: ${now.why}`}`;
  if (said.pin === now.pin) return undefined;
  return now.action === 'delete'
    ? `the ${name} that the plan deletes is gone, and another one was made`
    : `${name} has changed since the plan was made, and now another update is needed${place}`;
}
