import type { CollectStep } from '../cluster-api/collect.ts';
import type { Collections } from '../cluster-api/collection.ts';
import { errorText } from '../errors.ts';
import { object } from '../observe/json.ts';
import type { Collected } from './carry-out-rotations.ts';
import type { ClusterStep } from './cluster-step.ts';
import type { ForeseenCollections } from './collections.ts';

interface Call {
  readonly signal?: AbortSignal | undefined;
}

/** What of Cluster API nothing needs: copies of templates, and images in vCenters. What these steps use counts as needed. */
export async function foreseeRotationCollections(
  { namespaces, templates, images }: Collections,
  planned: readonly ClusterStep[],
  call: Call = {},
): Promise<Pick<ForeseenCollections, 'notes'> & { readonly steps: readonly Collected[] }> {
  const used = usedBy(planned);
  const steps: Collected[] = [];
  try {
    for (const namespace of namespaces()) {
      const foreseen = await templates(namespace, { dryRun: true, ...call });
      for (const step of foreseen.steps)
        if (!used.has(step.template.metadata.name))
          steps.push({ kind: 'copy', does: step.kind, template: copyText(step) });
    }
    for (const image of await images({ dryRun: true, ...call }))
      if (!used.has(image.name)) steps.push({ kind: 'collect', clusterApi: true, ...image });
    return { steps, notes: [] };
  } catch (error) {
    call.signal?.throwIfAborted();
    return { steps: [], notes: [`what of Cluster API could be collected is not known: ${errorText(error)}`] };
  }
}

/** Does these steps, as far as nothing needs what they take away still. */
export async function collectRotations(
  { namespaces, templates, images }: Collections,
  steps: readonly Collected[],
  call: Call = {},
): Promise<void> {
  const copies = new Set(steps.flatMap((step) => (step.kind === 'copy' ? [`${step.does} ${step.template}`] : [])));
  const names = new Set(steps.flatMap((step) => (step.kind === 'collect' ? [step.name] : [])));
  if (copies.size > 0)
    for (const namespace of namespaces())
      await templates(namespace, { only: (step) => copies.has(`${step.kind} ${copyText(step)}`), ...call });
  if (names.size > 0) await images({ only: (name) => names.has(name), ...call });
}

function copyText({ template: { kind = 'template', metadata } }: CollectStep): string {
  return `${kind.toLowerCase()} ${metadata.namespace ?? ''}/${metadata.name}`;
}

/** Names of templates, of either kind, that steps make or point at. */
function usedBy(steps: readonly ClusterStep[]): ReadonlySet<string> {
  return new Set(
    steps.flatMap((step) => {
      switch (step.kind) {
        case 'image':
        case 'keep':
          return [step.name];
        case 'clone':
          return [step.name, step.image.to];
        case 'variable':
          return [step.to];
        case 'point':
          return step.edits.flatMap(({ to }) =>
            typeof to === 'string' ? [to] : Object.values(object(to)).map(String),
          );
        default:
          return [];
      }
    }),
  );
}
