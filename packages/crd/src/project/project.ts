import { equal, isObject, type Json, type JsonObject } from '../schema/json.ts';
import { type Path, pathText } from '../schema/path.ts';
import type { CrdVersion } from '../schema/schema.ts';
import type { Cause } from '../validate/cause.ts';
import { applyDefaults } from '../validate/defaults.ts';
import { ERAS, judge } from '../validate/eras.ts';
import { prune } from '../validate/prune.ts';
import { type Degraded, degrade, type Ladder } from './degrade.ts';
import { placeText, type Quarantined } from './quarantine.ts';

/** What must never be touched: without it nobody knows the state of things. Paths below `status`. */
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
  /** What the server refused in spite of the local check, until the schema changes. */
  readonly refused?: readonly Cause[];
}

/** A status that the live schema takes. */
export interface Projection {
  readonly status: JsonObject;
  /** What was left out. The intent is never changed: it is projected anew each time. */
  readonly quarantined: readonly Quarantined[];
  /** Faults that no loss of ours can cure: in the core, at the root, or in the spec. The server decides about them. */
  readonly stuck: readonly Cause[];
}

/** Each step takes something away, so this is never reached; it bounds a mistake of ours. */
const MAX_STEPS = 10_000;

/** Cuts the status that somebody intends to what the live schema accepts. Nothing is thrown for any input. */
export function project(intent: JsonObject, object: JsonObject, options: ProjectOptions): Projection {
  const { live, minor = ERAS.E2.minor, core = CORE_FIELDS, refused = [] } = options;
  const { schema } = live;
  if (schema === undefined) return { status: intent, quarantined: [], stuck: [] };
  const ladder: Ladder = { schema, minor, isCore: (path) => isCore(path, core) };
  const whole: JsonObject = { ...object, status: intent };
  const cut = prune(whole, schema);
  const quarantined: Quarantined[] = cut.pruned
    .filter(({ path }) => path[0] === 'status')
    .map(({ path, value }) => ({ path: placeText(path), value, why: 'the live schema has no such field' }));
  let next = read(cut.value, schema) ?? whole;
  const take = (step: Degraded): void => {
    // A default may fill the gap, and what it fills is judged again.
    next = read(step.object, schema) ?? next;
    quarantined.push(...step.lost);
  };
  for (const cause of refused.toSorted(deepestFirst)) {
    const step = stillThere(next, whole, cause) ? degrade(next, cause, ladder) : undefined;
    if (step !== undefined) take(step);
  }
  let stuck: readonly Cause[] = [];
  for (let count = 0; count < MAX_STEPS; count += 1) {
    const found = faults(next, object, live, minor);
    stuck = [];
    let step: Degraded | undefined;
    for (const cause of found) {
      step = degrade(next, cause, ladder);
      if (step !== undefined) break;
      stuck = [...stuck, cause];
    }
    if (step === undefined) break;
    const before = next;
    take(step);
    if (equal(before, next)) {
      quarantined.splice(quarantined.length - step.lost.length);
      stuck = found;
      break;
    }
  }
  const status = next['status'];
  return { status: isObject(status) ? status : {}, quarantined, stuck };
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

/** Whether what the server refused is still what is to be written there: an index that moved means another value. */
function stillThere(next: JsonObject, sent: JsonObject, { owner }: Cause): boolean {
  let [a, b]: [Json | undefined, Json | undefined] = [next, sent];
  for (const part of owner) {
    a = childAt(a, part);
    b = childAt(b, part);
  }
  return b === undefined || a === undefined || equal(a, b);
}

function childAt(value: Json | undefined, part: string | number): Json | undefined {
  if (Array.isArray(value)) return (value as readonly Json[])[Number(part)];
  return isObject(value) && Object.hasOwn(value, String(part)) ? value[String(part)] : undefined;
}

/** Whether a path lies in the core. */
function isCore(path: Path, core: readonly string[]): boolean {
  if (path[0] !== 'status') return true;
  if (path.length === 1) return false;
  const text = pathText(path.slice(1));
  return core.some((field) => text === field || text.startsWith(`${field}.`) || text.startsWith(`${field}[`));
}
