import { errorText } from '../errors.ts';
import { type Conclusion, conclusionOf, isUnreadable } from '../explain.ts';
import type { ImageFacts } from '../image-facts.ts';
import type { ForeseenPublication } from '../platform.ts';
import type { Pin } from '../way-back/pin.ts';
import type { RotationCanaries } from './canary.ts';
import { rotationGroup } from './canary-machine.ts';
import { RETIRED } from './clone.ts';
import { decideRotation } from './decide.ts';
import { failureOf } from './failure.ts';
import { type ImageLeaf, imageIn } from './image-leaf.ts';
import type { ClusterApiObject } from './kinds.ts';
import { observeRotation, type SetName, withSiblings } from './observe.ts';
import type { RotationPorts } from './rotate.ts';
import type { ImageThere, Rotation, RotationStep } from './rotation.ts';
import { setText } from './set.ts';

/** Which sets are planned, and as if what. */
export interface PlanRotationsOptions {
  /** Whether a set is meant, by its id as `team-a/capi-md/worker`; default: all are. */
  readonly sets?: (id: string) => boolean;
  /** As if these sets had this pin. */
  readonly pin?: Pin;
  readonly signal?: AbortSignal | undefined;
}

/** One step of a rotation, by what it changes. */
export type PlannedRotationStep =
  | { readonly kind: 'publish'; readonly release: string; readonly images: readonly ForeseenPublication[] }
  | { readonly kind: 'canary'; readonly machine: string; readonly image: string; readonly policy: string }
  | {
      readonly kind: 'clone';
      /** `vspheremachinetemplate team-a/worker`: what is copied. */
      readonly of: string;
      readonly name: string;
      readonly image: { readonly path: string; readonly from?: string; readonly to: string };
    }
  /** The copy is there and was about to go. */
  | { readonly kind: 'keep'; readonly of: string; readonly name: string }
  | { readonly kind: 'point'; readonly path: readonly string[]; readonly from: string; readonly to: string }
  | {
      readonly kind: 'variable';
      readonly cluster: string;
      readonly variable: string;
      readonly from?: unknown;
      readonly to: string;
    };

/** What would be done about one set of Cluster API now, and what becomes of it. */
export interface PlannedRotation {
  /** `team-a/capi-md/worker`. */
  readonly set: string;
  readonly steps: readonly PlannedRotationStep[];
  /** Release, or image name where no release is known. */
  readonly current?: string;
  readonly target?: string;
  /** Why nothing is done; absent where there are steps. */
  readonly rest?: Conclusion;
  /** What of that is of the image alone, as a clause. */
  readonly because?: string;
}

/** What a plan reads. */
export type RotationPlanPorts = Pick<RotationPorts, 'reader' | 'wish'> & {
  readonly verdict: RotationCanaries['verdict'];
  readonly images: Pick<RotationPorts['images'], 'look' | 'foresee'>;
};

/** Steps of one set: fewer by far. */
const MOST_STEPS = 8;

