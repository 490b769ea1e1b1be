import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { bridge, type Crd, ERAS, type JsonObject, project, readCrds, type Schema } from '@drydock/crd';
import { capabilitiesOf, clusterVersionCrd, clusterVersionObject } from '@drydock/crd/testing';
import { API_SERVER_ERAS, type ApiServerEra, build, crdFolder, type Sandbox, startSandbox } from '@drydock/sandbox';
import { skips } from './support/crd-eras.ts';
import { type CrdServer, connectCrdServer } from './support/crd-server.ts';
import { causesOf, label, type Stored, setTrap } from './support/crd-trap.ts';

// The trap on real API servers: a status is stored by the newer ClusterVersion, the older definition takes its place, and a writer that knows nothing of it goes on. The definitions are
// those of openshift/api out of the Go module cache, compact ones of our own for the releases that no Go module has, and the real ones of these where they are present.

interface Pair {
  readonly name: string;
  readonly from: () => Crd;
  readonly to: () => Crd;
  readonly skip: string | false;
}

function real(set: string): Crd {
  const [file = ''] = globSync(join(crdFolder(set), '*_clusterversion*.yaml'));
  const [crd] = readCrds(readFileSync(file, 'utf8'), file);
  return crd ?? assert.fail(`${file} holds no definition`);
}

const fixture = (release: string): string =>
  new URL(`../../../shared/fixtures/crds/clusterversion/${release}.yaml`, import.meta.url).pathname;

function fixed(release: string): Crd {
  const [crd] = readCrds(readFileSync(fixture(release), 'utf8'), release);
  return crd ?? assert.fail(`${release} holds no definition`);
}

const PAIRS: readonly Pair[] = [
  {
    name: 'openshift/api 4.17 to 4.14',
    from: () => real('openshift-4.17'),
    to: () => real('openshift-4.14'),
    skip: false,
  },
  {
    name: 'openshift/api 4.21 to 4.17',
    from: () => real('openshift-4.21'),
    to: () => real('openshift-4.17'),
    skip: false,
  },
  { name: 'our compact 4.14 to 4.13', from: () => clusterVersionCrd(14), to: () => clusterVersionCrd(13), skip: false },
  {
    name: 'the real 4.14 to 4.13',
    from: () => fixed('4.14'),
    to: () => fixed('4.13'),
    skip: existsSync(fixture('4.13')) && existsSync(fixture('4.14')) ? false : `${fixture('4.13')} is absent`,
  },
];

/** What a server of each era answers. */
type Answers = Readonly<Record<ApiServerEra, number>>;
const EVERYWHERE_REFUSED: Answers = { E0: 422, E1: 422, E2: 422 };
const TAKEN: Answers = { E0: 200, E1: 200, E2: 200 };
const STATUS_UNTOUCHED: Answers = { E0: 422, E1: 422, E2: 200 };
const MAIN_UNTOUCHED: Answers = { E0: 422, E1: 200, E2: 200 };

const C8 = capabilitiesOf(13);
const C12 = capabilitiesOf(14);
const FIELD = 'status.capabilities.';

function vocabulary(crd: Crd): readonly string[] {
  const { properties }: Schema = crd.versions[0]?.schema?.properties?.['status'] ?? {};
  const names = properties?.['capabilities']?.properties?.['enabledCapabilities']?.items?.enum ?? [];
  return names.map(String).toSorted();
}

function statusOf(object: JsonObject): JsonObject {
  return object['status'] as JsonObject;
}

function withLists(object: JsonObject, enabled: readonly string[], known: readonly string[]): JsonObject {
  return { ...statusOf(object), capabilities: { enabledCapabilities: enabled, knownCapabilities: known } };
}

/** The causes that an era gives: of E0 those of the status come without its name. */
function named(era: ApiServerEra, fields: readonly string[]): readonly string[] {
  const at = era === 'E0' ? 'capabilities.' : FIELD;
  return fields.map((field) => `${at}${field} FieldValueNotSupported`).toSorted();
}

const ILLEGAL = [0, 3, 4, 6];
const ENABLED = ILLEGAL.map((index) => `enabledCapabilities[${index}]`);
const KNOWN = ILLEGAL.map((index) => `knownCapabilities[${index}]`);

