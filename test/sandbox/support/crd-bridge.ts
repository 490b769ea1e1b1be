import assert from 'node:assert/strict';
import {
  type Bridge,
  bridge,
  type Crd,
  type CrdVersion,
  type Json,
  type JsonObject,
  readCrd,
  type Stores,
} from '@drydock/crd';
import { diceOf, resourceOf, without } from './crd-samples.ts';
import { type Answer, CRDS, type CrdServer } from './crd-server.ts';

// A bridge as a person uses it: put over one release, used by both, taken off again to either.

/** An object of one release. */
interface Sample {
  readonly name: string;
  /** The version that it is written through. */
  readonly version: string;
  /** Without its head. */
  readonly sent: JsonObject;
  /** How its own release shows it, by version. */
  readonly views: ReadonlyMap<string, JsonObject>;
}

/** What was done with the bridge of one definition. */
export interface Crossing {
  readonly crd: string;
  readonly stored: string;
  readonly objects: number;
  /** Values that were compared, each time anew. */
  readonly values: number;
  readonly writes: number;
  readonly migrations: number;
}

const SEEDS = [
  [1, 10],
  [2, 10],
  [3, 6],
  [4, 3],
  [5, 1],
] as const;

function path(crd: Crd, version: string, name = '', rest = ''): string {
  const namespace = crd.scope === 'Cluster' ? '' : '/namespaces/default';
  return `/apis/${crd.group}/${version}${namespace}/${crd.plural}${name === '' ? '' : `/${name}`}${rest}`;
}

function headed(crd: Crd, version: string, name: string, body: JsonObject): JsonObject {
  return { ...body, apiVersion: `${crd.group}/${version}`, kind: crd.kind, metadata: { name } };
}

function served(crd: Crd): readonly CrdVersion[] {
  return crd.versions.filter((version) => version.served);
}

/** Without what is the server's. */
function bare(object: JsonObject): JsonObject {
  const { apiVersion: _version, kind: _kind, metadata: _metadata, drydockProbe: _probe, ...rest } = object;
  return rest;
}

/** Removes a definition with its objects, and waits until it is gone. */
export async function removeCrd(server: CrdServer, name: string): Promise<void> {
  await server.call({ method: 'DELETE', path: `${CRDS}/${name}` });
  for (let tries = 0; tries < 2000; tries += 1)
    if ((await server.call({ method: 'GET', path: `${CRDS}/${name}` })).status === 404) return;
  assert.fail(`${name} is not gone`);
}

/** Whether a server takes a definition in the place of the one that is there. */
export async function taken(server: CrdServer, crd: Crd): Promise<Answer> {
  const at = `${CRDS}/${crd.name}`;
  for (;;) {
    const { object, status } = await server.call({ method: 'GET', path: at });
    if (status === 404) return server.call({ method: 'POST', path: `${CRDS}?dryRun=All`, body: crd.manifest });
    const { resourceVersion } = object['metadata'] as { readonly resourceVersion: string };
    const metadata = { ...(crd.manifest['metadata'] as JsonObject), resourceVersion };
    const answer = await server.call({ method: 'PUT', path: `${at}?dryRun=All`, body: { ...crd.manifest, metadata } });
    if (answer.status !== 409) return answer;
  }
}

async function place(server: CrdServer, crd: Crd, what: string): Promise<void> {
  const { message, status } = await taken(server, crd);
  assert.ok(status < 300, `${crd.name}: ${what} is refused: ${message}`);
  await server.install(crd);
}

/** Objects that a release alone takes through each version that it serves, and how it shows them. */
async function learn(server: CrdServer, crd: Crd, side: string, seeds: number): Promise<readonly Sample[]> {
  await place(server, crd, side);
  const samples: Sample[] = [];
  for (const { name: version, schema = {}, status: hasStatus } of served(crd)) {
    for (const [seed, fullness] of SEEDS.slice(0, seeds)) {
      const name = `${side}-${version}-${seed}`;
      // What is too full for rules that exclude each other is tried with less.
      for (const wanted of [fullness, 5, 2, 0]) {
        const made = await learnOne(server, crd, { name, version, sent: resourceOf(schema, seed, wanted) });
        if (made === undefined) continue;
        const sent = hasStatus
          ? await learnStatus(server, crd, { name, version, sent: made.sent }, made.stored)
          : made.sent;
        // What a release alone does not take back from its own reader proves nothing about a bridge.
        if (await labels(server, crd, version, name)) {
          samples.push({ name, version, sent, views: await viewsOf(server, crd, name) });
          break;
        }
        await server.call({ method: 'DELETE', path: path(crd, version, name) });
      }
    }
  }
  await removeCrd(server, crd.name);
  return samples;
}

