import { retiredName, upstreamNames } from '../names.ts';
import { mayRestore } from './authority.ts';
import { estranged, linkedReason, MUTE_MS, SILENCE_MS } from './claim.ts';
import type { Candidate, Machine, Observed, Step, Wanted } from './machine.ts';
import { bestOf, complete, hiddenStep, stage, sweep } from './staging.ts';

type Swap = NonNullable<Wanted['swap']>;

/**
 * The next step towards a stable name.
 *
 * ```
 *  name          what is in the folder                        step
 *  ───────────── ──────────────────────────────────────────── ─────────────────────────────────────────
 *  the wanted    it lacks tags, or its mark                   complete it, then mark what it put away, then
 *                                                             remove what is stale, then done
 *  another       nothing finished                             import (the other one stays what it is)
 *                a finished one                               complete it, note what it replaces, then swap:
 *                                                             rename other → retired, wanted → name
 *  nobody        a finished and complete one                  roll forward: rename it in
 *                none, but what was put away                  roll back: rename that in
 *                neither                                      import, complete
 * ```
 * A template under the name that we may not put away blocks everything, before anything is uploaded.
 */
export function decideSwap(observed: Observed, wanted: Wanted, swap: Swap): Step {
  const best = bestOf(observed, wanted);
  const current = observed.machines.find(({ name }) => name === swap.name);
  if (current === undefined) return recover(observed, wanted, swap, best);
  if (current === best) return settle(observed, wanted, swap, best);
  const refusal = refuse(current, wanted, swap);
  if (refusal !== undefined) return refusal;
  if (best === undefined) return stage(observed, wanted);
  return complete(best, wanted) ?? replace(observed, swap, current, best);
}

/** Nobody bears the name: machines cannot be made until somebody does. What is whole is renamed in before anything else is done. */
function recover(observed: Observed, wanted: Wanted, swap: Swap, best: Candidate | undefined): Step {
  const missing = best === undefined ? undefined : complete(best, wanted);
  if (best !== undefined && missing === undefined) {
    const { ref, name } = best;
    return { kind: 'rename', ref, name, to: swap.name, reason: 'it is finished, and nothing bears the name' };
  }
  const putAway = displaced(observed, wanted, swap).find((machine) => estranged(machine) === undefined);
  const old = putAway ?? leftBehind(observed, swap);
  if (old === undefined) return missing ?? stage(observed, wanted);
  const { ref, name } = old;
  return { kind: 'rename', ref, name, to: swap.name, reason: 'it bore the name before, and nothing does now' };
}

/** What a swap put away under this name, the latest first: the one that is not noted as retired yet was put away last. */
function displaced(observed: Observed, { owner }: Wanted, { name }: Swap): readonly Candidate[] {
  return observed.machines
    .filter((machine): machine is Candidate => machine.mark?.owner === owner && machine.mark.publishes === name)
    .filter(
      (machine) => machine.isTemplate && machine.verified && machine.unreadable === undefined && mayRestore(machine),
    )
    .filter((machine) => machine.name === retiredName(name, retiredIdentity(machine)))
    .toSorted(
      (a, b) =>
        Number(a.mark.role === 'retired') - Number(b.mark.role === 'retired') ||
        (b.mark.at ?? '').localeCompare(a.mark.at ?? '') ||
        (b.createdAt ?? 0) - (a.createdAt ?? 0) ||
        (a.ref.value < b.ref.value ? -1 : 1),
    );
}

/** What upstream's swap moved away from exactly this name (BI-V137, BI-V149). */
function leftBehind({ machines }: Observed, { name }: Swap): Machine | undefined {
  const { old } = upstreamNames(name);
  return machines.find((machine) => machine.name === old && machine.isTemplate && !machine.ran && isUnmarked(machine));
}

