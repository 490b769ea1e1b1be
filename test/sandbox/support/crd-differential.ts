import {
  applyDefaults,
  type Cause,
  type Crd,
  ERAS,
  type Era,
  equal,
  type Json,
  type JsonObject,
  judge,
  type Path,
  prune,
  readCrd,
  type Schema,
  type Write,
} from '@drydock/crd';
import * as fc from 'fast-check';
import { resourceSchemas, valuesFor } from './crd-arbitrary.ts';
import { type Answer, CRDS, type CrdServer, headOf, PROBE, pathOf, type ServerCause, tagged } from './crd-server.ts';
import { SHAPES } from './crd-shapes.ts';

/** A write that is tried on a stored object. */
export interface Trial {
  readonly endpoint: Write['endpoint'];
  /** Without the head. */
  readonly sent: JsonObject;
}

/** An object that is stored before its definition narrows, and what is tried on it afterwards. */
export interface Subject {
  readonly name: string;
  readonly raw: JsonObject;
  readonly trials: readonly Trial[];
}

/** A definition with its subjects. */
export interface Kind {
  readonly crd: Crd;
  readonly schema: Schema;
  readonly subjects: readonly Subject[];
}

/** Where the server and this project's validator do not say the same. */
export interface Disagreement {
  readonly era: Era;
  readonly endpoint: string;
  readonly ours: readonly string[];
  readonly server: readonly string[];
  readonly messages: readonly string[];
  readonly stored: Json;
  readonly sent: Json;
  readonly schema: Schema;
}

/** What came of all trials of an era. */
export interface Outcome {
  readonly cases: number;
  /** Accepted by the server. */
  readonly accepted: number;
  /** Only the server can tell: what we say must be part of what it says. */
  readonly undecided: number;
  readonly disagreements: readonly Disagreement[];
}

