import type { CallOptions, VCenter, VmSummary } from '@drydock/vsphere';
import type { Candidate, Machine } from '../decide/machine.ts';
import { GRACE_MS, type Retained, retain, type Verdict } from '../decide/retention.ts';
import { digestOf } from '../decide/world.ts';
import { reasonOf, TemplateError } from '../errors.ts';
import { failure, readFailure } from '../failure.ts';
import { linkedMachines } from '../observe/links.ts';
import { type Liveness, machineOf, type Scope } from '../observe/observe.ts';
import type { CollectedTemplate } from '../store.ts';

/** What collection asks the outside. */
export interface CollectionOptions extends Liveness, CallOptions {
  readonly referenced: (name: string) => string | undefined;
  readonly keep?: number | undefined;
  readonly graceMs?: number | undefined;
  readonly dryRun?: boolean | undefined;
  readonly expectWorld?: string | undefined;
}

/** How many generations of a name or base stay as a way back. */
const KEEP = 2;

/** What one look at the folder says. */
export interface Collection {
  readonly verdicts: readonly Verdict[];
  readonly machines: readonly Machine[];
  readonly world: string;
}

/** Removes what nobody needs, after a second look at each; says of every machine that bears a mark why it stays or went. */
export async function collectTemplates(
  vcenter: VCenter,
  scope: Scope,
  owner: string,
  options: CollectionOptions,
): Promise<readonly CollectedTemplate[]> {
  const { verdicts, machines, world } = await judge(vcenter, scope, owner, options);
  if (options.expectWorld !== undefined && options.expectWorld !== world) {
    const message = `what the plan to collect templates of ${owner} was made for has changed since`;
    throw new TemplateError({ code: 'WORLD_MOVED', message });
  }
  const collected: CollectedTemplate[] = [...bystanders(machines, owner)];
  for (const verdict of verdicts) {
    const { candidate, reason } = verdict;
    const certain = !verdict.remove || options.dryRun === true;
    if (certain) collected.push({ name: candidate.name, removed: verdict.remove, reason });
    else collected.push(await remove(vcenter, scope, owner, verdict, options));
  }
  return collected;
}

/** Looks once and judges. Only for what would go are the disks of all machines read: that is the dearest question. */
export async function judge(
  vcenter: VCenter,
  scope: Scope,
  owner: string,
  options: CollectionOptions,
  only?: string,
): Promise<Collection> {
  const call = options.signal === undefined ? {} : { signal: options.signal };
  const [now, children] = await look(vcenter, scope, call).catch((error: unknown) => {
    throw readFailure('list the templates of', scope.folder.value, error);
  });
  const machines = children.map((vm) => machineOf(vm, scope.folder, options));
  const mine = machines.filter((machine): machine is Candidate => machine.mark?.owner === owner);
  const policy = { now, keep: options.keep ?? KEEP, graceMs: options.graceMs ?? GRACE_MS, machines };
  const retained = mine.map(
    (candidate): Retained => ({
      candidate,
      usedBy: options.referenced(candidate.name),
      linked: [],
    }),
  );
  const doomed = new Set(
    retain(retained, policy)
      .filter(({ remove, candidate }) => remove && (only ?? candidate.instanceUuid) === candidate.instanceUuid)
      .map(({ candidate }) => candidate),
  );
  const bases = new Map<Candidate, VmSummary>();
  for (const [index, machine] of machines.entries()) {
    const vm = children[index];
    if (vm !== undefined && doomed.has(machine as Candidate)) bases.set(machine as Candidate, vm);
  }
  const linked = await linkedMachines(vcenter, scope.datacenter, [...bases.values()], call);
  const judged = retained.map((item): Retained => {
    const base = bases.get(item.candidate);
    return base === undefined ? item : { ...item, linked: linked.get(base) ?? [] };
  });
  return { verdicts: retain(judged, policy), machines, world: digestOf(mine) };
}

/** What time vCenter has, and then what is in the folder. */
async function look(
  vcenter: VCenter,
  { folder }: Scope,
  call: CallOptions,
): Promise<readonly [now: number, children: readonly VmSummary[]]> {
  const time = await vcenter.currentTime(call);
  return [time.getTime(), await vcenter.children(folder, call)];
}

/** Machines with a mark that is not this owner's to act on: never touched, but named. */
function* bystanders(machines: readonly Machine[], owner: string): Generator<CollectedTemplate> {
  for (const { name, mark, invalid } of machines) {
    if (invalid !== undefined) yield { name, removed: false, reason: invalid };
    if (mark !== undefined && mark.owner !== owner)
      yield { name, removed: false, reason: `it belongs to cluster ${mark.owner}` };
  }
}

/** Between the verdict and now a clone may have started, or somebody may have come to refer to it: judged again on fresh facts. */
async function remove(
  vcenter: VCenter,
  scope: Scope,
  owner: string,
  verdict: Verdict,
  options: CollectionOptions,
): Promise<CollectedTemplate> {
  const { name, instanceUuid } = verdict.candidate;
  try {
    const again = await judge(vcenter, scope, owner, options, instanceUuid);
    const now = again.verdicts.find(({ candidate }) => candidate.instanceUuid === instanceUuid);
    if (now === undefined) return { name, removed: false, reason: 'somebody else removed it' };
    if (!now.remove) return { name, removed: false, reason: now.reason };
    const call = options.signal === undefined ? {} : { signal: options.signal };
    await vcenter.destroy(now.candidate.ref, call);
    return { name, removed: true, reason: now.reason };
  } catch (error) {
    options.signal?.throwIfAborted();
    // In use by what nobody could see: it stays, and the next pass tries again.
    const said = failure('VCENTER_FAILED', 'remove the template', name, error);
    return { name, removed: false, reason: `it could not be removed: ${reasonOf(said)}` };
  }
}
