import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, suite, test } from 'node:test';
import { type Crd, ERAS, type Json, type JsonObject, judge } from '@drydock/crd';
import { API_SERVER_ERAS, type ApiServerEra, type Sandbox, startSandbox } from '@drydock/sandbox';
import { CEL_CASES, type CelCases } from './support/cel-cases.ts';
import { SKIPS_JUDGED, skips } from './support/crd-eras.ts';
import { type CrdServer, connectCrdServer, headOf, PROBE, pathOf } from './support/crd-server.ts';
import { causesOf, crdOf, label, setTrap } from './support/crd-trap.ts';

// What servers of each era do with single kinds of narrowing, on compact definitions of our own: where the answer is not what one would think, it is written down in packages/crd/README.md.

const text = { type: 'string' };
const number = { type: 'integer' };

function object(properties: JsonObject, more: JsonObject = {}): JsonObject {
  return { type: 'object', properties, ...more };
}

function halves(spec: JsonObject, status: JsonObject, more: JsonObject = {}): JsonObject {
  return { properties: { spec, status }, ...more };
}

const rules = (...all: readonly string[]): JsonObject => ({
  'x-kubernetes-validations': all.map((rule) => ({ rule })),
});
const list = (items: JsonObject, more: JsonObject = {}): JsonObject => ({ type: 'array', items, ...more });

let sandbox: Sandbox;
let server: CrdServer;

const PLURALS =
  'keyeds requireds rooteds specs pruneds typeds sets fixeds switcheds presents functions optionals'.split(' ');

before(async () => {
  sandbox = await startSandbox();
  server = connectCrdServer(sandbox);
  // All at once: a server holds the first object of a fresh kind back for two seconds.
  await Promise.all(PLURALS.map((plural) => server.install(crdOf(plural, {}))));
});
after(async () => {
  await server?.[Symbol.asyncDispose]();
  await sandbox?.[Symbol.asyncDispose]();
});

function narrowing(plural: string, wide: JsonObject, narrow: JsonObject): readonly [Crd, Crd] {
  return [crdOf(plural, wide), crdOf(plural, narrow)];
}

function create(crd: Crd, fields: JsonObject): ReturnType<CrdServer['call']> {
  const body = { ...headOf(crd, 'another'), ...fields };
  return server.call({ method: 'POST', path: `${pathOf(crd)}?dryRun=All`, body });
}

/** For each value and rule what is said of it: that it is false, or that it cannot be evaluated. */
async function saidBy(cases: CelCases, era: ApiServerEra): Promise<{ readonly theirs: Said; readonly ours: Said }> {
  const crdWith = (asked: readonly string[]): Crd => {
    const node = (rule: string): JsonObject => object({ value: { ...cases.schema } }, rules(withValue(rule)));
    return crdOf(
      'functions',
      halves(object(Object.fromEntries(asked.map((rule, at) => [`r${at}`, node(rule)]))), object({})),
    );
  };
  const crd = crdWith(cases.rules);
  if (cases.since <= NEWEST) await server.install(crd);
  else {
    const simple = cases.rules.map((_rule, at) => `size(self) != ${at + 9_000}`);
    await server.install(crdWith(simple));
    await store(crd, new Map(simple.map((rule, at) => [withValue(rule), withValue(cases.rules[at] ?? '')])));
  }
  const theirs: Said = {};
  const ours: Said = {};
  for (const value of cases.values) {
    const fields = { spec: Object.fromEntries(cases.rules.map((_rule, at) => [`r${at}`, { value }])) };
    const answer = await create(crd, fields);
    for (const { field, message } of answer.causes)
      theirs[nameOf(cases, field, value)] = message.includes('failed rule') ? 'false' : 'broken';
    const { causes, doubts } = judge(
      {
        endpoint: 'create',
        next: { ...headOf(crd, 'another'), ...fields },
        schema: crd.versions[0]?.schema ?? {},
        hasStatus: true,
      },
      ERAS[era],
    );
    for (const { path, message } of causes)
      ours[nameOf(cases, path.join('.'), value)] = message.startsWith('failed rule') ? 'false' : 'broken';
    for (const { path } of doubts) ours[nameOf(cases, path.join('.'), value)] = 'undecided';
  }
  return { theirs, ours };
}