/** A resource whose schema is one of {@link resourceSchemas}. */
export function generatedCrd(index: string, schema: Schema): Crd {
  const names = {
    plural: `things${index}`,
    singular: `thing${index}`,
    kind: `Thing${index}`,
    listKind: `Thing${index}List`,
  };
  const version = { name: 'v1', served: true, storage: true, subresources: { status: {} } };
  const manifest = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${names.plural}.differ.drydock.dev` },
    spec: {
      group: 'differ.drydock.dev',
      scope: 'Cluster',
      names,
      versions: [{ ...version, schema: { openAPIV3Schema: schema } }],
    },
  };
  return readCrd(manifest as unknown as Json, names.plural);
}

/** `count` generated kinds, the same for the same seed. */
export function generatedKinds(seed: number, count: number, prefix = ''): readonly Kind[] {
  return fc
    .sample(resourceSchemas, { seed, numRuns: count })
    .map((schema, index) => kindOf(generatedCrd(`${prefix}${index}`, schema), seed + index, 5, 3));
}

/** Shapes by the dozen, each a field of both halves: each of its values is stored in an object of its own, and `others` of the others take its place. */
export function shapeKinds(seed: number, others: number): readonly Kind[] {
  const dozens = Array.from({ length: Math.ceil(SHAPES.length / 12) }, (_, at) => SHAPES.slice(at * 12, at * 12 + 12));
  return dozens.map((shapes, index): Kind => {
    const properties = Object.fromEntries(shapes.map(({ schema }, at) => [`f${at}`, schema]));
    const half: Schema = { type: 'object', properties };
    const crd = generatedCrd(`shapes${index}`, { type: 'object', properties: { spec: half, status: half } });
    const subjects = shapes.flatMap(({ values }, field) =>
      values.map((value, at): Subject => {
        const of = (other: Json): JsonObject => ({ [`f${field}`]: other });
        const raw = { spec: of(value), status: of(value) };
        const changed = { ...raw, metadata: { labels: { changed: 'yes' } } };
        const next = Array.from({ length: Math.min(others, values.length - 1) }, (_, step): readonly Trial[] => {
          const other = of(values[(at + 1 + ((seed + step) % (values.length - 1))) % values.length] ?? null);
          return [
            { endpoint: 'main', sent: { spec: other } },
            { endpoint: 'status', sent: { spec: {}, status: other } },
          ];
        });
        const same: readonly Trial[] = [
          { endpoint: 'main', sent: changed },
          { endpoint: 'create', sent: raw },
        ];
        return { name: `one-${field}-${at}`, raw, trials: [...same, ...next.flat()] };
      }),
    );
    return { crd, schema: partsOf(crd).schema, subjects };
  });
}

/** A real definition as a kind of its own group, so that several releases of it can be there at once. */
export function realKind(crd: Crd, prefix: string, seed: number): Kind {
  const group = `${prefix}.${crd.group}`;
  const manifest = structuredClone(crd.manifest) as {
    metadata: object;
    spec: { versions: { name: string; subresources?: { status?: object } }[] };
  };
  const version = crd.versions.find(({ storage }) => storage)?.name;
  const spec = {
    ...manifest.spec,
    group,
    conversion: { strategy: 'None' },
    versions: manifest.spec.versions
      .filter(({ name }) => name === version)
      .map(({ subresources: { status } = {}, ...rest }) => ({
        ...rest,
        // Without the scale: what a server asks of its paths is no matter of the schema.
        ...(status === undefined ? {} : { subresources: { status } }),
      })),
  };
  const metadata = { name: `${crd.plural}.${group}` };
  return kindOf(readCrd({ ...manifest, metadata, spec } as unknown as Json, prefix), seed, 3, 2);
}

function kindOf(crd: Crd, seed: number, subjects: number, rounds: number): Kind {
  const { hasStatus, schema } = partsOf(crd);
  const values = fc.sample(fc.tuple(...Array.from({ length: rounds + 1 }, () => wholes(schema)), dice), {
    seed,
    numRuns: subjects,
  }) as unknown as readonly (readonly [...JsonObject[], readonly number[]])[];
  return {
    crd,
    schema,
    subjects: values.map((parts, index) => {
      const numbers = parts.at(-1) as readonly number[];
      const [raw = {}, ...others] = parts.slice(0, -1) as readonly JsonObject[];
      const trials = others.flatMap((other, round): readonly Trial[] => {
        const near = graft(raw, other, numbers, round * 7) as JsonObject;
        const writes: Trial[] = [
          { endpoint: 'main', sent: { ...near, metadata: { labels: { changed: 'yes' } } } },
          { endpoint: 'create', sent: round === 0 ? raw : other },
        ];
        // A write that changes nothing is none.
        if (hasStatus && !equal(near['status'], raw['status'])) writes.push({ endpoint: 'status', sent: near });
        return writes;
      });
      const label: Trial = { endpoint: 'main', sent: { ...raw, metadata: { labels: { changed: 'yes' } } } };
      return { name: `one-${index}`, raw, trials: [label, ...trials] };
    }),
  };
}

const dice: fc.Arbitrary<readonly number[]> = fc.array(fc.nat(1000), { minLength: 32, maxLength: 32 });

/** Objects of a resource: of its head only what a writer may choose. */
function wholes(schema: Schema): fc.Arbitrary<JsonObject> {
  const { apiVersion: _version, kind: _kind, metadata: _metadata, ...properties } = schema.properties ?? {};
  const parts = Object.entries(properties).map(([key, of]) =>
    fc
      .tuple(fc.integer({ min: 0, max: 9 }), valuesFor({ nullable: false, ...of }))
      .map(([roll, value]) => (roll === 0 ? [] : [[key, value] as const])),
  );
  return fc.tuple(...parts).map((fields) => Object.fromEntries(fields.flat()));
}

/** Some of `b` in the place of some of `a`: what a writer that leaves most of an object alone sends. */
function graft(a: Json, b: Json, numbers: readonly number[], at: number): Json {
  const roll = numbers[at % numbers.length] ?? 0;
  if (roll < 60) return b;
  if (Array.isArray(a)) {
    if (roll < 200) return a.toReversed();
    if (roll < 300) return a.slice(1);
    if (roll < 420 && Array.isArray(b)) return [...a, ...b.slice(0, 1)];
    return a.map((item: Json, index) =>
      roll < 600
        ? graft(item, (Array.isArray(b) ? (b as Json[])[index] : undefined) ?? item, numbers, at + index + 1)
        : item,
    );
  }
  if (!isMap(a) || !isMap(b)) return roll < 150 ? b : a;
  const keys = [...new Set([...Object.keys(a), ...Object.keys(b)])];
  const entries = keys.flatMap((key, index): readonly (readonly [string, Json])[] => {
    const [x, y] = [ownOf(a, key), ownOf(b, key)];
    if (x !== undefined && y !== undefined) return [[key, graft(x, y, numbers, at + index + 3)]];
    const one = numbers[(at + index) % numbers.length] ?? 0;
    if (x !== undefined) return one < 150 ? [] : [[key, x]];
    return one < 200 && y !== undefined ? [[key, y]] : [];
  });
  return Object.fromEntries(entries);
}

function ownOf(of: JsonObject, key: string): Json | undefined {
  return Object.hasOwn(of, key) ? of[key] : undefined;
}

function isMap(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function partsOf(crd: Crd): { readonly schema: Schema; readonly hasStatus: boolean } {
  const version = crd.versions.find(({ storage }) => storage);
  return { schema: version?.schema ?? {}, hasStatus: version?.status === true };
}

/** The same resource with a schema that takes anything. */
function wide(crd: Crd): Crd {
  const manifest = structuredClone(crd.manifest) as { spec: { versions: object[] } };
  const anything = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  manifest.spec.versions = manifest.spec.versions.map((version) => ({
    ...version,
    schema: { openAPIV3Schema: anything },
  }));
  return readCrd(manifest as unknown as Json, crd.name);
}

/** Calls `work` for all, eight at a time. */
export async function eachOf<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const queue = items.values();
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      for (const item of queue) await work(item);
    }),
  );
}

/** Stores all subjects while their definitions take anything, and narrows the definitions. */
export async function prepare(server: CrdServer, kinds: readonly Kind[]): Promise<void> {
  await store(server, kinds);
  await Promise.all(kinds.map(({ crd }) => server.install(crd)));
}

/** Stores all subjects under definitions that take anything. */
export async function store(server: CrdServer, kinds: readonly Kind[]): Promise<void> {
  await Promise.all(kinds.map(({ crd }) => server.install(wide(crd))));
  const subjects = kinds.flatMap(({ crd, subjects: all }) => all.map((subject) => ({ crd, subject })));
  await eachOf(subjects, async ({ crd, subject: { name, raw } }) => {
    const made = await server.call({ method: 'POST', path: pathOf(crd), body: { ...raw, ...headOf(crd, name) } });
    if (made.status !== 201) throw new Error(`${crd.name} ${name} is not stored: ${made.message}`);
    if (raw['status'] === undefined || !partsOf(crd).hasStatus) return;
    const body = { ...made.object, status: raw['status'] };
    const written = await server.call({ method: 'PUT', path: pathOf(crd, name, '/status'), body });
    if (written.status !== 200) throw new Error(`the status of ${crd.name} ${name} is not stored: ${written.message}`);
  });
}

/** Removes the definitions, and with them all objects. */
export async function remove(server: CrdServer, kinds: readonly Kind[]): Promise<void> {
  await eachOf(kinds, async ({ crd }) => {
    await server.call({ method: 'DELETE', path: `${CRDS}/${crd.name}` });
  });
}

/** An object as it is read through its definition. */
function reader(schema: Schema): (object: JsonObject) => JsonObject {
  return (object) => applyDefaults(prune(object, schema).value, schema) as JsonObject;
}

/** A stored object as this project says that a server shows it. */
export function viewOf({ crd }: Kind, { name, raw }: Subject): JsonObject {
  return reader(partsOf(probed(crd)).schema)({ ...raw, ...headOf(crd, name) });
}

/** Tries everything on a server of this era, as dry runs, and compares. */
export async function compare(server: CrdServer, kinds: readonly Kind[], era: Era): Promise<Outcome> {
  const disagreements: Disagreement[] = [];
  const count = { cases: 0, accepted: 0, undecided: 0 };
  const subjects = kinds.flatMap((kind) => kind.subjects.map((subject) => ({ kind, subject })));
  await eachOf(subjects, async ({ kind: { crd }, subject }) => {
    const { schema, hasStatus } = partsOf(probed(crd));
    const { object: seen } = await server.call({ method: 'GET', path: pathOf(crd, subject.name) });
    const { managedFields: _managed, ...metadata } = seen['metadata'] as JsonObject;
    const read = reader(schema);
    const { metadata: _name, ...head } = headOf(crd, subject.name);
    const stored = read({ ...subject.raw, ...head, metadata });
    const note = (endpoint: string, sent: Json, ours: readonly string[], theirs: readonly string[], answer?: Answer) =>
      disagreements.push({
        era,
        endpoint,
        ours,
        server: theirs,
        messages: answer?.causes.map(({ message }) => message) ?? [],
        stored: subject.raw,
        sent,
        schema,
      });
    const theirView = JSON.stringify(sorted({ ...seen, metadata }));
    const ourView = JSON.stringify(sorted(stored));
    if (theirView !== ourView) note('read', subject.raw, [ourView], [theirView]);
    for (const { endpoint, sent } of subject.trials) {
      const { metadata: more, ...half } = sent as { readonly metadata?: JsonObject } & JsonObject;
      const meta = endpoint === 'create' ? { name: `${subject.name}-made` } : { ...metadata, ...more };
      const body = { ...half, ...head, metadata: meta } as JsonObject;
      const target = {
        create: pathOf(crd),
        main: pathOf(crd, subject.name),
        status: pathOf(crd, subject.name, '/status'),
      }[endpoint];
      const method = endpoint === 'create' ? 'POST' : 'PUT';
      const answer = await server.call({ method, path: `${target}?dryRun=All`, body });
      const before = endpoint === 'create' ? {} : { stored: { ...seen, metadata } as JsonObject };
      const { causes, doubts } = judge({ endpoint, next: read(body), ...before, schema, hasStatus }, ERAS[era]);
      const named = causes.map((cause) => `${cause.reason} ${fieldOf(cause, endpoint, era)}`);
      const ours = [...new Set(named)].toSorted();
      const theirs =
        answer.status < 300
          ? []
          : answer.status === 422
            ? textsOf(answer.causes.map(({ reason, field }) => [reason, withDots(field)]))
            : [`${answer.status} ${answer.message}`];
      count.cases++;
      if (answer.status < 300) count.accepted++;
      if (doubts.length > 0) count.undecided++;
      const same =
        doubts.length > 0 || answer.causes.some(isComposite)
          ? isPart(causes, named, answer, theirs)
          : ours.join() === theirs.join();
      if (!same) note(endpoint, sent, ours, theirs, answer);
    }
  });
  return { ...count, disagreements };
}

/**
 * A failed junctor is named at the root of what is validated, and with it come causes of the branch that fits best, by a count of checks that is the server's own affair; they may keep it from evaluating rules.
 */
export function isComposite({ message }: ServerCause): boolean {
  return /must (?:not )?validate .*\((?:allOf|anyOf|oneOf|not)\)/.test(message);
}

/** The cause that says that rules were not asked. */
export function isUnchecked({ message }: ServerCause): boolean {
  return message.includes('validation rules were not checked');
}

/** Of such cases, and of those that we cannot decide, it is asked that the verdict is the same and that what we name is named. */
function isPart(causes: readonly Cause[], ours: readonly string[], answer: Answer, theirs: readonly string[]): boolean {
  if (causes.length > 0 && theirs.length === 0) return false;
  if (causes.length === 0 && answer.causes.some(isComposite)) return false;
  const unchecked = answer.causes.some(isUnchecked);
  const pardoned = causes.map(
    ({ keyword }) => JUNCTORS.has(keyword) || (unchecked && keyword === 'x-kubernetes-validations'),
  );
  return ours.every((one, index) => pardoned[index] === true || theirs.includes(one));
}

const JUNCTORS: ReadonlySet<string> = new Set(['allOf', 'anyOf', 'oneOf', 'not']);

/** The definition as the server has it: the probe is a property like any other. */
function probed(crd: Crd): Crd {
  return readCrd(tagged(crd.manifest, PROBE), crd.name);
}

function textsOf(pairs: readonly (readonly [reason: string, field: string])[]): readonly string[] {
  return [...new Set(pairs.map(([reason, field]) => `${reason} ${field}`))].toSorted();
}

/** A server of E0 leaves `status.` out of what the schema refuses when the status is written (it validates the half as a whole of its own). */
function fieldOf(cause: Cause, endpoint: string, era: Era): string {
  const ofSchema = !cause.keyword.startsWith('x-kubernetes-');
  const bare = era === 'E0' && endpoint === 'status' && ofSchema;
  return fieldText(bare ? cause.path.slice(1) : cause.path);
}

/** A place as a server names it: keys have no quotes. */
function fieldText(path: Path): string {
  if (path.length === 0) return '<nil>';
  return path
    .map((part) => (typeof part === 'number' ? `[${part}]` : `.${part}`))
    .join('')
    .replace(/^\./, '');
}

/** Keys of maps come as `.key` from the schema and as `[key]` from rules. */
function withDots(field: string): string {
  return field.replaceAll(/\[([^\]\d][^\]]*)\]/g, '.$1');
}

/** With its keys in one order. */
export function sorted(value: Json): Json {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isMap(value)) return value;
  return Object.fromEntries(
    Object.keys(value)
      .toSorted()
      .map((key) => [key, sorted(value[key] ?? null)]),
  );
}
