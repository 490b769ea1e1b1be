import { createHash } from 'node:crypto';
import type { CallOptions, VCenter, VmSummary } from '@drydock/vsphere';
import { attributeParts, readAttribute, writeAttribute } from './attribute.ts';

/** The custom attribute in which it stands who points at a template. It can only make a template stay. */
export const POINTERS = 'drydock.pointers';

/** A file or a consumer that points at a template. */
export interface Pointer {
  /** How a person calls it: `/srv/infra/image.auto.tfvars on ci-3`. */
  readonly what: string;
  /** RFC 3339. */
  readonly since: string;
}

/** Who points at a template. */
export interface Pointers {
  readonly named: readonly Pointer[];
  /** How many there are besides, whose names did not fit. */
  readonly more: number;
  /** Something stands there that nobody of us wrote, or half of it: it keeps, and is left as it is. */
  readonly unreadable: boolean;
}

/** Of how many attributes a record may consist: each is defined for the whole vCenter. */
const PARTS = 4;
const LONGEST = 100;
const NONE: Pointers = { named: [], more: 0, unreadable: false };

/** Reads who points at a template. A clone may inherit the record, and nobody pointed at the clone. */
export function readPointers(vm: VmSummary): Pointers {
  const reading = readAttribute(vm.customValues, POINTERS);
  if (reading.kind === 'absent') return NONE;
  const { id, at, more = 0 } = fieldsOf(reading.kind === 'value' ? reading.value : undefined);
  if (typeof id === 'string' && vm.instanceUuid !== undefined && id.toLowerCase() !== vm.instanceUuid.toLowerCase())
    return NONE;
  const named = Array.isArray(at) ? at.flatMap(pointerOf) : [];
  const whole = typeof id === 'string' && Array.isArray(at) && named.length === at.length && Number.isInteger(more);
  return whole && Number(more) >= 0 ? { named, more: Number(more), unreadable: false } : { ...NONE, unreadable: true };
}

/** The record as clauses, one for each pointer. */
export function pointerTexts({ named, more, unreadable }: Pointers): readonly string[] {
  return [
    ...named.map(({ what, since }) => `${what} (since ${since})`),
    ...(more === 0 ? [] : [`${more} more, whose names did not fit`]),
    ...(unreadable ? ['somebody whose record cannot be read'] : []),
  ];
}

/**
 * Records that `what` points at a template from now on, or no longer. Where the names do not fit, they are counted, and the count never sinks: a template too
 * many stays rather than one too few. A record that cannot be read is left as it is, because it keeps.
 */
export async function recordPointer(
  vcenter: VCenter,
  vm: VmSummary,
  change: { readonly what: string; readonly points: boolean; readonly now: Date },
  call: CallOptions,
): Promise<void> {
  const { named, more, unreadable } = readPointers(vm);
  const what = pointerName(change.what);
  const known = named.some((one) => one.what === what);
  if (unreadable || known === change.points) return;
  const since = change.now.toISOString().replace(/\.\d+Z$/, 'Z');
  const record = (all: readonly Pointer[], count: number): object => ({
    id: vm.instanceUuid ?? '',
    at: all.map((one) => [one.what, one.since]),
    ...(count === 0 ? {} : { more: count }),
  });
  const without = named.filter((one) => one.what !== what);
  const withIt = record([...named, { what, since }], more);
  const fits = attributeParts(POINTERS, withIt).length <= PARTS;
  const value = change.points ? (fits ? withIt : record(named, more + 1)) : record(without, more);
  await writeAttribute(vcenter, vm, POINTERS, value, call);
}

/** A pointer as it is recorded: a long name is cut, and stays apart from others by its sum. */
export function pointerName(what: string): string {
  if (what.length <= LONGEST) return what;
  const sum = createHash('sha256').update(what).digest('hex').slice(0, 8);
  return `${what.slice(0, LONGEST - sum.length - 1)}~${sum}`.toWellFormed();
}

function pointerOf(given: unknown): readonly Pointer[] {
  const [what, since] = Array.isArray(given) ? (given as readonly unknown[]) : [];
  return typeof what === 'string' && typeof since === 'string' ? [{ what, since }] : [];
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
}
