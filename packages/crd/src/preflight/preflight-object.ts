import { causeRule, causeText, isHealBlocked, schemaAt } from '../diff/cause-rule.ts';
import { CLASS_MEANINGS, type Endpoint, type Finding, type FindingClass, sampleOf } from '../diff/finding.ts';
import { lostDefaults } from '../diff/shifts.ts';
import type { RuleId } from '../diff/step.ts';
import { isObject, type Json, type JsonObject, textOf } from '../schema/json.ts';
import { type Path, pathText } from '../schema/path.ts';
import type { CrdVersion, Schema } from '../schema/schema.ts';
import { traitsOf } from '../schema/traits.ts';
import type { Cause, Doubt } from '../validate/cause.ts';
import { reachOf } from '../validate/cel-reach.ts';
import { applyDefaults, type Filled } from '../validate/defaults.ts';
import { type Era, judge, type ServerEra, type Write } from '../validate/eras.ts';
import { isPlain } from '../validate/plain.ts';
import { prune } from '../validate/prune.ts';
import { untypable } from '../validate/typable.ts';
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
  /** Puts the digits of integers back that numbers cannot hold. Asked only about objects that need a closer look. */
  readonly exact?: (object: JsonObject) => JsonObject;
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
  /** Whether a value at a path is stored, though it equals the default of today. */
  readonly isStored: (object: JsonObject, path: Path, value: Json) => boolean;
}

/** Something that no property has: what a writer changes while it leaves alone what is there. */
const TOUCH = '\u0000touched';

/** Every verdict about one object. The object is as the live server shows it, or as it was stored; it is not changed. */
export function preflightObject(shown: JsonObject, sides: Sides, options: PreflightOptions): readonly Finding[] {
  const { now, storage, target } = sides;
  const { schema } = target;
  if (schema === undefined) return [];
  const { minor } = options.target;
  const plain = isPlain(shown, schema, minor);
  const object = plain ? shown : (options.exact?.(shown) ?? shown);
  const make = findingFor(object, sides, options);
  const { findings, read } = plain ? { read: object, findings: [] } : readBy(object, schema, make);
  if (!isObject(read)) return [];
  const isStored = (path: Path, value: Json): boolean => sides.isStored(object, path, value);
  const shifts = lostDefaults(object, now.schema ?? {}, schema, isStored).map(({ path, rule, value, what }) =>
    make('DEFAULT_SHIFT', rule, path, [], false, what, valued(value)),
  );
  const judged = verdicts(object, read, sides, options, make, plain || isPlain(read, schema, minor));
  const own = [...findings, ...shifts, ...judged];
  return storage === undefined ? own : [...own, ...throughStorage(object, read, { ...sides, storage }, own, options)];
}

/** What becomes of an object when it is read by a schema: what is pruned, and where a default takes the place of nothing, or of a null that is not allowed. */
function readBy(
  object: JsonObject,
  schema: Schema,
  make: Make,
  stored?: string,
): { readonly read: Json; readonly findings: readonly Finding[] } {
  const { pruned, value } = prune(object, schema);
  const filled: Filled[] = [];
  const read = applyDefaults(value, schema, filled);
  const ruled = (rule: RuleId): RuleId => (stored === undefined ? rule : 'N26');
  const where = stored === undefined ? 'the target' : `${stored}, which is stored`;
  const lost = pruned.map(({ path, value: gone }) =>
    make('PRUNE', ruled(pruneRule(gone)), path, WRITES, true, `no field of ${where}`, { value: gone }),
  );
  const others = filled.map(({ after, before, path }) => {
    if (after === undefined)
      return make('PRUNE', ruled('N13'), path, WRITES, true, `null is not allowed in ${where}, and is dropped`, {
        value: null,
      });
    const what =
      before === null
        ? `null is not allowed in ${where}: its default takes the place`
        : 'absent: another default fills it';
    return make('DEFAULT_SHIFT', ruled(before === null ? 'N13' : 'N22'), path, [], false, what, { value: after });
  });
  return { read, findings: [...lost, ...others] };
}

/** The ways of writing that change an object. */
const WRITES: readonly Endpoint[] = ['spec', 'status'];