/** The minor version up to which a server of 1.34 takes functions in new rules. It knows more, and evaluates them in definitions that a newer server has stored. */
const NEWEST = 33;

/** Puts other rules in the place of those that are stored, behind the server's back, and waits until it judges by them. */
async function store(crd: Crd, instead: ReadonlyMap<string, string>): Promise<void> {
  const flags = readFileSync(`/proc/${sandbox.etcd.pid}/cmdline`, 'utf8').split('\0');
  const [url = ''] = flags.flatMap((flag) => /^--advertise-client-urls=(.*)$/.exec(flag)?.[1] ?? []);
  const call = async (verb: string, body: JsonObject): Promise<{ readonly kvs?: readonly { value: string }[] }> => {
    const answer = await fetch(`${url}/v3/kv/${verb}`, { method: 'POST', body: JSON.stringify(body) });
    return answer.json() as Promise<{ readonly kvs?: readonly { value: string }[] }>;
  };
  const key = btoa(`/registry/apiextensions.k8s.io/customresourcedefinitions/${crd.name}`);
  const { kvs = [] } = await call('range', { key });
  const before = Buffer.from(kvs[0]?.value ?? '', 'base64').toString();
  const tag = /"(tag-\d+)"/.exec(before)?.[1] ?? '';
  let after = before.replaceAll(tag, `${tag}-stored`);
  for (const [old, by] of instead)
    after = after.replace(JSON.stringify(old), JSON.stringify(by).replaceAll('$', '$$$$'));
  await call('put', { key, value: Buffer.from(after).toString('base64') });
  const deadline = performance.now() + 60_000;
  while (!JSON.stringify((await create(crd, { [PROBE]: 'none' })).causes).includes(`${tag}-stored`))
    assert.ok(performance.now() < deadline, 'the stored definition is read');
}
type Said = Record<string, string>;

/** A rule of a value, as one of what holds it. */
function withValue(rule: string): string {
  return rule.replaceAll(/(?<![\w.])self\b/g, 'self.value');
}

function nameOf({ rules: all }: CelCases, field: string, value: Json): string {
  return `${all[Number(/r(\d+)/.exec(field)?.[1])]} on ${JSON.stringify(value)}`;
}

