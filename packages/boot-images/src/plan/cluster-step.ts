import type { Verified } from '../image-facts.ts';
import { type LeafEdit, leafText } from '../observe/provider-spec.ts';
import type { ForeseenPublication } from '../platform.ts';
import { oldStubName } from '../user-data/old-stub.ts';

/**
 * One thing that changes something, in the order in which the operator does it: an image is made, tried, a stub converted, a set pointed at its image, what nothing needs collected. Steps of different
 * images and sets may be under way at the same time; those of one set are one after the other.
 */
export type ClusterStep =
  | ({ readonly kind: 'image' } & Omit<ForeseenPublication, 'beside'> & {
        readonly release: string;
        readonly sets: readonly string[];
      })
  | {
      readonly kind: 'canary';
      /** Name of the machine that tries the image; it goes again when it was a Ready node. */
      readonly machine: string;
      readonly image: string;
      readonly policy: string;
      readonly sets: readonly string[];
    }
  | { readonly kind: 'stub'; readonly secret: string; readonly sets: readonly string[] }
  | {
      readonly kind: 'point';
      readonly set: string;
      /** None where the image takes over the name that the set has already. */
      readonly edits: readonly LeafEdit[];
      readonly from?: string;
      readonly to: string;
      readonly verified?: Verified;
    }
  /** Of Cluster API: a copy of a template that differs in its image. */
  | {
      readonly kind: 'clone';
      readonly set: string;
      /** `vspheremachinetemplate team-a/worker`: what is copied. */
      readonly of: string;
      readonly name: string;
      readonly image: { readonly path: string; readonly from?: string; readonly to: string };
    }
  /** Of Cluster API: the copy is there and was about to go. */
  | { readonly kind: 'keep'; readonly set: string; readonly of: string; readonly name: string }
  /** Of Cluster API: a topology gets another value. */
  | {
      readonly kind: 'variable';
      readonly set: string;
      readonly cluster: string;
      readonly variable: string;
      readonly from?: unknown;
      readonly to: string;
    }
  /** Of Cluster API: a copy that nothing needs says so for a while, is kept after all, or goes. */
  | { readonly kind: 'copy'; readonly does: 'retire' | 'keep' | 'delete'; readonly template: string }
  | {
      readonly kind: 'collect';
      /** An image of sets of Cluster API. */
      readonly clusterApi?: true;
      readonly server: string;
      readonly folder: string;
      readonly name: string;
      /** Why it goes, as a clause. */
      readonly reason: string;
    };

/** A step of one kind. */
export type StepOf<K extends ClusterStep['kind']> = Extract<ClusterStep, { readonly kind: K }>;

/** A step that one image, machine or Secret has for all of its sets: puts it under its key, for one more set. */
export function addFor<S extends { readonly sets: readonly string[] }>(
  steps: Map<string, S>,
  key: string,
  step: S,
): void {
  const { sets = [] } = steps.get(key) ?? {};
  steps.set(key, { ...step, sets: [...sets, ...step.sets] });
}

/** A step in a line. */
export function stepTitle(step: ClusterStep): string {
  switch (step.kind) {
    case 'image': {
      const { release, name, server, folder, sets, steps } = step;
      const title = `image ${release} as ${name} in ${folder} on ${server}, for ${sets.join(', ')}`;
      return steps.length === 0 ? `${title}: it is there` : title;
    }
    case 'canary':
      return `machine ${step.machine} tries ${step.image} by bootimagepolicy ${step.policy}, for ${step.sets.join(', ')}; it must become a Ready node, and goes again`;
    case 'stub':
      return `convert the Ignition stub in secret ${step.secret}, for ${step.sets.join(', ')}; secret ${oldStubName(step.secret)} keeps what it says now`;
    case 'point': {
      const { set, edits, from = 'no known image', to, verified } = step;
      const seen = verified === undefined ? '' : ` (${verified.message})`;
      const title = `${set}: ${from} → ${to}${seen}`;
      return edits.length === 0 ? `${title}, by the name that it has` : title;
    }
    case 'clone':
      return `${step.set}: ${step.of} is copied as ${step.name}, with another image`;
    case 'keep':
      return `${step.set}: ${step.name}, a copy of ${step.of} that was about to go, is kept`;
    case 'variable':
      return `${step.set}: variable ${step.variable} of cluster ${step.cluster} is ${step.to}`;
    case 'copy':
      return copyTitle(step);
    case 'collect':
      return `remove template ${step.name} in ${step.folder} on ${step.server}: ${step.reason}`;
  }
}

function copyTitle({ does, template }: StepOf<'copy'>): string {
  if (does === 'keep') return `${template} does not go: something needs it again`;
  return does === 'retire'
    ? `${template} is marked, to go later: nothing needs it`
    : `remove ${template}: nothing needs it`;
}

/** What changes in a set, as the lines of a difference. */
export function editLines({ path, from, to }: LeafEdit): readonly string[] {
  const where = path.join('.');
  return [...(from === undefined ? [] : [`${where} - ${leafText(from)}`]), `${where} + ${leafText(to)}`];
}
