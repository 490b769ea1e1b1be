import { createHash } from 'node:crypto';
import type { CallOptions, VCenter, VmSummary } from '@drydock/vsphere';
import { TemplateError } from '../errors.ts';
import { readAttribute, writeAttribute } from './attribute.ts';
import { BIRTH_KEY } from './birth-mark.ts';

/** Version 0.1.0 kept every holder in this one attribute. Now it only tells 0.1.0 to keep a template that it made: see {@link GUARD}. */
const LEGACY = 'drydock.pointers';

/** Version 0.1.0 keeps a template with pointers that it cannot read. */
const GUARD = 'see drydock.hold';

/** A file or a consumer that holds a template: the template stays for as long as it does. */
export interface Pointer {
  /** What a person calls it: `/srv/infra/image.auto.tfvars on ci-3`. */
  readonly what: string;
  /** RFC 3339. */
  readonly since: string;
}

/** Who holds a template. */
export interface Pointers {
  readonly named: readonly Pointer[];
  /** How many holders version 0.1.0 counted without keeping their names. */
  readonly more: number;
  /** Some text is torn or was not written by Drydock: it keeps the template. */
  readonly unreadable: boolean;
}

/** An attempt is lost only to a holder with the same attribute that writes at the same moment. */
const ATTEMPTS = 5;
const LONGEST = 100;

/**
 * The custom attribute of a holder. Custom attributes have no compare-and-set, so holders do not share one, up to the 4,096 that a vCenter may have to define.
 */
export function holdAttribute(what: string): string {
  return `drydock.hold.${sumOf(pointerName(what)).slice(0, 3)}`;
}

/** Reads who holds a template. A clone may inherit the attributes, but nobody holds the clone. */
export function readPointers(vm: VmSummary): Pointers {
  const holds = [...vm.customValues.keys()].filter((name) => /^drydock\.hold\.[0-9a-f]{3}$/.test(name));
  const entries = holds.map((name) => readEntries(vm, name));
  const legacy = vm.customValues.get(LEGACY) === GUARD ? NONE : readEntries(vm, LEGACY);
  const current = entries.flatMap(({ at }) => at);
  const superseded = new Set(current.map(({ what }) => what));
  const all = [...legacy.at.filter(({ what }) => !superseded.has(what)), ...current];
  return {
    named: all.filter(({ since }) => since !== ''),
    more: legacy.more,
    unreadable: [legacy, ...entries].some(({ unreadable }) => unreadable),
  };
}

/** The holders as clauses. */
export function pointerTexts({ named, more, unreadable }: Pointers): readonly string[] {
  return [
    ...named.map(({ what, since }) => `${what} (since ${since})`),
    ...(more === 0 ? [] : [`${more} more, whose names did not fit`]),
    ...(unreadable ? ['somebody whose record cannot be read'] : []),
  ];
}

/**
 * Records that `what` holds a template from now on, or no longer. A text that cannot be read is replaced only by whoever holds the template.
 */
export async function recordPointer(
  vcenter: VCenter,
  vm: VmSummary,
  change: { readonly what: string; readonly points: boolean; readonly now: Date },
  call: CallOptions,
): Promise<void> {
  const what = pointerName(change.what);
  const attribute = holdAttribute(what);
  const since = change.points ? change.now.toISOString().replace(/\.\d+Z$/, 'Z') : '';
  const guarded = (vm.customValues.get(LEGACY) ?? '') !== '' || vm.extraConfig.has(BIRTH_KEY);
  if (change.points && !guarded) await vcenter.setCustomValue(vm.ref, LEGACY, GUARD, call);
  let seen: VmSummary | undefined = vm;
  for (let attempt = 0; attempt < ATTEMPTS && seen !== undefined; attempt += 1) {
    const { at, unreadable } = readEntries(seen, attribute);
    const settled = readPointers(seen).named.some((one) => one.what === what) === change.points;
    if (settled || (unreadable && !change.points)) return;
    const others = at.filter((one) => one.what !== what);
    const inherited = readEntries(seen, LEGACY).at.some((one) => one.what === what);
    // An empty time says that the holder let go, although version 0.1.0's record still names it.
    const after = change.points || inherited ? [...others, { what, since }] : others;
    const value = { id: vm.instanceUuid ?? '', at: after.map((one) => [one.what, one.since]) };
    seen = await writeAttribute(vcenter, vm, attribute, value, call);
  }
  if (seen === undefined || readPointers(seen).named.some((one) => one.what === what) === change.points) return;
  const message = `${attribute} of ${vm.name} was overwritten ${ATTEMPTS} times while ${what} was recorded in it`;
  throw new TemplateError({ code: 'VCENTER_FAILED', message, retriable: true });
}

/** A holder as it is recorded: a long name is cut, and told from others by its check sum. */
export function pointerName(what: string): string {
  if (what.length <= LONGEST) return what;
  const sum = sumOf(what).slice(0, 8);
  return `${what.slice(0, LONGEST - sum.length - 1)}~${sum}`.toWellFormed();
}

interface Entries {
  readonly at: readonly Pointer[];
  readonly more: number;
  readonly unreadable: boolean;
}

const NONE: Entries = { at: [], more: 0, unreadable: false };

function readEntries(vm: VmSummary, attribute: string): Entries {
  const reading = readAttribute(vm.customValues, attribute);
  if (reading.kind === 'absent') return NONE;
  const { id, at, more = 0 } = fieldsOf(reading.kind === 'value' ? reading.value : undefined);
  if (typeof id === 'string' && vm.instanceUuid !== undefined && id.toLowerCase() !== vm.instanceUuid.toLowerCase())
    return NONE;
  const read = Array.isArray(at) ? at.flatMap(pointerOf) : [];
  const whole = typeof id === 'string' && Array.isArray(at) && read.length === at.length && Number.isInteger(more);
  return whole && Number(more) >= 0
    ? { at: read, more: Number(more), unreadable: false }
    : { ...NONE, unreadable: true };
}

function sumOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function pointerOf(given: unknown): readonly Pointer[] {
  const [what, since] = Array.isArray(given) ? (given as readonly unknown[]) : [];
  return typeof what === 'string' && typeof since === 'string' ? [{ what, since }] : [];
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
}