/** Decides on predicted worlds, by the rules of a rotation, until nothing is left to do. It writes nothing. Undefined where the set is gone. */
export async function planRotation(
  name: SetName,
  ports: RotationPlanPorts,
  call: { readonly signal?: AbortSignal | undefined } = {},
): Promise<PlannedRotation | undefined> {
  const beside = new Set<string>();
  const predicted = new Map<string, ClusterApiObject>();
  const look = async (): Promise<Rotation | undefined> => {
    const found = await observeRotation(name, ports.reader, { fresh: true, beside, ...call });
    return found && { ...found, beside: (one) => predicted.get(one) ?? found.beside(one) };
  };
  const first = await look();
  if (first === undefined) return undefined;
  const wish = ports.wish(first.set);
  let seen = withSiblings(first, wish.classVariable, ports.reader);
  const { namespace, id } = seen.set;
  const set = `${namespace}/${id}`;
  const steps: PlannedRotationStep[] = [];
  let there: ImageThere | undefined;
  let leaf: ImageLeaf | undefined;
  try {
    for (let count = 0; count < MOST_STEPS; count += 1) {
      const step = decideRotation(seen, wish, there);
      switch (step.kind) {
        case 'settled': {
          const { outcome } = step;
          const rest = conclusionOf(outcome.kind === 'current' ? { plan: { kind: 'current' } } : { outcome });
          return { set, steps, ...factsOf(outcome), rest };
        }
        case 'look':
          leaf = step.leaf;
          there = await ports.images.look({ rotation: seen, leaf, image: step.image }, call);
          break;
        case 'publish': {
          const about = { rotation: seen, leaf: step.leaf, image: step.image };
          const images = await ports.images.foresee(about, call);
          if (images.some((one) => one.steps.length > 0))
            steps.push({ kind: 'publish', release: step.image.release, images });
          there = { ...there, image: images[0]?.name };
          break;
        }
        case 'try': {
          const { id: group, machine, image } = rotationGroup(seen.set, step.wish, step.image);
          const { verdict, message } = ports.verdict(group) ?? {};
          if (verdict === 'Failed') {
            const why = `the canary ${machine} failed: ${message}`;
            return { set, steps: [], ...factsOf(step.facts), rest: { step: 'blocked', why } };
          }
          if (verdict === undefined) steps.push({ kind: 'canary', machine, image, policy: step.wish.policy.name });
          there = { ...there, image: step.image, tried: true };
          break;
        }
        case 'clone':
        case 'keep': {
          const { name: copy, annotations } = step.template.metadata;
          const { [RETIRED]: _, ...kept } = annotations ?? {};
          // Whatever bears the name is looked at before one is made.
          if (step.kind === 'keep' || beside.has(copy)) {
            steps.push(copied(seen, step, leaf, there));
            predicted.set(copy, { ...step.template, metadata: { ...step.template.metadata, annotations: kept } });
          }
          beside.add(copy);
          const again = await look();
          if (again === undefined) return undefined;
          seen = withSiblings(again, wish.classVariable, ports.reader);
          break;
        }
        case 'point':
        case 'variable':
          steps.push(pointed(seen, step));
          return { set, steps, ...factsOf(step.facts) };
      }
    }
  } catch (error) {
    call.signal?.throwIfAborted();
    if (isUnreadable(error)) return { set, steps: [], rest: { step: 'unknown', why: errorText(error) } };
    const { outcome } = failureOf(error);
    const { because } = outcome;
    return { set, steps: [], ...(because === undefined ? {} : { because }), rest: conclusionOf({ outcome }) };
  }
  throw new TypeError(`a plan for ${setText(seen.set)} has more than ${MOST_STEPS} steps`);
}

function factsOf({ current, target }: ImageFacts): Pick<PlannedRotation, 'current' | 'target'> {
  return { ...(current === undefined ? {} : { current }), ...(target === undefined ? {} : { target }) };
}

function copied(
  { template, set }: Rotation,
  step: Extract<RotationStep, { readonly kind: 'clone' | 'keep' }>,
  leaf: ImageLeaf | undefined,
  there: ImageThere | undefined,
): PlannedRotationStep {
  const { name } = step.template.metadata;
  const of = `${(step.template.kind ?? 'template').toLowerCase()} ${set.namespace}/${template?.metadata.name ?? ''}`;
  if (step.kind === 'keep') return { kind: 'keep', of, name };
  const from = template === undefined || leaf === undefined ? undefined : imageIn(template, leaf);
  const image = { path: leaf?.path.join('.') ?? '', to: there?.image ?? '', ...(from === undefined ? {} : { from }) };
  return { kind: 'clone', of, name, image };
}

function pointed(
  { set }: Rotation,
  step: Extract<RotationStep, { readonly kind: 'point' | 'variable' }>,
): PlannedRotationStep {
  if (step.kind === 'point')
    return { kind: 'point', path: [...set.referencePath, 'name'], from: step.from, to: step.to };
  const { cluster, variable, place, value } = step;
  return {
    ...{ kind: 'variable', cluster: `${set.namespace}/${cluster.metadata.name}`, variable, to: value },
    ...(place.current === undefined ? {} : { from: place.current }),
  };
}