/** What becomes of the object in the version that is stored then, where it is read in another one. */
function throughStorage(
  object: JsonObject,
  read: JsonObject,
  sides: Sides & { readonly storage: CrdVersion },
  told: readonly Finding[],
  options: PreflightOptions,
): readonly Finding[] {
  const { storage } = sides;
  const { schema } = storage;
  if (schema === undefined) return [];
  const plain = isPlain(read, schema, options.target.minor);
  const make = findingFor(object, { ...sides, target: storage }, options);
  // What the stored version does not know is gone as soon as somebody writes, whatever the version that he writes in knows.
  const { findings, read: stored } = plain ? { read, findings: [] } : readBy(read, schema, make, storage.name);
  if (!isObject(stored) || !storage.served) return findings;
  // Whoever writes through it is judged by it.
  const known = new Set(told.map((finding) => `${finding.class} ${finding.path} ${finding.what}`));
  const isClean = plain || isPlain(stored, schema, options.target.minor);
  const judged = verdicts(object, stored, { ...sides, target: storage }, options, make, isClean);
  return [...findings, ...judged.filter((finding) => !known.has(`${finding.class} ${finding.path} ${finding.what}`))];
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
  plain: boolean,
): readonly Finding[] {
  const { schema = {}, status: hasStatus } = target;
  const server = options.target;
  // A server that lets nothing alone: what a writer meets that changes the node, or an object that is created.
  const strict = plain ? NOTHING : byPath(strictly(read, schema, server.minor));
  const isClean = strict.causes.size === 0 && strict.doubts.size === 0;
  const ask: Ask = (write, era = server) => byPath(judge({ ...write, schema, hasStatus, everyRule: true }, era));
  const created =
    hasStatus && needsStatus(schema)
      ? ask({ endpoint: 'create', next: read }, { era: 'E0', minor: server.minor })
      : NOTHING;
  // What it has nothing against none refuses, but for rules that compare with the old value.
  const isOpen = !isClean || traitsOf(schema).transitions;
  const write = (endpoint: 'main' | 'status', half: string): Answer =>
    isOpen ? ask({ endpoint, next: read, stored: touched(read, half), plain }) : NOTHING;
  const main = write('main', 'metadata');
  const isFirst = read['status'] === undefined;
  const onStatus = !hasStatus
    ? NOTHING
    : isFirst
      ? firstStatus(read, now, target, ask, isOpen)
      : write('status', 'status');
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
    if (rule === 'N19' && !main.causes.has(key))
      findings.push(make('BLOCK_SSA', rule, cause.path, ['apply'], false, what));
  }
  // What refuses every write refuses an apply as well.
  const refused = new Set([...main.causes.values()].map(({ path }) => pathText(path)));
  for (const path of plain ? [] : untypable(read, schema))
    if (!refused.has(pathText(path)))
      findings.push(make('BLOCK_SSA', 'N11', path, ['apply'], false, causeText({ ...UNTYPED, path }, schema)));
  for (const cause of created.causes.values())
    if (![...strict.causes.values()].some((one) => isSameDemand(one, cause))) {
      const what = `${causeText(cause, schema)}: a creation drops the status`;
      findings.push(make('BLOCK_CREATE', causeRule(cause, now.schema, schema), cause.path, ['create'], false, what));
    }
  for (const doubt of new Map([...main.doubts, ...onStatus.doubts, ...strict.doubts]).values())
    if (!isSettled(doubt, now.schema, schema))
      findings.push(make('UNDECIDED', undecidedRule(doubt), doubt.path, ['spec', 'status'], false, doubt.why));
  return findings;
}

/** What was stored before a writer changed nothing but something that no property has. */
function touched(read: JsonObject, half: string): JsonObject {
  const of = read[half] ?? {};
  return isObject(of) ? { ...read, [half]: { ...of, [TOUCH]: true } } : read;
}

/** Whether a creation, which drops the status, can be refused for the lack of it. */
function needsStatus(schema: Schema): boolean {
  return (
    schema.required?.includes('status') === true || rootRules(schema).some(({ rule }) => asksStatus(rule) !== 'no')
  );
}

function rootRules(schema: Schema): NonNullable<Schema['x-kubernetes-validations']> {
  return schema['x-kubernetes-validations'] ?? [];
}

/** Whether a rule at the root looks for a status, or into it. */
function asksStatus(rule: string): 'no' | 'presence' | 'content' {
  const reach = reachOf(rule);
  const status = reach === true ? true : reach.get('status');
  if (status === undefined) return 'no';
  return status === true || status.size > 0 ? 'content' : 'presence';
}

/** What the first status of an object meets, whatever is in it: the rules of the rest, and fields that only the target requires. */
function firstStatus(
  read: JsonObject,
  now: CrdVersion,
  { schema = {} }: CrdVersion,
  ask: Ask,
  isOpen: boolean,
): Answer {
  const { status } = schema.properties ?? {};
  const before = now.schema?.properties?.['status']?.required ?? [];
  const isNew = (status?.required ?? []).some((name) => !before.includes(name));
  if (!isOpen && !isNew && !needsStatus(schema)) return NOTHING;
  const next = { ...read, status: applyDefaults({}, status) };
  const { causes, doubts } = ask({ endpoint: 'status', next, stored: read });
  const isFixed = ({ keyword, owner, path, rule = '' }: Cause): boolean =>
    path[0] === 'status'
      ? keyword === 'required' && owner.length === 1 && !before.includes(String(path[1]))
      : path.length > 0 || asksStatus(rule) !== 'content';
  const open = rootRules(schema).filter(({ rule }) => asksStatus(rule) === 'content');
  const unknown = open.map(
    ({ rule }): Doubt => ({
      path: [],
      keyword: 'x-kubernetes-validations',
      why: `the rule ${rule} looks into a status that is not there yet`,
      rule,
    }),
  );
  return byPath({
    causes: [...causes.values()].filter(isFixed),
    doubts: [...[...doubts.values()].filter(({ path }) => path[0] !== 'status'), ...unknown],
  });
}

/** Whether two causes are one demand of the schema, whatever is said of it. */
function isSameDemand(a: Cause, b: Cause): boolean {
  return a.keyword === b.keyword && a.rule === b.rule && pathText(a.path) === pathText(b.path);
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

type Ask = (write: Pick<Write, 'endpoint' | 'next' | 'stored' | 'plain'>, server?: ServerEra) => Answer;

/** What keeps a server from applying, as a cause. */
const UNTYPED: Cause = { reason: 'FieldValueTypeInvalid', path: [], owner: [], keyword: 'type', message: '' };

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