let sandbox: Sandbox;
let server: CrdServer;

before(async () => {
  await build({ servers: [], crds: ['openshift-4.14', 'openshift-4.17', 'openshift-4.21'] });
  sandbox = await startSandbox();
  server = connectCrdServer(sandbox);
});
after(async () => {
  await server?.[Symbol.asyncDispose]();
  await sandbox?.[Symbol.asyncDispose]();
});

const rollback = (spec: JsonObject = {}): Promise<Stored> =>
  setTrap(server, clusterVersionCrd(14), clusterVersionCrd(13), clusterVersionObject(14, { spec }));

for (const era of API_SERVER_ERAS) {
  suite(`the trap on ${era}`, { skip: skips(era) }, () => {
    before(async () => {
      if (sandbox.era !== era) await sandbox.switchEra(era);
    });

    for (const { from, name, skip, to } of PAIRS) {
      test(`a writer that knows nothing of the older definition: ${name}`, { skip }, async () => {
        const [older, newer] = [vocabulary(to()), vocabulary(from())];
        const [spare = '', ...legal] = older;
        const illegal = newer.filter((one) => !older.includes(one));
        assert.ok(illegal.length > 0, 'the older definition narrows nothing');
        const lists = [...legal, ...illegal].toSorted();
        const made = clusterVersionObject(14);
        const object = { ...made, status: withLists(made, lists, lists) };
        const trap = await setTrap(server, from(), to(), object);
        const status = statusOf(await trap.get());
        const history = [...(status['history'] as readonly JsonObject[])];
        const next = { ...status, history: [{ ...history[0], image: 'another' }, ...history] };
        assert.equal((await trap.putStatus(next)).status, STATUS_UNTOUCHED[era], 'history grows');
        const appended = withLists(object, [...lists, spare], lists);
        assert.equal((await trap.putStatus(appended)).status, EVERYWHERE_REFUSED[era], 'a legal value is appended');
        assert.equal((await trap.merge(label())).status, MAIN_UNTOUCHED[era], 'a label is set');
        assert.equal((await trap.putStatus(withLists(object, legal, legal))).status, TAKEN[era], 'legal values only');
      });
    }

    for (const { from, name, skip, to } of PAIRS) {
      test(`a writer that projects its status is never refused, and loses nothing on the way forward: ${name}`, {
        skip,
      }, async () => {
        const made = clusterVersionObject(14);
        const names = vocabulary(from());
        const object = { ...made, status: withLists(made, names, names) };
        const trap = await setTrap(server, from(), to(), object);
        // It always means the same; what of it is written is what the live definition takes.
        const write = async (crd: Crd, versionHash: string): Promise<JsonObject> => {
          const intent = { ...statusOf(object), versionHash };
          const live = crd.versions[0] ?? assert.fail('the definition has no version');
          const { status, stuck } = project(intent, await trap.get(), { live, minor: ERAS[era].minor });
          assert.deepEqual(stuck, []);
          const answer = await trap.putStatus(status);
          assert.equal(answer.status, 200, answer.message);
          return statusOf(answer.object);
        };
        const older = await write(to(), 'y');
        const kept = names.filter((one) => vocabulary(to()).includes(one));
        assert.deepEqual(older['capabilities'], { enabledCapabilities: kept, knownCapabilities: kept });
        assert.equal(older['versionHash'], 'y');
        await server.install(from());
        const again = await write(from(), 'z');
        assert.deepEqual(again['capabilities'], { enabledCapabilities: names, knownCapabilities: names });
        assert.deepEqual(again['history'], statusOf(object)['history']);
      });
    }

    test(`RB-R43 on ${era}: known capabilities healed, enabled ones left: refused with four causes, or overlooked`, async () => {
      const trap = await rollback();
      const answer = await trap.putStatus(withLists(clusterVersionObject(14), C12, C8));
      assert.equal(answer.status, STATUS_UNTOUCHED[era]);
      assert.deepEqual(causesOf(answer), era === 'E2' ? [] : named(era, ENABLED));
    });

    test(`RB-R44 on ${era}: with both lists left, eight causes, which name the eight legal values`, async () => {
      const trap = await rollback();
      const answer = await trap.putStatus({ ...statusOf(clusterVersionObject(14)), versionHash: 'y' });
      assert.deepEqual(causesOf(answer), era === 'E2' ? [] : named(era, [...ENABLED, ...KNOWN]));
      for (const { message } of answer.causes) for (const name of C8) assert.match(message, new RegExp(`"${name}"`));
    });

    test(`RB-R45 and RB-R49 on ${era}: a label cannot be set before, and can after, the lists are healed`, async () => {
      const trap = await rollback();
      assert.equal((await trap.merge(label())).status, MAIN_UNTOUCHED[era]);
      assert.equal((await trap.putStatus(withLists(clusterVersionObject(14), C8, C8))).status, 200);
      assert.equal((await trap.merge(label())).status, 200);
    });

    test(`RB-R46 and RB-R47 on ${era}: a list with one illegal value is refused as soon as anything in it changes, its order too`, async () => {
      const trap = await rollback();
      const untouched = await trap.putStatus(withLists(clusterVersionObject(14), C12, C8));
      if (era === 'E2') assert.deepEqual([untouched.status, untouched.warnings], [200, []]);
      for (const enabled of [C12.filter((one) => one !== 'Console'), C12.toReversed()]) {
        const answer = await trap.putStatus(withLists(clusterVersionObject(14), enabled, C8));
        assert.equal(answer.status, 422);
        assert.equal(answer.causes.length, 4);
      }
    });

    test(`RB-R48 on ${era}: the request to go forward again`, async () => {
      const trap = await rollback();
      const answer = await trap.merge({ spec: { desiredUpdate: { version: '4.14.0', image: 'b', force: true } } });
      assert.equal(answer.status, MAIN_UNTOUCHED[era]);
      // On the endpoint of the whole object every era gives whole paths.
      if (era === 'E0') assert.deepEqual(causesOf(answer), named('E1', [...ENABLED, ...KNOWN]));
    });

    test(`RB-R51 on ${era}: a deleted object comes back without its status, which nobody can write any more`, async () => {
      const trap = await rollback();
      const made = await trap.recreate();
      assert.deepEqual([made.status, made.object['status']], [201, undefined]);
      const answer = await trap.putStatus(statusOf(clusterVersionObject(14)));
      assert.deepEqual(causesOf(answer), named(era, [...ENABLED, ...KNOWN]));
    });

    test(`RB-R59 on ${era}: before the swap the healed status breaks the newer rule, after it the older takes it; a bridge takes both`, async () => {
      const spec = { capabilities: { baselineCapabilitySet: 'None', additionalEnabledCapabilities: ['marketplace'] } };
      const object = clusterVersionObject(15);
      const [newer, older] = [clusterVersionCrd(15), clusterVersionCrd(14)];
      const clean = withLists(object, C12, C12);
      const trap = await setTrap(server, newer, undefined, object);
      // The rule is satisfied by the status, so the status must be there first.
      assert.equal((await trap.merge({ spec })).status, 200);
      assert.deepEqual(causesOf(await trap.putStatus(clean)), ['<nil> FieldValueInvalid']);
      await server.install(older);
      assert.equal((await trap.putStatus(clean)).status, 200);

      const bridged = await setTrap(server, newer, undefined, object);
      assert.equal((await bridged.merge({ spec })).status, 200);
      await server.install(bridge(older, newer).crd ?? assert.fail('there is no bridge'));
      assert.equal((await bridged.putStatus({ ...statusOf(object), versionHash: 'y' })).status, 200);
      assert.equal((await bridged.putStatus(clean)).status, 200);
    });

    test(`a rule that reads an unset field unguarded refuses every write on ${era}, whatever changes`, async () => {
      const object = clusterVersionObject(13, {
        spec: { capabilities: { additionalEnabledCapabilities: ['baremetal'] } },
      });
      const trap = await setTrap(server, clusterVersionCrd(13), clusterVersionCrd(14), object);
      const answers = [await trap.merge(label()), await trap.putStatus({ ...statusOf(object), versionHash: 'y' })];
      for (const answer of answers) {
        assert.deepEqual(causesOf(answer), ['<nil> FieldValueInvalid']);
        assert.match(answer.message, /no such key: baselineCapabilitySet/);
      }
    });
  });
}
