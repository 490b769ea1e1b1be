import type { KubeObject } from '@drydock/kube';
import { heldBy } from '../apply/deletions.ts';
import { kindOf } from '../apply/merge/kinds.ts';
import { MADE_BY } from '../apply/merge/metadata.ts';
import { findOrphans, type Orphan, type OrphanPorts, removeOrphan } from '../apply/orphans.ts';
import { idText, type ObjectId } from '../payload/manifest.ts';
import type { Way } from './way.ts';
import type { KeptOrphan } from './wish.ts';

/** What asks others, before what answers. */
const WEBHOOKS = new Set([
  'ValidatingWebhookConfiguration.admissionregistration.k8s.io',
  'MutatingWebhookConfiguration.admissionregistration.k8s.io',
  'APIService.apiregistration.k8s.io',
]);
/** What writes. */
const WORKLOADS = new Set(['Deployment.apps', 'DaemonSet.apps', 'StatefulSet.apps', 'Job.batch', 'CronJob.batch']);
/** Everything else, in this order; what is not named comes before it. */
const LAST = ['ServiceAccount.', 'CustomResourceDefinition.apiextensions.k8s.io', 'Namespace.'];

/** Which orphans are looked after. */
export type OrphanPart = 'webhooks' | 'workloads' | 'rest';

/** The part that an object belongs to. */
export function partOf(id: ObjectId): OrphanPart {
  const kind = kindOf(id);
  return WEBHOOKS.has(kind) ? 'webhooks' : WORKLOADS.has(kind) ? 'workloads' : 'rest';
}

/** What only the other release brought, in the order in which it goes. Rejects with `ApiError` and `ReleaseError`. */
export async function orphansOf({ wish, ports }: Way): Promise<{
  readonly orphans: readonly Orphan[];
  readonly with: OrphanPorts;
}> {
  const { client, signal } = ports;
  const { owner, to } = wish;
  const inventory = await ports.inventory.open(owner, signal);
  const opened = { client, inventory, owner, signal };
  const found = await findOrphans(to.manifests, opened);
  const rank = ({ id }: Orphan): number => LAST.indexOf(kindOf(id));
  return { orphans: found.toSorted((a, b) => rank(a) - rank(b)), with: opened };
}

/** Removes what only the other release brought, one part of it; returns what stays, and why. Rejects with `ApiError`. */
export async function removeOrphans(part: OrphanPart, way: Way): Promise<readonly KeptOrphan[]> {
  const { orphans, with: opened } = await orphansOf(way);
  const kept: KeptOrphan[] = [];
  for (const orphan of orphans) {
    if (partOf(orphan.id) !== part) continue;
    way.say(part === 'rest' ? 'Orphans' : 'Operators', `${idText(orphan.id)} goes`);
    const why = await whyKept(orphan, way);
    if (why !== undefined) kept.push({ id: orphan.id, why });
    else if (!(await removeOrphan(orphan, opened))) kept.push({ id: orphan.id, why: 'something holds it' });
  }
  await opened.inventory.flush();
  return kept;
}

/** Why an orphan stays; undefined: it goes. */
export async function whyKept(
  { id, losesData, live, made, marked }: Orphan,
  { wish, ports }: Way,
): Promise<string | undefined> {
  if (made && !marked) return `it does not say that ${wish.owner.name} made it (annotation ${MADE_BY})`;
  if (!losesData || !made) return undefined;
  const name = `Orphan/${idText(id)}`;
  if (wish.accepted.includes(name)) return undefined;
  if (kindOf(id) !== 'CustomResourceDefinition.apiextensions.k8s.io')
    return `what it holds would be gone with it: accept ${name}`;
  const { count } = await heldBy(ports.client, live as KubeObject, ports.signal);
  return count === 0
    ? undefined
    : `${count} ${count === 1 ? 'object' : 'objects'} would be gone with it: accept ${name}`;
}
