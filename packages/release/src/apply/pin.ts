import type { KubeObject } from '@drydock/kube';
import type { Manifest } from '../payload/manifest.ts';
import { differenceDigest } from './difference.ts';
import { asJson } from './json.ts';
import { kindOf } from './merge/kinds.ts';
import type { ApplyStep } from './step.ts';

/**
 * What tells a step from another one of the same action on the same object, besides the manifest: of an update a digest of every place that changes with both values, of a deletion the uid. Of a Secret it is the version that was
 * seen: nothing is kept that somebody could try values on.
 */
export function pinOf(manifest: Manifest, step: ApplyStep, live: KubeObject | undefined): string | undefined {
  if (step.action === 'delete') return step.uid;
  if (step.action !== 'update' || live === undefined) return undefined;
  if (kindOf(manifest.id) === 'Secret.') return `${live.metadata.uid}/${live.metadata.resourceVersion}`;
  return differenceDigest(asJson(live), step.object);
}
