import type { CallOptions } from '@drydock/vsphere';
import { converge } from '../act/converge.ts';
import type { Ports } from '../act/ports.ts';
import { mayPointAt, mayRestore } from '../decide/authority.ts';
import { estranged } from '../decide/claim.ts';
import type { Candidate, Machine, Wanted } from '../decide/machine.ts';
import { retiredIdentity } from '../decide/swap.ts';
import { TemplateError } from '../errors.ts';
import { readFailure } from '../failure.ts';
import type { RevertRequest } from '../library.ts';
import { retiredName } from '../names.ts';
import { type Liveness, machineOf, type Scope } from '../observe/observe.ts';
import { resolveScope } from '../observe/place.ts';
import type { PublishedTemplate, SwapOptions } from '../store.ts';

/** Puts an earlier generation back; see `TemplateStore.revert`. The same decisions as a swap, with a generation as the content that is wanted. */
export async function revertTemplate(
  ports: Ports,
  request: RevertRequest,
  options: SwapOptions,
): Promise<PublishedTemplate> {
  const scope = await resolveScope(ports.vcenter, request.placement, options);
  const { wanted, liveness } = await prepareRevert(ports, scope, request, options);
  const context = { ...scope, ports, owner: request.owner, importing: { onUpload: () => undefined } };
  const { expectWorld, beforeSwap } = options;
  const done = await converge({ context, wanted, liveness, expectWorld, beforeSwap }, options);
  const { name, absentMs, retired } = done;
  const vm = await ports.vcenter.vm(done.ref, options);
  const machine = vm === undefined ? undefined : machineOf(vm, scope.folder, liveness);
  return {
    name,
    release: machine?.mark?.release ?? '',
    adopted: true,
    uploads: 0,
    ...(absentMs === undefined ? {} : { absentMs }),
    ...(retired === undefined ? {} : { retired }),
  };
}

/** Finds the generation that is gone back to. A revert imports nothing; who else does is told by age. */
export async function prepareRevert(
  ports: Ports,
  { folder }: Scope,
  request: RevertRequest,
  call: CallOptions,
): Promise<{ readonly to: string; readonly wanted: Wanted; readonly liveness: Liveness }> {
  const { to, owner, name, holder } = request;
  const liveness = { owner, witnesses: ports.witnesses, holder, running: ports.running };
  const children = await ports.vcenter.children(folder, call).catch((error: unknown) => {
    throw readFailure('read the history of', name, error);
  });
  const machines = children.map((vm) => machineOf(vm, folder, liveness));
  const ours = machines.filter(
    (machine): machine is Candidate =>
      machine.mark?.owner === owner && machine.mark.publishes === name && machine.verified && machine.isTemplate,
  );
  // What was changed since is no way back.
  const generations = ours.filter((machine) => machine.name === name || estranged(machine) === undefined);
  const target =
    to === undefined ? defaultTarget(machines, generations, name) : generations.find((one) => one.instanceUuid === to);
  // A person who names a generation may use what this user's own ledger has, also without a key.
  const named = to !== undefined && target !== undefined && mayRestore(target);
  const permission = target === undefined || named ? undefined : mayPointAt(target);
  if (permission?.may === false) throw new TemplateError({ code: 'NOT_OURS', message: permission.reason });
  if (target !== undefined) {
    const content = { kind: 'generation', instanceUuid: target.instanceUuid } as const;
    const wanted: Wanted = { owner, content, tagIds: [], swap: { name, unmarked: 'refuse' } };
    return { to: target.instanceUuid, wanted, liveness };
  }
  const which = to === undefined ? 'no earlier generation' : `no generation ${to}`;
  throw new TemplateError({ code: 'NOTHING_TO_REVERT', message: `${name} has ${which} of ${owner} in the folder` });
}

/**
 * Called again after a crash it must not turn round: what was on its way to the name, or is there with its predecessor not yet marked, is still the target.
 * Else it is what was put away last; a finished import that never bore the name is no way back.
 */
function defaultTarget(
  machines: readonly Machine[],
  generations: readonly Candidate[],
  name: string,
): Candidate | undefined {
  const current = generations.find((one) => one.name === name);
  const note = current?.mark.role === 'staged' ? current.mark.other : undefined;
  const before = note === undefined ? undefined : machines.find(({ key }) => key === note);
  if (before !== undefined && before.mark?.role !== 'retired') return current;
  const others = generations.filter((one) => one !== current);
  const underway = others.find(
    ({ mark: { role, other } }) => role === 'staged' && (current === undefined || other === current.key),
  );
  const retired = others.filter((one) => one.name === retiredName(name, retiredIdentity(one)));
  // One without the mark was put away by a swap that was interrupted: the last.
  const when = ({ mark: { role, at } }: Candidate): string => (role === 'retired' ? (at ?? '') : '9');
  // What may be gone back to first: where there is nothing else, why not is told.
  const usable = (one: Candidate): number => Number(mayPointAt(one).may);
  return underway ?? retired.toSorted((a, b) => usable(b) - usable(a) || when(b).localeCompare(when(a)))[0];
}
