import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import {
  applyDefaults,
  bridge,
  type Crd,
  ERAS,
  type Json,
  type JsonObject,
  judge,
  preflight,
  prune,
  readCrd,
  readManifests,
  type Schema,
  type Unbridged,
} from '@drydock/crd';
import { crdOfVersions, type VersionOf } from '@drydock/crd/testing';
import { firstSeed, soaking } from '@drydock/model';
import { API_SERVER_ERAS, build, CRD_HISTORIES, crdFolder, type Sandbox, startSandbox } from '@drydock/sandbox';
import * as fc from 'fast-check';
import { resourceSchemas } from './support/crd-arbitrary.ts';
import { anything, Crossings, removeCrd, taken } from './support/crd-bridge.ts';
import { generatedCrd } from './support/crd-differential.ts';
import { SKIPS_JUDGED, WANTS_E1 } from './support/crd-eras.ts';
import { changed } from './support/crd-loosened.ts';
import { diceOf, resourceOf } from './support/crd-samples.ts';
import { type CrdServer, connectCrdServer } from './support/crd-server.ts';

// Real projects over two releases. Each of their definitions is bridged, put over either release, written by both, and taken off again in both directions.

/** In every run: what is small to fetch, or there anyway. The rest is for a soak, or for DRYDOCK_HISTORY=name. */
const SHARE: Readonly<Record<string, RegExp>> = {
  'karpenter-0.37.0 karpenter-1.8.0': /./,
  'openshift-4.17 openshift-4.21': /^(?:clusterversions|machineconfigurations)\./,
};
const ONLY = process.env['DRYDOCK_HISTORY'];
const HISTORIES = [...CRD_HISTORIES, { sets: ['openshift-4.14', 'openshift-4.17', 'openshift-4.21'] }];

/** Neighbours, and the first with the last. */
const PAIRS = HISTORIES.flatMap(({ sets }) => {
  const neighbours = sets.slice(1).map((set, at) => [sets[at] ?? '', set] as const);
  return sets.length > 2 ? [...neighbours, [sets[0] ?? '', sets.at(-1) ?? ''] as const] : neighbours;
});

/** The definitions of a set, without labels that only a chart fills in. */
function definitions(set: string): readonly Crd[] {
  return globSync(join(crdFolder(set), '*.yaml'))
    .toSorted()
    .flatMap((file) => readManifests(readFileSync(file, 'utf8'), file))
    .map((manifest) => {
      const { labels: _labels, ...metadata } = manifest['metadata'] as JsonObject;
      return readCrd({ ...manifest, metadata } as Json, set);
    });
}

/** Why a set cannot be had, or undefined. */
async function absence(sets: readonly string[]): Promise<string | undefined> {
  try {
    await build({ servers: [], crds: sets, log: () => undefined });
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : 'unknown';
  }
}

async function eachOf<T>(items: readonly T[], lanes: number, work: (item: T) => Promise<void>): Promise<void> {
  const queue = items.values();
  await Promise.all(
    Array.from({ length: lanes }, async () => {
      for (const item of queue) await work(item);
    }),
  );
}

// Most of the time passes in waiting for fresh kinds. Releases of one project have the same names, and wait for each other.
const LANES = soaking || ONLY !== undefined ? 1 : 4;

/** The newest in every run; a soak, and DRYDOCK_ERAS=1, ask servers of all. */
const ERAS_ASKED = WANTS_E1 ? API_SERVER_ERAS : (['E2'] as const);