async function labels(server: CrdServer, crd: Crd, version: string, name: string): Promise<boolean> {
  const [type, body] = ['application/merge-patch+json', { metadata: { labels: { learnt: 'yes' } } }];
  return (await server.call({ method: 'PATCH', path: path(crd, version, name), type, body })).status === 200;
}

/** Creates an object, without what the server names until it takes it. */
async function learnOne(
  server: CrdServer,
  crd: Crd,
  { name, sent: first, version }: Omit<Sample, 'views'>,
): Promise<{ readonly sent: JsonObject; readonly stored: JsonObject } | undefined> {
  const dice = diceOf(first['spec'] === undefined ? 1 : 2);
  let sent = first;
  for (let tries = 0; tries < 60; tries += 1) {
    const body = headed(crd, version, name, sent);
    const answer = await server.call({ method: 'POST', path: path(crd, version), body });
    if (answer.status === 201) return { sent, stored: answer.object };
    if (answer.status !== 422) return undefined;
    const cause = answer.causes[dice() % Math.max(1, answer.causes.length)];
    const less = without(sent, cause?.field ?? '', dice) ?? without(sent, 'spec', dice);
    if (less === undefined) return undefined;
    sent = less;
  }
  return undefined;
}

async function learnStatus(
  server: CrdServer,
  crd: Crd,
  { name, version, sent }: Omit<Sample, 'views'>,
  stored: JsonObject,
): Promise<JsonObject> {
  const dice = diceOf(9);
  let whole: JsonObject | undefined = sent;
  for (let tries = 0; whole?.['status'] !== undefined && tries < 40; tries += 1) {
    const body = { ...stored, status: whole['status'] };
    const answer = await server.call({ method: 'PUT', path: path(crd, version, name, '/status'), body });
    if (answer.status === 200) return whole;
    const fields = answer.causes.map(({ field }) => field).filter((field) => field.startsWith('status'));
    whole = without(whole, fields[dice() % Math.max(1, fields.length)] ?? 'status', dice);
  }
  const { status: _status, ...rest } = sent;
  return rest;
}

async function viewsOf(server: CrdServer, crd: Crd, name: string): Promise<ReadonlyMap<string, JsonObject>> {
  const views = new Map<string, JsonObject>();
  for (const { name: version } of served(crd)) {
    const { object, status } = await server.call({ method: 'GET', path: path(crd, version, name) });
    assert.equal(status, 200, `${crd.name} ${name} cannot be read through ${version}`);
    views.set(version, bare(object));
  }
  return views;
}

function valuesIn(of: Json): number {
  if (typeof of !== 'object' || of === null) return 1;
  return Object.values(of).reduce((sum: number, inner: Json) => sum + valuesIn(inner), 0);
}

/** What of one value another one lacks or has otherwise; null and what is empty say nothing. */
function missing(expected: Json, actual: Json | undefined, at: string): string | undefined {
  if (expected === null) return undefined;
  if (Array.isArray(expected)) {
    if (!Array.isArray(actual) || actual.length !== expected.length) return at;
    for (const [index, item] of (expected as readonly Json[]).entries()) {
      const lost = missing(item, actual[index] as Json, `${at}[${index}]`);
      if (lost !== undefined) return lost;
    }
    return undefined;
  }
  if (typeof expected !== 'object') return expected === actual ? undefined : at;
  if (typeof actual !== 'object' || actual === null || Array.isArray(actual)) return at;
  for (const [key, value] of Object.entries(expected)) {
    const lost = missing(value as Json, (actual as JsonObject)[key], `${at}.${key}`);
    if (lost !== undefined) return lost;
  }
  return undefined;
}

