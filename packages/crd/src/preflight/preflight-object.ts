import { causeRule, causeText, isHealBlocked, schemaAt } from '../diff/cause-rule.ts';
import { CLASS_MEANINGS, type Endpoint, type Finding, type FindingClass, sampleOf } from '../diff/finding.ts';
import { defaultShifts } from '../diff/shifts.ts';
import type { RuleId } from '../diff/step.ts';
import { isObject, type Json, type JsonObject, textOf } from '../schema/json.ts';
import { type Path, pathText } from '../schema/path.ts';
import type { CrdVersion, Schema } from '../schema/schema.ts';
import { traitsOf } from '../schema/traits.ts';
import type { Cause, Doubt } from '../validate/cause.ts';
import { applyDefaults } from '../validate/defaults.ts';
import { type Era, judge, type ServerEra } from '../validate/eras.ts';
import { prune } from '../validate/prune.ts';
import { specRemedy } from './remedy.ts';
import { isSettled } from './settled.ts';

/** How objects are judged. */
export interface PreflightOptions {
  /** The server that runs, and the one that will. A rollback may take the older server with it. */
  readonly now: ServerEra;
  readonly target: ServerEra;
  /** Put values into findings. They can be secrets. */
  readonly showValues?: boolean;
  /** Who answers to the conversion webhooks of the target, by definition; what is not in it is not known. */
  readonly backends?: ReadonlyMap<string, Backend>;
}

/** Who is behind a webhook. `why` is a clause: why nobody answers. */
export type Backend = { readonly answers: true } | { readonly answers: false; readonly why: string };

/** The two versions that an object lives under. */
export interface Sides {
  readonly crd: string;
  readonly now: CrdVersion;
  readonly target: CrdVersion;
  /** The version that it will be stored in, where that is another one than it is read in. */
  readonly storage?: CrdVersion;
}

/** Something that no property has: what a writer changes while it leaves alone what is there. */
const TOUCH = '\u0000touched';

/** Every verdict about one object. The object is as the live server shows it, or as it was stored; it is not changed. */
export function preflightObject(object: JsonObject, sides: Sides, options: PreflightOptions): readonly Finding[] {
  const { now, target } = sides;
  const schema = target.schema ?? {};
  const cut = prune(object, schema);
  const read = applyDefaults(cut.value, schema);
  if (!isObject(read)) return [];
  const make = findingFor(object, sides, options);
  const findings: Finding[] = [];
  for (const { path, value } of target.schema === undefined ? [] : cut.pruned)
    findings.push(make('PRUNE', pruneRule(value), path, ['spec', 'status'], true, 'no field of the target', { value }));
  if (target.schema === undefined) return findings;
  for (const shift of defaultShifts(object, now.schema ?? {}, schema))
    findings.push(make('DEFAULT_SHIFT', shift.rule, shift.path, [], false, shift.what, valued(shift.value)));
  findings.push(...verdicts(object, read, sides, options, make));
  if (sides.storage?.schema !== undefined)
    findings.push(...throughStorage(object, read, sides, sides.storage, findings, options));
  return findings;
}

/** What becomes of the object in the version that is stored then, where it is read in another one. */
function throughStorage(
  object: JsonObject,
  read: JsonObject,
  sides: Sides,
  storage: CrdVersion,
  told: readonly Finding[],
  options: PreflightOptions,
): readonly Finding[] {
  const { schema = {} } = storage;
  const cut = prune(read, schema);
  const make = findingFor(object, { ...sides, target: storage }, options);
  // What the stored version does not know is gone as soon as somebody writes, whatever the version that he writes in knows.
  const why = `no field of ${storage.name}, which is stored`;
  const lost = cut.pruned.map(({ path, value }) =>
    make('PRUNE', 'N26', path, ['spec', 'status'], true, why, { value }),
  );
  const stored = applyDefaults(cut.value, schema);
  if (!isObject(stored) || !storage.served) return lost;
  // Whoever writes through it is judged by it.
  const known = new Set(told.map((finding) => `${finding.class} ${finding.path} ${finding.what}`));
  const judged = verdicts(object, stored, { ...sides, target: storage }, options, make);
  return [...lost, ...judged.filter((finding) => !known.has(`${finding.class} ${finding.path} ${finding.what}`))];
}

