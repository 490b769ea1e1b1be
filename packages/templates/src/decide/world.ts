import { createHash } from 'node:crypto';
import { retiredName, upstreamNames } from '../names.ts';
import type { Machine, Observed, Wanted } from './machine.ts';
import { candidatesOf } from './staging.ts';
import { retiredIdentity } from './swap.ts';

/**
 * SHA-256 of what matters to a wish in a folder, as lower-case hex: the owner's machines that have to do with its name or content, and whatever bears a name
 * that it is about. Other machines may come and go, tasks may run, time may pass.
 */
export function worldOf(observed: Observed, wanted: Wanted): string {
  const { owner, content, swap } = wanted;
  const names = new Set(content.kind === 'image' ? content.attempts.map(({ name }) => name) : []);
  if (swap !== undefined) {
    for (const name of [swap.name, ...Object.values(upstreamNames(swap.name))]) names.add(name);
    for (const machine of observed.machines) names.add(retiredName(swap.name, retiredIdentity(machine)));
  }
  const candidates: ReadonlySet<Machine> = new Set(candidatesOf(observed, wanted));
  const concerned = (machine: Machine): boolean =>
    names.has(machine.name) ||
    candidates.has(machine) ||
    (swap !== undefined && machine.mark?.owner === owner && machine.mark.publishes === swap.name);
  return digestOf(observed.machines.filter(concerned));
}

/** SHA-256 of machines, whatever their order. */
export function digestOf(machines: readonly Machine[]): string {
  const rows = machines.map(
    ({ ref, name, instanceUuid, isTemplate, poweredOff, mark, verified, chained, tags, ...more }) =>
      JSON.stringify([
        ref.value,
        name,
        instanceUuid,
        isTemplate,
        poweredOff,
        mark ?? null,
        verified,
        chained,
        tags.toSorted(),
        more.past,
        more.tampered ?? null,
        more.unreadable ?? null,
      ]),
  );
  return createHash('sha256').update(JSON.stringify(rows.toSorted())).digest('hex');
}