/** What a writer sent and its own release kept. */
function kept(sent: Json, view: Json | undefined): Json | undefined {
  if (view === undefined) return undefined;
  if (Array.isArray(sent) && Array.isArray(view) && sent.length === view.length)
    return (sent as readonly Json[]).map((item, index) => kept(item, view[index] as Json) ?? null);
  if (isMap(sent) && isMap(view)) {
    const both = Object.keys(sent).flatMap((key): readonly (readonly [string, Json])[] => {
      const value = kept(sent[key] as Json, view[key]);
      return value === undefined ? [] : [[key, value]];
    });
    return Object.fromEntries(both);
  }
  return view;
}

function isMap(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

interface Side {
  readonly release: 'older' | 'newer';
  readonly crd: Crd;
  readonly samples: readonly Sample[];
}

/** A definition between two releases, on a server. */
export class Crossings {
  readonly #server: CrdServer;
  readonly #between: (stores?: Stores) => Bridge;
  readonly #sides: readonly [Side, Side];
  #values = 0;
  #writes = 0;
  #migrations = 0;

  private constructor(server: CrdServer, sides: readonly [Side, Side], between: typeof bridge) {
    this.#server = server;
    this.#sides = sides;
    this.#between = (stores) => between(sides[0].crd, sides[1].crd, stores === undefined ? {} : { stores });
  }

  /** Learns what either release alone takes. `between`: what makes the bridge. */
  static async of(
    server: CrdServer,
    old: Crd,
    now: Crd,
    seeds: number,
    between: typeof bridge = bridge,
  ): Promise<Crossings> {
    const older = { release: 'older', crd: old, samples: await learn(server, old, 'older', seeds) } as const;
    const newer = { release: 'newer', crd: now, samples: await learn(server, now, 'newer', seeds) } as const;
    for (const { crd, release, samples } of [older, newer])
      assert.ok(
        samples.length > 0,
        `${crd.name}: no object of the ${release} release was taken: it would prove nothing`,
      );
    return new Crossings(server, [older, newer], between);
  }

  get objects(): number {
    return this.#sides[0].samples.length + this.#sides[1].samples.length;
  }

  /** Over either release, used by both, and taken off again to both. */
  async cross(stores?: Stores): Promise<Crossing> {
    const { crd } = this.#between(stores);
    assert.ok(crd !== undefined);
    this.#values = 0;
    this.#writes = 0;
    this.#migrations = 0;
    for (const base of this.#sides) await this.#over(base, crd, stores);
    const stored = crd.versions.find(({ storage }) => storage)?.name ?? '';
    return {
      crd: crd.name,
      stored,
      objects: this.objects,
      values: this.#values,
      writes: this.#writes,
      migrations: this.#migrations,
    };
  }

  async #over(base: Side, between: Crd, stores: Stores | undefined): Promise<void> {
    const [older, newer] = this.#sides;
    const other = base === older ? newer : older;
    await place(this.#server, base.crd, `the ${base.release} release`);
    for (const sample of base.samples) await this.#create(base, sample);
    await place(this.#server, between, `the bridge over the ${base.release} release`);
    if (stores === undefined || stores === base.release) {
      await place(this.#server, base.crd, `the ${base.release} release after a bridge that nobody used`);
      await place(this.#server, between, 'the bridge once more');
    }
    for (const sample of other.samples) await this.#create(other, sample);
    for (const side of [base, other])
      for (const sample of side.samples)
        for (const { name: version } of served(between)) await this.#touch(between, version, sample);
    for (const side of [base, other]) await this.#compare(side, 'under the bridge', side === base);
    for (const to of [base, other]) {
      await this.#leave(to, between, stores);
      await this.#compare(to, `after the bridge, over the ${base.release} release`, false);
      for (const sample of to.samples) await this.#label(to.crd, sample.version, sample);
      await this.#compare(to, 'after a write there', false);
      await place(this.#server, between, 'the bridge once more');
      // Whoever went to the other release first has stored everything as that one does.
      for (const side of this.#sides)
        for (const sample of side.samples) await this.#label(between, served(between)[0]?.name ?? '', sample);
    }
    await removeCrd(this.#server, between.name);
  }

  async #create({ crd, release }: Side, { name, sent, version }: Sample): Promise<void> {
    const made = await this.#server.call({
      method: 'POST',
      path: path(crd, version),
      body: headed(crd, version, name, sent),
    });
    const what = `${crd.name}: ${name} of the ${release} release, through ${version}`;
    assert.equal(made.status, 201, `${what}: ${made.message}`);
    this.#writes += 1;
    if (sent['status'] === undefined || !crd.versions.some((one) => one.name === version && one.status)) return;
    const body = { ...made.object, status: sent['status'] };
    const written = await this.#server.call({ method: 'PUT', path: path(crd, version, name, '/status'), body });
    assert.equal(written.status, 200, `${what}, its status: ${written.message}`);
    this.#writes += 1;
  }

  /** Reads an object through a version and writes it back, both halves: what a controller does. */
  async #touch(crd: Crd, version: string, { name }: Sample): Promise<void> {
    await this.#label(crd, version, { name });
    const of = crd.versions.find((one) => one.name === version);
    for (const rest of of?.status === true ? ['', '/status'] : ['']) {
      const { object: body } = await this.#server.call({ method: 'GET', path: path(crd, version, name) });
      const { message, status } = await this.#server.call({
        method: 'PUT',
        path: path(crd, version, name, rest),
        body,
      });
      assert.equal(status, 200, `${crd.name}: ${name} is written back through ${version}${rest}: ${message}`);
      this.#writes += 1;
    }
  }

  async #label(crd: Crd, version: string, { name }: Pick<Sample, 'name'>): Promise<void> {
    const { message, status } = await this.#server.call({
      method: 'PATCH',
      path: path(crd, version, name),
      type: 'application/merge-patch+json',
      body: { metadata: { labels: { touched: `n${this.#writes}` } } },
    });
    assert.equal(status, 200, `${crd.name}: ${name} is labelled through ${version}: ${message}`);
    this.#writes += 1;
  }

  /** Nothing of a release's objects is lost, through any version that it serves. `whole`: they were stored by it alone, defaults and all. */
  async #compare({ crd, samples }: Side, when: string, whole: boolean): Promise<void> {
    for (const { name, sent, views } of samples) {
      for (const [version, view] of await viewsOf(this.#server, crd, name)) {
        const before = views.get(version) ?? {};
        const expected = whole ? before : (kept(sent, before) ?? {});
        this.#values += valuesIn(expected);
        const lost = missing(expected, view, '');
        assert.equal(lost, undefined, `${crd.name}: ${name} through ${version}, ${when}, has lost ${lost}`);
      }
    }
  }

  /** Does what the notes of the bridge say, and puts a release. */
  async #leave(to: Side, between: Crd, stores: Stores | undefined): Promise<void> {
    const { notes } = this.#between(stores);
    const first = notes.find(({ what }) => what.startsWith(`before the ${to.release} release is put`))?.what;
    if (first !== undefined) {
      this.#migrations += 1;
      const bridged = first.includes(`--store ${to.release}`) ? this.#between(to.release).crd : between;
      assert.ok(bridged !== undefined);
      if (bridged !== between) await place(this.#server, bridged, `the bridge of --store ${to.release}`);
      for (const { samples } of this.#sides)
        for (const sample of samples) await this.#label(bridged, served(bridged)[0]?.name ?? '', sample);
      const stored = bridged.versions.find(({ storage }) => storage)?.name ?? '';
      const trimmed = await this.#server.call({
        method: 'PATCH',
        path: `${CRDS}/${between.name}/status`,
        type: 'application/merge-patch+json',
        body: { status: { storedVersions: [stored] } },
      });
      assert.equal(trimmed.status, 200, trimmed.message);
    }
    await place(this.#server, to.crd, `the ${to.release} release after the bridge`);
  }
}

/** A definition of all versions of both that keeps everything: what a bridge could be at best, stored as somebody likes. */
export function anything(old: Crd, now: Crd, storage: string): Crd {
  const { spec } = now.manifest as { readonly spec: JsonObject };
  const names = [...new Set([...now.versions, ...old.versions].map(({ name }) => name))];
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
  const versions = names.map((name) => ({ name, served: true, storage: name === storage, schema }));
  const { name } = now;
  const { annotations = {} } = now.manifest['metadata'] as { readonly annotations?: JsonObject };
  return readCrd({ ...now.manifest, metadata: { name, annotations }, spec: { ...spec, versions } } as Json, name);
}