type Make = (
  kind: FindingClass,
  rule: RuleId,
  path: Path,
  endpoints: readonly Endpoint[],
  blocking: boolean,
  what: string,
  more?: { readonly value?: Json; readonly remedy?: string },
) => Finding;

function findingFor(object: JsonObject, { crd, target }: Sides, options: PreflightOptions): Make {
  const metadata = isObject(object['metadata']) ? object['metadata'] : {};
  const { namespace, name, resourceVersion } = metadata;
  const eras: { readonly eraNow: Era; readonly eraTarget: Era } = {
    eraNow: options.now.era,
    eraTarget: options.target.era,
  };
  return (kind, rule, path, endpoints, blocking, what, { value, remedy } = {}) => ({
    class: kind,
    rule,
    crd,
    version: target.name,
    object: namespace === undefined ? textOf(name) : `${textOf(namespace)}/${textOf(name)}`,
    resourceVersion: textOf(resourceVersion),
    path: pathText(path),
    endpoints,
    blocking,
    ...eras,
    what,
    sample: sampleOf(value ?? valueAt(object, path), options.showValues === true),
    remedy: remedy ?? CLASS_MEANINGS[kind].remedy,
  });
}

/** The value at a path. */
export function valueAt(object: Json | undefined, path: Path): Json | undefined {
  let value = object;
  for (const part of path) {
    if (Array.isArray(value)) value = (value as readonly Json[])[Number(part)];
    else value = isObject(value) && Object.hasOwn(value, String(part)) ? value[String(part)] : undefined;
  }
  return value;
}

function pruneRule(value: Json): RuleId {
  return value === null ? 'N13' : 'N12';
}

/** Asks for each way of writing what the target's server will say to a writer that leaves alone what is there, and what it would say to one that does not. */
function verdicts(
  object: JsonObject,
  read: JsonObject,
  { crd, now, target }: Sides,
  options: PreflightOptions,
  make: Make,
): readonly Finding[] {
  const schema = target.schema ?? {};
  const hasStatus = target.status;
  const server = options.target;
  // A server that lets nothing alone: what a writer meets that changes the node, or an object that is created.
  const strict = byPath(strictly(read, schema, server.minor));
  // What it has nothing against none refuses, but for rules that compare with the old value.
  if (strict.causes.size === 0 && strict.doubts.size === 0 && !traitsOf(schema).transitions) return [];
  const metadata = isObject(read['metadata']) ? read['metadata'] : {};
  const touchedMain = { ...read, metadata: { ...metadata, [TOUCH]: true } };
  const status = read['status'];
  const touchedStatus = isObject(status) ? { ...read, status: { ...status, [TOUCH]: true } } : read;
  const ask = (endpoint: 'main' | 'status', stored: JsonObject): Answer =>
    byPath(judge({ endpoint, next: read, stored, schema, hasStatus, everyRule: true }, server));
  const main = ask('main', touchedMain);
  const onStatus = hasStatus && status !== undefined ? ask('status', touchedStatus) : NOTHING;
  const findings: Finding[] = [];
  for (const [key, cause] of new Map([...strict.causes, ...main.causes, ...onStatus.causes])) {
    const endpoints: Endpoint[] = [];
    if (main.causes.has(key)) endpoints.push('spec');
    if (onStatus.causes.has(key)) endpoints.push('status');
    const inStatus = cause.path[0] === 'status';
    const rule = causeRule(cause, now.schema, schema);
    const kind = classOf(cause, rule, endpoints, schema);
    const blocking = kind === 'LATENT' ? inStatus : kind !== 'BLOCK_CREATE' && kind !== 'BLOCK_SSA';
    // Only a status that nobody brings along is not part of a creation.
    const all: readonly Endpoint[] =
      endpoints.length > 0 ? endpoints : inStatus && hasStatus ? ['status'] : ['spec', 'create'];
    const what = causeText(cause, schema);
    const remedy = inStatus
      ? endpoints.includes('status')
        ? scalarRemedy(cause, schema)
        : undefined
      : kind === 'BLOCK_SPEC'
        ? specRemedy(object, crd, cause, now.schema, schema)
        : undefined;
    findings.push(
      make(kind, rule, cause.path, kind === 'BLOCK_CREATE' ? ['create'] : all, blocking, what, {
        ...(remedy === undefined ? {} : { remedy }),
      }),
    );
    if (rule === 'N11' || rule === 'N19') findings.push(make('BLOCK_SSA', rule, cause.path, ['apply'], false, what));
  }
  for (const doubt of new Map([...main.doubts, ...onStatus.doubts, ...strict.doubts]).values())
    if (!isSettled(doubt, now.schema, schema))
      findings.push(make('UNDECIDED', undecidedRule(doubt), doubt.path, ['spec', 'status'], false, doubt.why));
  return findings;
}

