import type { CallOptions, VCenter, VmSummary } from '@drydock/vsphere';
import { readAttribute, writeAttribute } from './attribute.ts';

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

/** How many pointers a template names. */
const NAMED = 8;
const LONGEST = 300;
const NONE: Pointers = { named: [], more: 0, unreadable: false };

/** Reads who points at a template. A clone may inherit the record, and nobody pointed at the clone. */
export function readPointers(vm: VmSummary): Pointers {
  const reading = readAttribute(vm.customValues, POINTERS);
  if (reading.kind === 'absent') return NONE;
  const { id, at, more = 0 } = record(reading.kind === 'value' ? reading.value : undefined);
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
  const what = change.what.slice(0, LONGEST);
  const known = named.some((one) => one.what === what);
  if (unreadable || known === change.points) return;
  const full = named.length >= NAMED;
  const since = change.now.toISOString().replace(/\.\d+Z$/, 'Z');
  const now = change.points ? [...named, ...(full ? [] : [{ what, since }])] : named.filter((one) => one.what !== what);
  const count = more + Number(change.points && full);
  const at = now.map((one) => [one.what, one.since]);
  await writeAttribute(
    vcenter,
    vm,
    POINTERS,
    { id: vm.instanceUuid ?? '', at, ...(count === 0 ? {} : { more: count }) },
    call,
  );
}

function pointerOf(given: unknown): readonly Pointer[] {
  const [what, since] = Array.isArray(given) ? (given as readonly unknown[]) : [];
  return typeof what === 'string' && typeof since === 'string' ? [{ what, since }] : [];
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
}