/** Why what bears the name may not be put away. */
function refuse(current: Machine, { owner }: Wanted, { name, unmarked }: Swap): Step | undefined {
  const { mark } = current;
  const blocked = (code: Extract<Step, { kind: 'blocked' }>['code'], reason: string): Step => ({
    kind: 'blocked',
    code,
    reason: `${name} (${current.ref.value}) ${reason}`,
  });
  if (current.unreadable !== undefined) return hiddenStep(current);
  if (!current.isTemplate && !current.poweredOff) return blocked('POWERED_ON', 'is a machine that is not powered off');
  if (!current.isTemplate) {
    const was = current.past === 'template' ? ': it was a template, and somebody made a machine of it' : '';
    return blocked('NOT_A_TEMPLATE', `is a machine, not a template${was}`);
  }
  if (mark !== undefined && mark.owner !== owner) return blocked('FOREIGN_OWNER', `belongs to ${mark.owner}`);
  if (mark === undefined && unmarked === 'refuse') {
    const why =
      current.invalid === undefined ? 'bears no mark' : `bears a mark that does not count: ${current.invalid}`;
    return blocked('UNMARKED', why);
  }
  // Putting it away would record that it is owned.
  if (mark !== undefined && unmarked === 'refuse' && !mayRestore(current))
    return blocked('UNMARKED', 'bears a mark that nothing proves: give the key that made its record, or adopt it');
  // Putting it away would call it whole.
  if (mark !== undefined && !current.verified)
    return blocked('UNMARKED', 'is an unfinished import that somebody made a template');
  if (current.chained)
    return blocked('HAS_SNAPSHOTS', 'has snapshots or is a linked clone: its disks lie on other disks');
  return undefined;
}

function replace(observed: Observed, { name }: Swap, current: Machine, best: Candidate): Step {
  const on = { ref: best.ref, name: best.name };
  const { mark } = best;
  const claim = current.mark?.publishes !== name || !mayRestore(current);
  if (claim || mark.role !== 'staged' || mark.other !== current.key)
    return { kind: 'intend', ...on, publishes: name, old: { ref: current.ref, name, key: current.key, claim } };
  const busy = [current, best].find((machine) => machine.busy);
  if (busy !== undefined)
    return { kind: 'wait', name: busy.name, code: 'TEMPLATE_BUSY', reason: `a task runs on ${busy.name}` };
  const retired = retiredName(name, retiredIdentity(current));
  const taken = observed.machines.find((machine) => machine.name === retired);
  if (taken !== undefined)
    return {
      kind: 'blocked',
      code: 'NAME_TAKEN',
      reason: `${taken.ref.value} bears ${retired}, the retired name of ${name}`,
    };
  return { kind: 'swap', ...on, publishes: name, old: { ref: current.ref, name }, retired };
}

/** The wanted one bears the name. */
function settle(observed: Observed, wanted: Wanted, swap: Swap, best: Candidate): Step {
  const unfinished = complete(best, wanted);
  if (unfinished !== undefined) return unfinished;
  const old = displaced(observed, wanted, swap);
  const replaced = old.find(({ key }) => key === best.mark.other);
  // One that came back meanwhile was retired by another one before: its time counts again.
  const unmarked = old.find(
    ({ mark, key }) => mark.role !== 'retired' || (key === replaced?.key && mark.other !== best.key),
  );
  if (unmarked !== undefined) return { kind: 'retire', ref: unmarked.ref, name: unmarked.name, by: best.key };
  const halves = observed.machines.filter(
    (machine): machine is Candidate => machine.mark?.owner === wanted.owner && machine.mark.publishes === swap.name,
  );
  return (
    sweep(halves, best) ??
    clear(observed, swap) ?? {
      kind: 'done',
      ref: best.ref,
      name: best.name,
      ...(replaced === undefined ? {} : { retired: replaced.name }),
    }
  );
}

/** Removes what upstream's swap left for exactly this name, once the name is known good (BI-V146, BI-V151). */
function clear({ machines }: Observed, { name }: Swap): Step | undefined {
  const { temp, old } = upstreamNames(name);
  // What was put away has been a template: a machine under that name is somebody's.
  const isOld = (machine: Machine): boolean => machine.name === old && machine.isTemplate;
  const stale = machines.find(
    (machine) =>
      (machine.name === temp ? machine.isTemplate || (machine.poweredOff && !machine.ran) : isOld(machine)) &&
      isUnmarked(machine) &&
      !machine.busy &&
      !machine.chained &&
      linkedReason(machine) === undefined &&
      // Its maker writes no heartbeat while it uploads; a template is uploaded.
      machine.unchangedMs >= (machine.isTemplate ? SILENCE_MS : MUTE_MS),
  );
  if (stale === undefined) return undefined;
  const reason = `another tool left it, and ${name} is in place`;
  const { ref, instanceUuid } = stale;
  return { kind: 'destroy', ref, name: stale.name, instanceUuid, marked: false, finished: false, reason };
}

function isUnmarked({ mark, invalid, unreadable: why, past }: Machine): boolean {
  return mark === undefined && invalid === undefined && why === undefined && past === 'never';
}

/** What a retired name is derived from. */
export function retiredIdentity(machine: {
  readonly instanceUuid: string;
  readonly ref: { readonly value: string };
}): string {
  return machine.instanceUuid === '' ? machine.ref.value : machine.instanceUuid;
}