for (const era of ERAS_ASKED)
  suite(`TRUTH-11 TRUTH-12 TRUTH-16 a bridge on a real server of era ${era}`, {
    concurrency: LANES,
    skip: SKIPS_JUDGED,
  }, () => {
    let sandbox: Sandbox;
    let server: CrdServer;
    before(async () => {
      sandbox = await startSandbox({ era });
      server = connectCrdServer(sandbox);
    });
    after(async () => {
      await server?.[Symbol.asyncDispose]();
      await sandbox?.[Symbol.asyncDispose]();
    });

    /** Whatever is stored, one of the two is refused afterwards, or shows less than it stored. */
    const hasNoStorage = async (old: Crd, now: Crd): Promise<void> => {
      for (const storage of new Set([...old.versions, ...now.versions].map(({ name }) => name))) {
        await server.install(old);
        await server.install(anything(old, now, storage));
        const answers = [await taken(server, old), await taken(server, now)];
        await removeCrd(server, old.name);
        const refused = answers.find(({ status }) => status === 422);
        assert.match(refused?.message ?? '', /storedVersions/, `${old.name} could be stored as ${storage}`);
      }
    };

    const cross = async (old: Crd, now: Crd, seeds: number, say: (line: string) => void): Promise<void> => {
      const { crd, unbridged } = bridge(old, now);
      const isStorage = ({ rule }: Unbridged): boolean => rule === 'N25' || rule === 'N26';
      if (crd !== undefined) {
        const crossing = await (await Crossings.of(server, old, now, seeds)).cross();
        say(JSON.stringify(crossing));
        return;
      }
      say(`${now.name} cannot be bridged: ${unbridged.map(({ path, rule }) => `${rule} ${path}`.trim()).join(', ')}`);
      if (!unbridged.every(isStorage)) return;
      if (unbridged.some(({ rule }) => rule === 'N25')) await hasNoStorage(old, now);
      const crossings = await Crossings.of(server, old, now, seeds);
      for (const stores of ['older', 'newer'] as const)
        say(`--store ${stores} ${JSON.stringify(await crossings.cross(stores))}`);
    };

    test('TRUTH-12 a server that takes two definitions takes what is between them', async (t) => {
      const count = { both: 0, between: 0, rules: 0, left: 0 };
      const schemas = fc.sample(resourceSchemas, { seed: firstSeed(), numRuns: soaking ? 3000 : 120 });
      await eachOf([...schemas.entries()], 4, async ([index, schema]) => {
        const dice = diceOf(firstSeed() + index);
        const of = (one: Schema): Crd => generatedCrd(`b${index}`, one);
        const [old, now] = [of(changed(schema, dice, 4)), of(changed(schema, dice, 4))];
        const answers = [await taken(server, old), await taken(server, now)];
        if (answers.some(({ status }) => status >= 300)) return;
        count.both += 1;
        const { crd, notes } = bridge(old, now);
        if (crd === undefined) return;
        count.between += 1;
        count.left += notes.filter(({ what }) => what.includes('no server would take')).length;
        count.rules += JSON.stringify(crd.manifest).split('x-kubernetes-validations').length - 1;
        const { message, status } = await taken(server, crd);
        assert.ok(status < 300, `${message}\n${JSON.stringify({ old: old.manifest, now: now.manifest })}`);
      });
      t.diagnostic(JSON.stringify(count));
      assert.ok(
        count.between > 50 && count.rules > 30 && count.left > 1,
        `too few to prove anything: ${JSON.stringify(count)}`,
      );
    });

    test('TRUTH-12 the server is strict: with all rules that both have it refuses one', async () => {
      const text = (maxLength?: number): Schema => ({
        type: 'string',
        ...(maxLength === undefined ? {} : { maxLength }),
        'x-kubernetes-validations': [{ rule: "self.matches('^x+$')" }],
      });
      const half = (items: Schema, maxItems?: number): Schema => ({
        type: 'object',
        properties: {
          spec: {
            type: 'object',
            properties: { list: { type: 'array', items, ...(maxItems === undefined ? {} : { maxItems }) } },
          },
        },
      });
      const of = (schema: Schema): Crd => generatedCrd('strict', schema);
      const [old, now] = [of(half(text(), 4)), of(half(text(9)))];
      for (const one of [old, now]) assert.ok((await taken(server, one)).status < 300);
      assert.match((await taken(server, of(half(text())))).message, /estimated rule cost/);
      const { crd, notes } = bridge(old, now);
      assert.ok(crd !== undefined && (await taken(server, crd)).status < 300);
      assert.deepEqual(
        notes.map(({ path }) => path),
        ['spec.list[]'],
      );
    });

    const text: Schema = { type: 'string' };
    const spec = (names: readonly string[]): Schema => ({
      type: 'object',
      properties: { spec: { type: 'object', properties: Object.fromEntries(names.map((name) => [name, text])) } },
    });
    const older = [{ name: 'v1beta1', schema: spec(['a', 'kubelet']) }];
    const newer = ['v1', 'v1beta1'].map((name) => ({ name, schema: spec(['a', 'ref']) }));

    test('TRUTH-11 a storage version of another name, in two small definitions', async (t) => {
      const [old, now] = [older, newer].map((versions) => crdOfVersions(versions, { plural: 'movers' }));
      assert.ok(old !== undefined && now !== undefined);
      const crossing = await (await Crossings.of(server, old, now, 3)).cross();
      t.diagnostic(JSON.stringify(crossing));
      assert.deepEqual([crossing.stored, crossing.migrations], ['v1beta1', 2]);
    });

    for (const [storage, found] of [
      ['v1', /the older release after a bridge that nobody used is refused: .*storedVersions/],
      ['v1beta1', /under the bridge, has lost \.spec\.kubelet/],
    ] as const)
      test(`TRUTH-11 a bridge of versions that each know their own fields, stored as ${storage}, is found out`, async () => {
        const of = (versions: readonly VersionOf[]): Crd => crdOfVersions(versions, { plural: `careless${storage}` });
        const crd = of([
          { name: 'v1', schema: spec(['a', 'ref']), storage: storage === 'v1' },
          { name: 'v1beta1', schema: spec(['a', 'kubelet', 'ref']), storage: storage === 'v1beta1' },
        ]);
        const careless: typeof bridge = (...sides) => ({ ...bridge(...sides), crd });
        const crossings = await Crossings.of(server, of(older), of(newer), 3, careless);
        await assert.rejects(crossings.cross(), found);
      });

    test('TRUTH-14 of objects of gateway-api, such as HTTPRoutes, nothing is undecided under their own definitions', async (t) => {
      const set = 'gateway-api-standard-1.4.0';
      const absent = await absence([set]);
      if (absent !== undefined) return t.skip(`the definitions of ${set} are not here: ${absent}`);
      const crds = definitions(set);
      assert.ok(crds.some(({ kind }) => kind === 'HTTPRoute'));
      await eachOf(crds, 6, async (crd) => {
        await server.install(crd);
        const said = new Set<string>();
        for (const [index, { name, schema = {}, status }] of crd.versions.filter(({ served }) => served).entries())
          for (let seed = 1; seed <= (soaking ? 300 : 11); seed += 1) {
            const of = {
              apiVersion: `${crd.group}/${name}`,
              kind: crd.kind,
              metadata: { name: `own-${index}-${seed}` },
            };
            const next: JsonObject = { ...resourceOf(schema, seed, seed % 11), ...of };
            const where = crd.scope === 'Cluster' ? '' : '/namespaces/default';
            const path = `/apis/${of.apiVersion}${where}/${crd.plural}?dryRun=All`;
            const answer = await server.call({ method: 'POST', path, body: next });
            const read = applyDefaults(prune(next, schema).value, schema) as JsonObject;
            const { causes, doubts } = judge({ endpoint: 'create', next: read, schema, hasStatus: status }, ERAS[era]);
            assert.deepEqual(doubts, [], `${crd.kind} ${JSON.stringify(next)}`);
            const refused = causes.map(({ path: at, reason }) => `${at.join('.')} ${reason}`).toSorted();
            assert.equal(refused.length > 0, answer.status === 422, `${answer.message} ${refused.join()}`);
            said.add(`${answer.status}`);
            const findings = preflight([next], [crd], [crd], { now: ERAS[era], target: ERAS[era] });
            assert.deepEqual(
              findings.filter((finding) => finding.class === 'UNDECIDED'),
              [],
            );
          }
        t.diagnostic(`${crd.kind}: ${[...said].toSorted().join(' and ')}`);
        await removeCrd(server, crd.name);
      });
    });

    for (const [from, to] of PAIRS) {
      const name = `${from} ${to}`;
      const wanted = ONLY === undefined ? soaking || SHARE[name] !== undefined : name.includes(ONLY);
      test(`TRUTH-11 ${from} and ${to}`, { skip: wanted ? false : 'only in a soak', timeout: 3_600_000 }, async (t) => {
        const absent = await absence([from, to]);
        if (absent !== undefined) return t.skip(`the definitions of ${name} are not here: ${absent}`);
        const [older, newer] = [definitions(from), definitions(to)];
        // Without ratcheting a server does not know optional old values, and takes neither definition.
        const isTaken = (crd: Crd): boolean =>
          era !== 'E0' || !JSON.stringify(crd.manifest).includes('"optionalOldSelf":true');
        const pairs = newer.flatMap((now) => {
          const old = older.find((crd) => crd.name === now.name);
          const isAsked = soaking || ONLY !== undefined || SHARE[name]?.test(now.name) === true;
          return old === undefined || !isAsked || !isTaken(old) || !isTaken(now) ? [] : [{ old, now }];
        });
        assert.ok(pairs.length > 0);
        const wrong: string[] = [];
        await eachOf(pairs, 6, async ({ now, old }) => {
          try {
            await cross(old, now, soaking || ONLY !== undefined ? 5 : 2, (line) => t.diagnostic(line));
          } catch (error) {
            const message = error instanceof Error ? error.message : String(error);
            // A server that lets nothing alone refuses what was filled in, which the bridge says of the place.
            const foretold = [{}, { stores: 'older' }, { stores: 'newer' }].some((how) =>
              bridge(old, now, how as { stores?: 'older' | 'newer' }).notes.some(
                ({ path, what }) => era === 'E0' && what.startsWith('its default') && message.includes(path),
              ),
            );
            if (foretold) t.diagnostic(`foretold: ${message}`);
            else wrong.push(message);
            await removeCrd(server, now.name);
          }
        });
        assert.deepEqual(wrong, []);
      });
    }
  });
