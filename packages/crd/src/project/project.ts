import { valueAt } from '../preflight/preflight-object.ts';
import { equal, isList, isObject, type Json, type JsonObject } from '../schema/json.ts';
import { type Path, pathText } from '../schema/path.ts';
import type { CrdVersion, Schema } from '../schema/schema.ts';
import type { Cause } from '../validate/cause.ts';
import { applyDefaults } from '../validate/defaults.ts';
import { ERAS, judge } from '../validate/eras.ts';
import { prune } from '../validate/prune.ts';
import { type Degraded, degrade, type Ladder } from './degrade.ts';
import { placeText, type Quarantined } from './quarantine.ts';

/** What must never be touched: without it nobody knows the state of things. Paths below `status`. Only what a condition says in words, its message and its reason, is shortened where it is too long. */
export const CORE_FIELDS: readonly string[] = [
  'conditions',
  'observedGeneration',
  'desired',
  'history[0]',
  'versionHash',
];

/** What a status is cut to fit. */
export interface ProjectOptions {
  /** As the live server has it, in the version that is written. */
  readonly live: CrdVersion;
  /** Kubernetes 1.`minor` of the server; decides which formats are known. Default: the newest. */
  readonly minor?: number;
  /** Default {@link CORE_FIELDS}. */
  readonly core?: readonly string[];
  /** What the server refused in spite of the local check, until the schema changes, in the order of the refusals. */
  readonly refused?: readonly Refused[];
}

/** A refusal by the server. It holds for the value alone: another one in its place may be legal. */
export interface Refused extends Cause {
  /** What was sent at the owner. */
  readonly value: Json | undefined;
  /** Refusals of one write have the same number, those of a later one a higher. */
  readonly round: number;
}

/** A status that the live schema takes. */
export interface Projection {
  readonly status: JsonObject;
  /** What was left out. The intent is never changed: it is projected anew each time. */
  readonly quarantined: readonly Quarantined[];
  /** Faults that no loss of ours can cure: in the core, at the root, or in the spec. The server decides about them. */
  readonly stuck: readonly Cause[];
  /** Of the refusals those whose value is still meant. */
  readonly heeded: readonly Refused[];
}

/** Each step takes something away, so this is never reached; it bounds a mistake of ours. */
const MAX_STEPS = 10_000;

/** Faults of a value alone: taking one away makes no other right or wrong, so all of them go at once. */
const OF_VALUE: ReadonlySet<string> = new Set([
  'enum',
  'format',
  'maximum',
  'maxLength',
  'minimum',
  'minLength',
  'multipleOf',
  'pattern',
  'type',
]);

/**
 * Cuts the status that somebody intends to what the live schema accepts; where there are others that it must keep within, to what all accept, as far as the live one takes that. Nothing is thrown
 * for any input.
 */
export function project(intent: JsonObject, object: JsonObject, options: ProjectOptions): Projection {
  const first = projectOn(intent, object, options);
  const { also = [] } = options.live;
  // One of them that has nothing in common with the rest must not take the others along.
  for (let count = also.length; count > 0; count -= 1) {
    const found = withinAll(first, object, also.slice(0, count), options);
    if (found !== undefined) return found;
  }
  return first;
}

/** What one schema needs the other may not know: such a pair has nothing in common, and two rounds show it. */
const ROUNDS = 2;

/** What is left in all of these schemas; undefined where the live one refuses what the others leave. */
function withinAll(
  first: Projection,
  object: JsonObject,
  also: readonly Schema[],
  options: ProjectOptions,
): Projection | undefined {
  const quarantined = [...first.quarantined];
  let { status } = first;
  for (let round = 0; round < ROUNDS + also.length; round += 1) {
    const target = throughEach(status, object, also, options);
    const back = projectOn(target.status, object, options);
    if (back.stuck.length > first.stuck.length) return undefined;
    const all = { status: back.status, stuck: back.stuck, heeded: first.heeded };
    // What the last one leaves the ones before it may refuse.
    const isEach = also.length === 1 || equal(throughEach(back.status, object, also, options).status, back.status);
    if (isEach && equal(back.status, target.status))
      return { ...all, quarantined: [...quarantined, ...target.quarantined, ...back.quarantined] };
    // What a default of the live schema fills in again, and the other one has no place for, is in nobody's way.
    if (equal(back.status, status) && target.quarantined.every(({ why }) => why === NO_FIELD)) {
      const filled = new Map(target.quarantined.map(({ path, value }) => [path, value]));
      const lost = quarantined.filter(({ path, value }) => !filled.has(path) || !equal(filled.get(path), value));
      return { ...all, quarantined: lost };
    }
    quarantined.push(...target.quarantined, ...back.quarantined);
    ({ status } = back);
  }
  return undefined;
}

function throughEach(
  intent: JsonObject,
  object: JsonObject,
  schemas: readonly Schema[],
  options: ProjectOptions,
): Pick<Projection, 'status' | 'quarantined'> {
  const quarantined: Quarantined[] = [];
  let status = intent;
  for (const schema of schemas) {
    const cut = projectOn(status, object, { ...options, live: { ...options.live, schema }, refused: [] });
    quarantined.push(...cut.quarantined);
    ({ status } = cut);
  }
  return { status, quarantined };
}

const NO_FIELD = 'the live schema has no such field';