for (const era of API_SERVER_ERAS) {
  suite(`narrowings on ${era}`, { skip: SKIPS_JUDGED || skips(era) }, () => {
    const e2 = era === 'E2';

    before(async () => {
      if (sandbox.era !== era) await sandbox.switchEra(era);
    });

    test(`TRUTH-14 on ${era}: has() of an item, a key and a call is what the server says it is`, async () => {
      const asked: readonly (readonly [string, Json])[] = [
        ['has(self.list[0].a)', { list: [{ a: 'x' }] }],
        ['has(self.list[0].a)', { list: [{ b: 'x' }] }],
        ['has(self.list[0].a)', { list: [] }],
        ["has(self.keys['k.)'].a)", { keys: { 'k.)': { a: 'x' } } }],
        ["has(self.keys['none'].a)", { keys: { 'k.)': { a: 'x' } } }],
        ['has(self.list.filter(one, has(one.a))[0].b)', { list: [{ b: 'y' }, { a: 'x', b: 'y' }] }],
        ['has(self.list.filter(one, has(one.a))[0].b)', { list: [{ b: 'y' }, { a: 'x' }] }],
        ["size(self.list) != 1 || !has(self.list[0].a) || self.list[0].a == 'x'", { list: [{ a: 'y' }] }],
        ["size(self.list) != 1 || !has(self.list[0].a) || self.list[0].a == 'x'", { list: [] }],
      ];
      const entry = object({ a: text, b: text });
      const node = (rule: string): JsonObject =>
        object(
          {
            list: list(entry, { maxItems: 5 }),
            keys: { type: 'object', maxProperties: 5, additionalProperties: entry },
          },
          rules(rule),
        );
      const spec = object(Object.fromEntries(asked.map(([rule], at) => [`r${at}`, node(rule)])));
      const crd = crdOf('presents', halves(spec, object({})));
      const value = Object.fromEntries(asked.map(([, one], at) => [`r${at}`, one]));
      await setTrap(server, crd, undefined, {});
      const { causes } = judge(
        {
          endpoint: 'create',
          next: { ...headOf(crd, 'another'), spec: value },
          schema: crd.versions[0]?.schema ?? {},
          hasStatus: true,
        },
        ERAS[era],
      );
      const ours = causes.map(({ path, reason }) => `${path.join('.')} ${reason}`).toSorted();
      assert.deepEqual(causesOf(await create(crd, { spec: value })), ours);
      assert.deepEqual(
        ours.map((cause) => cause.split(' ', 1)[0]),
        ['spec.r1', 'spec.r2', 'spec.r4', 'spec.r6', 'spec.r7'],
      );
    });

    test(`TRUTH-14 on ${era}: macros and functions of Kubernetes say of a value what the server says`, async (t) => {
      const mostOf = e2 ? 35 : 31;
      let asked = 0;
      for (const cases of CEL_CASES.filter(({ since }) => since <= mostOf)) {
        const { theirs, ours } = await saidBy(cases, era);
        assert.deepEqual(ours, theirs);
        asked += cases.rules.length * cases.values.length;
        const broken = Object.values(theirs).filter((said) => said === 'broken').length;
        assert.ok(Object.keys(theirs).length > 0, 'some rules are false');
        t.diagnostic(
          `${cases.rules.length * cases.values.length} answers, ${Object.keys(theirs).length} no, ${broken} broken`,
        );
      }
      assert.ok(asked > 1000, `${asked} answers`);
    });

    test(`TRUTH-14 on ${era}: a rule with an optional old value is asked on every write`, {
      skip: era === 'E0',
    }, async () => {
      const asked = [
        '!oldSelf.hasValue() || self == oldSelf.value()',
        'oldSelf.hasValue()',
        "oldSelf.orValue('a') == self",
        'oldSelf.optMap(old, size(old)).orValue(1) == size(self)',
        'oldSelf.value() == self',
        'oldSelf == optional.of(self) || oldSelf == optional.none()',
      ];
      const short = { ...text, maxLength: 5 };
      const fields = Object.fromEntries(asked.map((_rule, at) => [`r${at}`, short]));
      const ruled = Object.fromEntries(
        asked.map((rule, at) => [
          `r${at}`,
          { ...short, 'x-kubernetes-validations': [{ rule, optionalOldSelf: true }] },
        ]),
      );
      const [wide, narrow] = narrowing(
        'optionals',
        halves(object({ ...fields, other: text }), object({})),
        halves(object({ ...ruled, other: text }), object({})),
      );
      const all = (value: string): JsonObject => Object.fromEntries(asked.map((_rule, at) => [`r${at}`, value]));
      const trap = await setTrap(server, wide, narrow, { spec: all('a') });
      const schema = narrow.versions[0]?.schema ?? {};
      const judged = (endpoint: 'create' | 'main', next: JsonObject, stored?: JsonObject): readonly string[] => {
        const { causes, doubts } = judge(
          { endpoint, next, schema, hasStatus: true, ...(stored && { stored }) },
          ERAS[era],
        );
        return [
          ...causes.map(({ path, reason }) => `${path.join('.')} ${reason}`),
          ...doubts.map(({ path }) => `${path.join('.')} undecided`),
        ].toSorted();
      };
      const head = headOf(narrow, 'another');
      const answers: (readonly string[])[] = [];
      for (const value of ['a', 'ab', 'x']) {
        const theirs = causesOf(await create(narrow, { spec: all(value) }));
        assert.deepEqual(judged('create', { ...head, spec: all(value) }), theirs, `created with ${value}`);
        const stored = await trap.get();
        const next = { ...stored, spec: { ...all(value), other: value } };
        const updated = causesOf(await trap.put({ spec: next.spec }));
        assert.deepEqual(judged('main', next, stored), updated, `updated to ${value}`);
        answers.push(theirs, updated);
      }
      assert.ok(new Set(answers.map(String)).size >= 4, 'the answers differ');
    });

    test(`RB-R47 on ${era}: in a list of type map each item is overlooked for itself, in any order`, async () => {
      const item = (name: JsonObject): JsonObject =>
        list(object({ key: text, name }, { required: ['key'] }), {
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['key'],
        });
      const status = (name: JsonObject): JsonObject => object({ items: item(name) });
      const [wide, narrow] = narrowing(
        'keyeds',
        halves(object({}), status(text)),
        halves(object({}), status({ ...text, enum: ['a'] })),
      );
      const items = [
        { key: '1', name: 'a' },
        { key: '2', name: 'gone' },
      ];
      const trap = await setTrap(server, wide, narrow, { spec: {}, status: { items } });
      const more = [...items.toReversed(), { key: '3', name: 'a' }];
      assert.equal((await trap.putStatus({ items: more })).status, e2 ? 200 : 422);
      assert.equal((await trap.putStatus({ items: [...more, { key: '4', name: 'gone' }] })).status, 422);
    });

    test(`RB-R52 on ${era}: a field that the root of the status requires stops every write of the status until it is there`, async () => {
      const fields = { a: text, b: text };
      const [wide, narrow] = narrowing(
        'requireds',
        halves(object({}), object(fields)),
        halves(object({}), object(fields, { required: ['b'] })),
      );
      const trap = await setTrap(server, wide, narrow, { spec: {}, status: { a: 'x' } });
      const refused = await trap.putStatus({ a: 'y' });
      assert.deepEqual(causesOf(refused), [`${era === 'E0' ? 'b' : 'status.b'} FieldValueRequired`]);
      assert.equal((await trap.putStatus({ a: 'y', b: '' })).status, 200);
    });

    test(`RB-R53 on ${era}: a rule at the root stops a label, a rule of a field that nobody touches warns`, async () => {
      const fields = { a: text };
      const [wide, narrow] = narrowing(
        'rooteds',
        halves(object(fields), object(fields)),
        halves(object({ a: { ...text, ...rules("self != 'x'") } }), object(fields)),
      );
      const trap = await setTrap(server, wide, narrow, { spec: { a: 'x' }, status: { a: 'x' } });
      const field = await trap.merge(label());
      assert.equal(field.status, era === 'E0' ? 422 : 200);
      if (era !== 'E0') assert.match(field.warnings.join(), /spec\.a/);
      const root = crdOf('rooteds', halves(object(fields), object(fields), rules("self.spec.a != 'x'")));
      await server.install(root);
      assert.deepEqual(causesOf(await trap.merge(label())), ['<nil> FieldValueInvalid']);
      assert.deepEqual(causesOf(await trap.putStatus({ a: 'y' })), ['<nil> FieldValueInvalid']);
    });

    test(`RB-R54 on ${era}: a rule of the spec and a write of the status`, async () => {
      const fields = { a: text };
      const [wide, narrow] = narrowing(
        'specs',
        halves(object(fields), object(fields)),
        halves(object({ a: { ...text, ...rules("self != 'x'") } }), object(fields)),
      );
      const trap = await setTrap(server, wide, narrow, { spec: { a: 'x' }, status: { a: 'x' } });
      assert.deepEqual(causesOf(await trap.putStatus({ a: 'y' })), e2 ? [] : ['spec.a FieldValueInvalid']);
    });

    test(`RB-R55 on ${era}: a write of the status erases what the definition does not know any more of the spec`, async () => {
      const fields = { a: text };
      const [wide, narrow] = narrowing(
        'pruneds',
        halves(object({ a: text, b: text }), object(fields)),
        halves(object(fields), object(fields)),
      );
      const trap = await setTrap(server, wide, narrow, { spec: { a: 'x', b: 'y' }, status: { a: 'x' } });
      assert.deepEqual((await trap.get())['spec'], { a: 'x' });
      await server.install(wide);
      assert.deepEqual((await trap.get())['spec'], { a: 'x', b: 'y' }, 'only hidden, as long as nobody writes');
      await server.install(narrow);
      assert.equal((await trap.putStatus({ a: 'z' })).status, 200);
      await server.install(wide);
      assert.deepEqual((await trap.get())['spec'], { a: 'x' });
    });

    test(`RB-R56 on ${era}: a field of another type`, async (t) => {
      const [wide, narrow] = narrowing(
        'typeds',
        halves(object({ a: text, b: text }), object({ a: text })),
        halves(object({ a: number, b: text }), object({ a: text })),
      );
      const trap = await setTrap(server, wide, narrow, { spec: { a: 'x', b: 'x' } });
      assert.equal((await trap.put({ spec: { a: 'x', b: 'y' } })).status, era === 'E0' ? 422 : 200);
      const applied = await trap.apply({ spec: { b: 'z' } });
      t.diagnostic(`apply of another field answers ${applied.status}: ${applied.message}`);
      assert.ok(applied.status >= 400, 'what is stored cannot be merged by its type');
      assert.equal((await trap.patch([{ op: 'remove', path: '/spec/a' }])).status, 200);
    });

    test(`RB-R57 on ${era}: duplicates in a list that becomes a set`, async (t) => {
      const [wide, narrow] = narrowing(
        'sets',
        halves(object({ a: list(text), b: text }), object({})),
        halves(object({ a: list(text, { 'x-kubernetes-list-type': 'set' }), b: text }), object({})),
      );
      const a: Json = ['x', 'x'];
      const trap = await setTrap(server, wide, narrow, { spec: { a, b: 'x' } });
      assert.equal((await trap.put({ spec: { a, b: 'y' } })).status, 200, 'what was wrong before is not looked at');
      assert.equal((await trap.put({ spec: { a: ['x', 'x', 'y', 'y'] } })).status, 200, 'nor are new duplicates');
      assert.deepEqual(causesOf(await create(narrow, { spec: { a } })), ['spec.a[1] FieldValueDuplicate']);
      const applied = await trap.apply({ spec: { a } });
      t.diagnostic(`apply of the list answers ${applied.status}: ${applied.message}`);
      assert.ok(applied.status >= 400);
    });

    test(`RB-R58 on ${era}: a value that must not change cannot be healed, with an optional old value neither`, async () => {
      const immutable = { ...text, enum: ['a', 'b'], ...rules('self == oldSelf') };
      const optional = {
        ...text,
        enum: ['a', 'b'],
        'x-kubernetes-validations': [{ rule: '!oldSelf.hasValue() || self == oldSelf.value()', optionalOldSelf: true }],
      };
      const status = (two: JsonObject): JsonObject => halves(object({}), object({ one: immutable, two }));
      const [wide, narrow] = narrowing(
        'fixeds',
        halves(object({}), object({ one: text, two: text })),
        status(era === 'E0' ? immutable : optional),
      );
      const trap = await setTrap(server, wide, narrow, { spec: {}, status: { one: 'gone', two: 'gone' } });
      const refused = await trap.putStatus({ one: 'a', two: 'b' });
      assert.deepEqual(causesOf(refused), ['status.one FieldValueInvalid', 'status.two FieldValueInvalid']);
      assert.equal((await trap.putStatus({})).status, 200, 'it can be taken away');
      assert.equal((await trap.putStatus({ one: 'a', two: 'b' })).status, 200, 'and be set anew');
      // Without ratcheting a server does not know optional old values, and takes no definition that uses them.
      if (era === 'E0') await assert.rejects(server.install(crdOf('fixeds', status(optional))), /hasValue/);
    });

    test(`RB-R61 on ${era}: the server tells what it is and what it emulates`, async (t) => {
      const { object: version } = await server.call({ method: 'GET', path: '/version' });
      assert.equal(version['gitVersion'], era === 'E1' ? 'v1.32.13' : 'v1.34.4');
      if (era === 'E0') assert.equal(version['emulationMinor'] ?? version['minor'], '32');
      t.diagnostic(JSON.stringify(version));
    });

    test(`RB-R62 on ${era}: the time from the change of a definition to the first verdict by it`, async (t) => {
      const times: number[] = [];
      for (let at = 0; at < 10; at++)
        times.push(await server.install(crdOf('switcheds', halves(object({}), object({ [`f${at}`]: text })))));
      const [longest = 0] = times.slice(1).toSorted((a, b) => b - a);
      t.diagnostic(`${times.map((ms) => ms.toFixed(0)).join(', ')} ms`);
      assert.ok(longest < 10_000, `${longest} ms`);
    });
  });
}
