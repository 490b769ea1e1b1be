import type { CallOptions, MachineDisks, VCenter } from '@drydock/vsphere';
import { expectFree } from '../act/obstacle.ts';
import type { Candidate, Machine } from '../decide/machine.ts';
import { GRACE_MS, type Retained, retain, type Verdict } from '../decide/retention.ts';
import { digestOf } from '../decide/world.ts';
import { isTemplateError, reasonOf, TemplateError } from '../errors.ts';
import { failure, readFailure } from '../failure.ts';
import { linkedTo, NO_LINKS } from '../observe/links.ts';
import { keepSightings, type Liveness, machineOf, readFolder, type Scope } from '../observe/observe.ts';
import type { CollectedTemplate, NeededTemplate } from '../store.ts';

/** What collection asks the outside. */
export interface CollectionOptions extends Liveness, CallOptions {
  readonly referenced: (name: string) => string | undefined;
  readonly needed?: NeededTemplate | undefined;
  readonly keep?: number | undefined;
  readonly graceMs?: number | undefined;
  readonly only?: ((name: string) => boolean) | undefined;
  readonly dryRun?: boolean | undefined;
  readonly expectWorld?: string | undefined;
}

/** How many generations of a name or base stay as a way back, unless told otherwise. */
export const KEPT_PER_PLACE = 2;

/** What one look at the folder says. */
export interface Collection {
  readonly verdicts: readonly Verdict[];
  readonly machines: readonly Machine[];
  readonly world: string;
}

/**
 * Removes what nobody needs; says of every machine that bears a mark why it stays or went. The disks of all machines are read once, which takes long; what may have changed meanwhile
 * is read again for each that is to go, right before it goes: machines that are new since, then the folder with its tasks, then the references.
 */
export async function collectTemplates(
  vcenter: VCenter,
  scope: Scope,
  owner: string,
  options: CollectionOptions,
): Promise<readonly CollectedTemplate[]> {
  const disks = diskReader(vcenter, scope, options);
  const { verdicts, machines, world } = await judge(vcenter, scope, owner, options, disks);
  if (options.expectWorld !== undefined && options.expectWorld !== world) {
    const message = `what the plan to collect templates of ${owner} was made for has changed since`;
    throw new TemplateError({ code: 'WORLD_MOVED', message });
  }
  const collected: CollectedTemplate[] = [...bystanders(machines, owner)];
  for (const verdict of verdicts) {
    const { candidate, reason } = verdict;
    const certain = !verdict.remove || options.dryRun === true;
    if (verdict.remove && options.only?.(candidate.name) === false)
      collected.push({ name: candidate.name, removed: false, reason: `it may go (${reason}), and was not asked for` });
    else if (certain) collected.push({ name: candidate.name, removed: verdict.remove, reason });
    else collected.push(await remove(vcenter, scope, owner, verdict, options, disks));
  }
  return collected;
}

/** The disks of the datacenter's machines. */
export interface DiskReader {
  /** All, read once. */
  all(): Promise<readonly MachineDisks[]>;
  /** Adds those of machines that have appeared since the last look. */
  refresh(): Promise<void>;
}

/** See {@link DiskReader}. */
export function diskReader(vcenter: VCenter, { datacenter }: Scope, { signal }: CallOptions): DiskReader {
  let known: readonly MachineDisks[] | undefined;
  const all = async (): Promise<readonly MachineDisks[]> => {
    known ??= await vcenter.disksOn(datacenter, { signal });
    return known;
  };
  return {
    all,
    refresh: async () => {
      const before = await all();
      // What could not be read then is read again, too: it may have become readable, and linked.
      const except = new Set(before.filter(({ unreadable }) => unreadable === undefined).map(({ ref }) => ref.value));
      const fresh = await vcenter.disksOn(datacenter, { signal, except });
      known = [...before.filter(({ ref }) => except.has(ref.value)), ...fresh];
    },
  };
}