function valued(value: Json | undefined): { readonly value?: Json } {
  return value === undefined ? {} : { value };
}

/** An item of a list can be dropped; what is one value, and says something alone, cannot. */
function scalarRemedy({ keyword, path }: Cause, schema: Schema): string | undefined {
  const name = path.at(-1);
  if (keyword !== 'enum' || typeof name !== 'string') return undefined;
  const required = schemaAt(schema, path.slice(0, -1))?.schema.required?.includes(name) === true;
  const why = required ? 'it is required' : 'what it means would be lost';
  return `It cannot be healed by dropping it: ${why}. Let its writer choose a value that both have before the swap, or go through a bridge (drydock crd bridge).`;
}

function classOf(cause: Cause, rule: RuleId, endpoints: readonly Endpoint[], schema: Schema): FindingClass {
  if (endpoints.length === 0) return rule === 'N19' ? 'BLOCK_CREATE' : 'LATENT';
  if (rule === 'N36' || isHealBlocked(cause, schema)) return 'IMMUTABLE';
  if (rule === 'N16') return 'ROOT_CEL';
  if (rule === 'N10') return 'REQUIRED_ROOT';
  const inStatus = cause.path[0] === 'status';
  if (inStatus && endpoints.includes('status')) return 'BLOCK_STATUS';
  return endpoints.includes('spec') ? 'BLOCK_SPEC' : 'BLOCK_STATUS';
}

interface Answer {
  readonly causes: ReadonlyMap<string, Cause>;
  readonly doubts: ReadonlyMap<string, Doubt>;
}

const NOTHING: Answer = { causes: new Map(), doubts: new Map() };

function byPath({ causes, doubts }: { readonly causes: readonly Cause[]; readonly doubts: readonly Doubt[] }): Answer {
  // That rules were not looked at is said of the schema's errors already.
  const real = causes.filter(({ keyword }) => keyword !== 'unchecked');
  return {
    causes: new Map(real.map((cause) => [`${pathText(cause.path)} ${cause.keyword} ${cause.message}`, cause])),
    doubts: new Map(doubts.map((doubt) => [`${pathText(doubt.path)} ${doubt.keyword}`, doubt])),
  };
}

/** The whole object, status included, without a stored one to excuse anything. */
function strictly(
  read: JsonObject,
  schema: Schema,
  minor: number,
): { readonly causes: readonly Cause[]; readonly doubts: readonly Doubt[] } {
  return judge({ endpoint: 'create', next: read, schema, hasStatus: false, everyRule: true }, { era: 'E0', minor });
}

function undecidedRule({ keyword }: Doubt): RuleId {
  return keyword === 'x-kubernetes-validations' ? 'N15' : 'N6';
}