function projectOn(intent: JsonObject, object: JsonObject, options: ProjectOptions): Projection {
  const { live, minor = ERAS.E2.minor, core = CORE_FIELDS, refused = [] } = options;
  const { schema } = live;
  if (schema === undefined) return { status: intent, quarantined: [], stuck: [], heeded: [] };
  const ladder: Ladder = { schema, minor, isCore: (path) => isCore(path, core) };
  const whole: JsonObject = { ...object, status: intent };
  const cut = prune(whole, schema);
  const quarantined: Quarantined[] = cut.pruned
    .filter(({ path }) => path[0] === 'status')
    .map(({ path, value }) => ({ path: placeText(path), value, why: NO_FIELD }));
  let next = read(cut.value, schema) ?? whole;
  let stuck: readonly Cause[] = [];

  /** Takes away what is illegal, until nothing is, or nothing of it can go. */
  const settle = (): void => {
    for (let count = 0; count < MAX_STEPS; count += 1) {
      const found = faults(next, object, live, minor);
      const down = stepDown(next, found, ladder);
      stuck = down.stuck;
      if (down.lost.length === 0) return;
      // A default may fill the gap, and what it fills is judged again.
      const filled = read(down.object, schema) ?? down.object;
      if (equal(filled, next)) {
        stuck = found;
        return;
      }
      next = filled;
      quarantined.push(...down.lost);
    }
  };

  settle();
  const heeded: Refused[] = [];
  // Each refusal names places of what was sent then: what is left after all that was refused before.
  for (const [, round] of Map.groupBy(refused, (cause) => cause.round)) {
    for (const cause of round.toSorted(deepestFirst)) {
      const owner = placeOf(next, cause);
      const path = owner === undefined ? [] : [...owner, ...cause.path.slice(cause.owner.length)];
      const step = owner === undefined ? undefined : degrade(next, { ...cause, owner, path }, ladder);
      if (owner !== undefined) heeded.push(cause);
      if (step === undefined) continue;
      next = read(step.object, schema) ?? next;
      quarantined.push(...step.lost);
    }
    settle();
  }
  const status = next['status'];
  return { status: isObject(status) ? status : {}, quarantined, stuck, heeded };
}

/** Cures the first fault that can be cured, and with it, where it is one of a value alone, all others of that kind. */
function stepDown(
  judged: JsonObject,
  found: readonly Cause[],
  ladder: Ladder,
): Degraded & { readonly stuck: readonly Cause[] } {
  const [lost, stuck]: [Quarantined[], Cause[]] = [[], []];
  let object = judged;
  for (const cause of found) {
    const ofValue = OF_VALUE.has(cause.keyword);
    if (lost.length > 0 && !(ofValue && isThere(object, cause.owner, valueAt(judged, cause.owner)))) continue;
    const step = degrade(object, cause, ladder);
    if (step === undefined) {
      if (lost.length === 0) stuck.push(cause);
      continue;
    }
    object = step.object;
    lost.push(...step.lost);
    if (!ofValue) break;
  }
  return { object, lost, stuck };
}

function read(value: Json, schema: NonNullable<CrdVersion['schema']>): JsonObject | undefined {
  const filled = applyDefaults(value, schema);
  return isObject(filled) ? filled : undefined;
}

/**
 * Everything that a server which tolerates nothing would say, rules behind other errors included: another server may tolerate those errors. The last places come first, so that what is
 * taken out of a list does not move what is to be taken out next.
 */
function faults(next: JsonObject, object: JsonObject, live: CrdVersion, minor: number): readonly Cause[] {
  const { schema = {}, status: hasStatus } = live;
  const stored = hasStatus ? object : undefined;
  const endpoint = hasStatus ? 'status' : 'create';
  const { causes } = judge({ endpoint, next, stored, schema, hasStatus, everyRule: true }, { era: 'E0', minor });
  return causes.filter(({ keyword }) => keyword !== 'unchecked').toSorted(deepestFirst);
}

function deepestFirst(a: Cause, b: Cause): number {
  for (let index = 0; index < Math.min(a.owner.length, b.owner.length); index += 1) {
    const [x, y] = [a.path[index], b.path[index]];
    if (typeof x === 'number' && typeof y === 'number' && x !== y) return y - x;
  }
  return b.path.length - a.path.length;
}

/** Where what the server refused is now; undefined: it is not meant any more, and what stands in its place was not refused. */
function placeOf(next: JsonObject, { owner, value }: Refused): Path | undefined {
  if (isThere(next, owner, value)) return owner;
  const list = typeof owner.at(-1) === 'number' ? valueAt(next, owner.slice(0, -1)) : undefined;
  const index = isList(list) ? list.findIndex((item) => equal(item, value)) : -1;
  return index < 0 ? undefined : [...owner.slice(0, -1), index];
}

function isThere(object: JsonObject, path: Path, value: Json | undefined): boolean {
  const now = valueAt(object, path);
  return now === value || (now !== undefined && equal(now, value));
}

/** Whether a path lies in the core. */
function isCore(path: Path, core: readonly string[]): boolean {
  if (path[0] !== 'status') return true;
  if (path.length === 1) return false;
  const text = pathText(path.slice(1));
  return core.some((field) => text === field || text.startsWith(`${field}.`) || text.startsWith(`${field}[`));
}