/** Looks once at the folder and judges. Only where something would go are the disks of all machines asked for. */
export async function judge(
  vcenter: VCenter,
  scope: Scope,
  owner: string,
  options: CollectionOptions,
  disks: DiskReader = diskReader(vcenter, scope, options),
): Promise<Collection> {
  const children = await readFolder(vcenter, scope.folder, options.witnesses, options).catch((error: unknown) => {
    throw readFailure('list the templates of', scope.folder.value, error);
  });
  const machines = children.map((vm) => machineOf(vm, scope.folder, options));
  const mine = machines.filter((machine): machine is Candidate => machine.mark?.owner === owner);
  await keepSightings(scope.folder, machines, options.witnesses);
  await rememberHolders(machines, options.witnesses);
  const policy = { keep: options.keep ?? KEPT_PER_PLACE, graceMs: options.graceMs ?? GRACE_MS, machines };
  const retained = mine.map(
    (candidate): Retained => ({
      ...{ candidate, usedBy: options.referenced(candidate.name), ...NO_LINKS },
      needed: neededAs(candidate, policy.keep, options.needed),
    }),
  );
  const verdicts = retain(retained, policy);
  const doomed = new Set(verdicts.filter(({ remove }) => remove).map(({ candidate }) => candidate));
  if (doomed.size === 0) return { verdicts, machines, world: digestOf(mine) };
  const all = await disks.all();
  const bases = new Map(machines.map((machine, index) => [machine, children[index]]));
  const judged = retained.map((item): Retained => {
    const base = doomed.has(item.candidate) ? bases.get(item.candidate) : undefined;
    return base === undefined ? item : { ...item, ...linkedTo(base, all) };
  });
  return { verdicts: retain(judged, policy), machines, world: digestOf(mine) };
}

function neededAs(
  { name, mark, version = '' }: Candidate,
  keep: number,
  needed: NeededTemplate | undefined,
): string | undefined {
  const { release, digest, publishes: stableName } = mark;
  return needed?.({ name, release: release === '' ? version : release, digest, stableName }, keep);
}

/** Whoever was seen to hold a template holds it until this installation sees the release: an attribute that somebody empties later frees nothing. */
async function rememberHolders(machines: readonly Machine[], { ledger }: Liveness['witnesses']): Promise<void> {
  for (const { key, holders, own } of machines) {
    const known = ledger.get(key)?.holders ?? [];
    const fresh = holders.filter((holder) => !known.includes(holder));
    if (own && fresh.length > 0)
      await ledger.change(key, (now) => now && { ...now, holders: [...new Set([...(now.holders ?? []), ...holders])] });
  }
}

/** Machines with a mark that is not this owner's to act on, and those that nobody can read: never touched, but named. */
function* bystanders(machines: readonly Machine[], owner: string): Generator<CollectedTemplate> {
  for (const { name, mark, invalid, unreadable, past } of machines) {
    if (unreadable !== undefined) yield { name, removed: false, reason: unreadable };
    else if (invalid !== undefined) {
      const was = past === 'template' ? ', and is said to have been a template: it is theirs who has it' : '';
      yield { name, removed: false, reason: `${invalid}${was}` };
    }
    if (unreadable === undefined && mark !== undefined && mark.owner !== owner)
      yield { name, removed: false, reason: `it belongs to cluster ${mark.owner}` };
  }
}

/** Between the verdict and now a clone may have started, or somebody may have come to refer to it: judged again on fresh facts, the references last. */
async function remove(
  vcenter: VCenter,
  scope: Scope,
  owner: string,
  verdict: Verdict,
  options: CollectionOptions,
  disks: DiskReader,
): Promise<CollectedTemplate> {
  const { ref, name, instanceUuid } = verdict.candidate;
  try {
    await expectFree(vcenter, { ref, name }, 'Destroy_Task', options);
    await disks.refresh();
    const again = await judge(vcenter, scope, owner, options, disks);
    const now = again.verdicts.find(({ candidate }) => candidate.instanceUuid === instanceUuid);
    if (now === undefined) return { name, removed: false, reason: 'somebody else removed it' };
    if (!now.remove) return { name, removed: false, reason: now.reason };
    await vcenter.destroy(now.candidate.ref, { signal: options.signal });
    await options.witnesses.ledger.change(now.candidate.key, () => undefined);
    return { name, removed: true, reason: now.reason };
  } catch (error) {
    options.signal?.throwIfAborted();
    // Whoever leads now decides.
    if (isTemplateError(error, 'NOT_LEADING')) throw error;
    // In use by what nobody could see: it stays, and the next pass tries again.
    const said = failure('VCENTER_FAILED', 'remove the template', name, error);
    return { name, removed: false, reason: `it could not be removed: ${reasonOf(said)}` };
  }
}
