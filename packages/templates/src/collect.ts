import type { CallOptions, MoRef, VCenter, VmSummary } from '@drydock/vsphere';
import type { Clock } from './clock.ts';
import { reasonOf } from './errors.ts';
import { readMark } from './mark.ts';
import { candidateOf, type Liveness } from './observe.ts';
import { GRACE_MS, linkedTo, type Retained, retain, type Verdict } from './retention.ts';
import type { CollectedTemplate } from './store.ts';

/** What collection asks the outside. */
export interface CollectOptions extends Liveness, CallOptions {
  readonly referenced: (name: string) => string | undefined;
  readonly keep?: number;
  readonly graceMs?: number;
}

/** Removes what nobody needs, after a second look at each; says of every machine that bears a mark why it stays or went. */
export async function collectTemplates(
  vcenter: VCenter,
  folder: MoRef,
  cluster: string,
  clock: Clock,
  options: CollectOptions,
): Promise<readonly CollectedTemplate[]> {
  const call = options.signal === undefined ? {} : { signal: options.signal };
  const children = await vcenter.children(folder, call);
  const collected: CollectedTemplate[] = [...bystanders(children, folder, cluster)];
  for (const verdict of judge(children, folder, cluster, clock, options)) {
    const { name } = verdict.candidate;
    if (!verdict.remove) collected.push({ name, removed: false, reason: verdict.reason });
    else collected.push(await remove(vcenter, folder, cluster, clock, verdict, options, call));
  }
  return collected;
}

function judge(
  children: readonly VmSummary[],
  folder: MoRef,
  cluster: string,
  clock: Clock,
  options: CollectOptions,
): readonly Verdict[] {
  const retained: Retained[] = [];
  for (const vm of children) {
    const candidate = candidateOf(vm, folder, options);
    if (candidate === undefined || candidate.mark.owner !== cluster) continue;
    retained.push({ candidate, usedBy: options.referenced(vm.name), linked: linkedTo(vm, children) });
  }
  return retain(retained, { now: clock.now(), keep: options.keep ?? 1, graceMs: options.graceMs ?? GRACE_MS });
}

/** Machines with a mark that is not this cluster's to act on: never touched, but named. */
function* bystanders(children: readonly VmSummary[], folder: MoRef, cluster: string): Generator<CollectedTemplate> {
  for (const vm of children) {
    const reading = readMark(vm, folder);
    if (reading.kind === 'invalid') yield { name: vm.name, removed: false, reason: reading.reason };
    if (reading.kind === 'ours' && reading.mark.owner !== cluster) {
      yield { name: vm.name, removed: false, reason: `it belongs to cluster ${reading.mark.owner}` };
    }
  }
}

/** Between the verdict and now a clone may have started, or somebody may have come to refer to it: judged again on fresh facts. */
async function remove(
  vcenter: VCenter,
  folder: MoRef,
  cluster: string,
  clock: Clock,
  verdict: Verdict,
  options: CollectOptions,
  call: CallOptions,
): Promise<CollectedTemplate> {
  const { name, mark } = verdict.candidate;
  try {
    const again = judge(await vcenter.children(folder, call), folder, cluster, clock, options);
    const now = again.find(({ candidate }) => candidate.mark.instanceUuid === mark.instanceUuid);
    if (now === undefined) return { name, removed: false, reason: 'somebody else removed it' };
    if (!now.remove) return { name, removed: false, reason: now.reason };
    await vcenter.destroy(now.candidate.ref, call);
    return { name, removed: true, reason: now.reason };
  } catch (error) {
    options.signal?.throwIfAborted();
    // In use by what nobody could see: it stays, and the next pass tries again.
    return { name, removed: false, reason: `it could not be removed: ${reasonOf(error)}` };
  }
}
