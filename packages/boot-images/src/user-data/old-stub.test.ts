import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BootImage, ConfigMap, MachineSet, Secret } from '@drydock/api';
import { keyOf } from '@drydock/kube';
import { explore } from '@drydock/model';
import { explainSet } from '../explain.ts';
import { runPass } from '../pass/pass.ts';
import { createPassState } from '../pass/pass-state.ts';
import { imageOf } from '../status/boot-image-store.ts';
import {
  computed,
  type FakeCluster,
  machineSet,
  newRelease,
  oldRelease,
  published,
  stream,
  stub22,
} from '../testing/fake-cluster.ts';
import { type ReportingCluster, reportingCluster } from '../testing/reporting-cluster.ts';
import type { Pin } from '../way-back/pin.ts';
import { isBefore } from './old-stub.ts';

const namespace = 'openshift-machine-api';
const own = { namespace, name: 'worker-user-data' };
const kept = { namespace, name: 'worker-user-data-ignition-2' };
const base64 = (text: string): string => Buffer.from(text).toString('base64');
const secretIn = ({ client }: FakeCluster, key: typeof own): Secret | undefined => client.peek(Secret, key);
const named = ({ client }: FakeCluster): unknown =>
  client.peek(MachineSet, { namespace, name: 'wk-a' })?.spec?.template?.spec?.providerSpec?.value?.['userDataSecret'];
const old: Pin = { release: oldRelease, image: computed };

function pin({ cluster }: ReportingCluster, wanted: Pin | undefined): void {
  const image = cluster.client.peek(BootImage, keyOf(imageOf(machineSet('wk-a')))) ?? imageOf(machineSet('wk-a'));
  const { pin: _, ...spec } = image.spec ?? {};
  cluster.client.put(BootImage, { ...image, spec: { ...spec, ...(wanted === undefined ? {} : { pin: wanted }) } });
}

function release({ cluster }: ReportingCluster, next: string): void {
  const key = { namespace: 'openshift-machine-config-operator', name: 'coreos-bootimages' };
  cluster.client.put(ConfigMap, { metadata: key, data: { stream: stream.replaceAll(newRelease, next) } });
}

/** A set that was moved, and its stub converted with it. */
async function moved(): Promise<ReportingCluster> {
  const c = reportingCluster({ userData: stub22 });
  await c.pass();
  assert.equal(c.cluster.template('wk-a'), published);
  return c;
}

test('FIND-9 the old stub is kept in an immutable Secret of ours before the stub is converted, and nowhere else', async () => {
  const { cluster } = await moved();
  const secret = secretIn(cluster, kept);
  assert.deepEqual([secret?.data, secret?.immutable], [{ userData: base64(stub22) }, true]);
  assert.equal(secret?.metadata.labels?.['drydock.dev/old-stub'], 'true');
  const annotations = JSON.stringify([secretIn(cluster, own)?.metadata.annotations, secret.metadata.annotations]);
  assert.ok(!annotations.includes('api-int'), annotations);
  const others = JSON.stringify([...cluster.client.objects].filter(([id]) => !id.startsWith('secrets')));
  assert.ok(!['config/worker', 'QQ==', base64(stub22)].some((part) => others.includes(part)));
});

for (const [what, change, nextStep] of [
  ['is not there', undefined, /kubectl apply -k deploy\/rbac\/boot-images/],
  ["is somebody else's", { metadata: kept, data: { userData: base64('{}') } }, /rename or delete it/],
  [
    'keeps another stub',
    { metadata: { ...kept, labels: { 'drydock.dev/old-stub': 'true' } }, immutable: true, data: { userData: 'e30=' } },
    /delete secret worker-user-data-ignition-2/,
  ],
] as const)
  test(`FIND-9 where the Secret that is to keep the old stub ${what}, nothing is uploaded, converted or overwritten`, async () => {
    const { cluster, pass, image } = reportingCluster({ userData: stub22 });
    cluster.client.objects.delete(`secrets ${namespace}/${kept.name}`);
    if (change !== undefined) cluster.client.put(Secret, change);
    const before = secretIn(cluster, kept);
    await pass();
    assert.deepEqual([image()?.status?.phase, image()?.status?.reason], ['Blocked', 'OldStubNotKept']);
    assert.match(image()?.status?.nextStep ?? '', nextStep);
    assert.deepEqual([cluster.store.uploads, cluster.template('wk-a')], [0, computed]);
    assert.deepEqual(secretIn(cluster, kept), before);
    assert.equal(secretIn(cluster, own)?.data?.['userData'], base64(stub22));
  });

test('FIND-9 a revert to the image of before names the old stub, and the next release the converted one', async () => {
  const c = await moved();
  pin(c, old);
  const set = c.cluster.client.peek(MachineSet, { namespace, name: 'wk-a' });
  assert.ok(set !== undefined);
  const { answers } = await explainSet(set, c.ports);
  assert.match(
    answers.find(({ question }) => question === 'stub')?.text ?? '',
    /switched to Secret worker-user-data-ignition-2/,
  );
  await c.pass();
  assert.deepEqual([c.cluster.template('wk-a'), named(c.cluster)], [computed, { name: kept.name }]);
  assert.equal(c.image()?.status?.phase, 'Current');
  await c.pass();
  assert.deepEqual(named(c.cluster), { name: kept.name }, 'it stays there');
  pin(c, undefined);
  await c.pass();
  assert.deepEqual([c.cluster.template('wk-a'), named(c.cluster)], [published, { name: own.name }]);
  // An image of after the conversion gets the converted stub, also by a pin.
  release(c, '9.9.20261001-0');
  await c.pass();
  pin(c, { release: newRelease, image: published });
  await c.pass();
  assert.deepEqual([c.cluster.template('wk-a'), named(c.cluster)], [published, { name: own.name }]);
});

test('FIND-9 a set that goes back without an old stub says that its machines start with the converted one', async () => {
  const c = await moved();
  c.cluster.client.objects.delete(`secrets ${namespace}/${kept.name}`);
  pin(c, old);
  const set = c.cluster.client.peek(MachineSet, { namespace, name: 'wk-a' }) ?? assert.fail('a set');
  const { answers, step } = await explainSet(set, c.ports);
  const stub = answers.find(({ question }) => question === 'stub');
  assert.equal(stub?.answer, 'unknown');
  assert.match(stub.text, /Secret worker-user-data-ignition-2 does not keep the old stub/);
  assert.equal(step, 'switch', 'the doubt stops nothing');
});

test('FIND-9 an old stub that is put back is converted again, and what counts as before stays as it was', async () => {
  const c = await moved();
  const at = 'machineconfiguration.openshift.io/stub-ignition-upgraded-at';
  const first = secretIn(c.cluster, own)?.metadata.annotations?.[at];
  const before = secretIn(c.cluster, own) ?? assert.fail('a Secret');
  c.cluster.clock += 24 * HOUR;
  c.cluster.client.put(Secret, { ...before, data: { userData: base64(stub22) } });
  release(c, '9.9.20261001-0');
  await c.pass();
  const after = secretIn(c.cluster, own);
  assert.notEqual(after?.data?.['userData'], base64(stub22), 'it is converted');
  assert.ok(first !== undefined);
  assert.equal(after?.metadata.annotations?.[at], first);
});

test('FIND-9 a converted stub whose copy cannot be sealed is no failed conversion; the collection seals the copy', async () => {
  const c = reportingCluster({ userData: stub22 });
  let refused = 0;
  const { client } = c.cluster;
  const replace = client.replace.bind(client);
  client.replace = (async (kind, object, options) => {
    if (object.metadata.name === kept.name && (object as Secret).immutable === true && refused === 0) {
      refused += 1;
      throw new Error('the connection broke');
    }
    return replace(kind, object, options);
  }) as typeof client.replace;
  await c.pass();
  assert.equal(refused, 1);
  assert.deepEqual([c.image()?.status?.phase, c.cluster.template('wk-a')], ['Current', published]);
  assert.equal(secretIn(c.cluster, kept)?.immutable, true);
});

const HOUR = 3_600_000;

test('FIND-9 the old stub goes one generation later, when no revert would need it, and not before', async () => {
  const c = await moved();
  const later = async (): Promise<boolean> => {
    c.cluster.clock += HOUR;
    await c.pass();
    return secretIn(c.cluster, kept) !== undefined;
  };
  assert.equal(await later(), true, 'a revert goes to the image of before the conversion');
  pin(c, old);
  assert.equal(await later(), true, 'the set names it');
  pin(c, undefined);
  assert.equal(await later(), true);
  release(c, '9.9.20261001-0');
  pin(c, { release: oldRelease });
  assert.equal(await later(), true, 'a pin wants the image of before');
  pin(c, undefined);
  await c.pass();
  // What was reverted from is no way back: the one before it is.
  release(c, '9.9.20261101-0');
  await c.pass();
  assert.equal(await later(), false);
  assert.ok(c.cluster.events.some((event) => event.includes(`GarbageCollected secret ${kept.name}`)));
});

test('FIND-9 a Secret of that name that is not ours is never deleted, and neither is the only stub that there is', async () => {
  for (const change of ['foreign', 'no other', 'old again'] as const) {
    const c = await moved();
    const secret = secretIn(c.cluster, kept);
    assert.ok(secret !== undefined);
    if (change === 'foreign') c.cluster.client.put(Secret, { ...secret, metadata: { ...secret.metadata, labels: {} } });
    release(c, '9.9.20261001-0');
    await c.pass();
    if (change === 'no other') c.cluster.client.objects.delete(`secrets ${namespace}/${own.name}`);
    if (change === 'old again') c.cluster.client.put(Secret, { metadata: own, data: secret.data ?? {} });
    c.cluster.clock += HOUR;
    await c.pass();
    assert.deepEqual(secretIn(c.cluster, kept)?.data, secret.data, change);
  }
});

test('FIND-9 the old stub that an administrator deletes is missed by name while a set names it, and by nobody else', async () => {
  const gone = `secrets ${namespace}/${kept.name}`;
  const c = await moved();
  c.cluster.client.objects.delete(gone);
  pin(c, old);
  await c.pass();
  assert.deepEqual([c.cluster.template('wk-a'), named(c.cluster)], [computed, { name: own.name }]);
  const other = await moved();
  pin(other, old);
  await other.pass();
  assert.deepEqual(named(other.cluster), { name: kept.name });
  const secret = secretIn(other.cluster, kept);
  other.cluster.client.objects.delete(gone);
  pin(other, undefined);
  await other.pass();
  const { status } = other.image() ?? {};
  assert.equal(status?.reason, 'UserDataUnreadable');
  assert.match(
    status?.nextStep ?? '',
    /create secret openshift-machine-api\/worker-user-data-ignition-2 or correct userDataSecret/,
  );
  assert.ok(secret !== undefined);
  other.cluster.client.put(Secret, secret);
  other.cluster.clock += HOUR;
  await other.pass();
  assert.deepEqual([other.cluster.template('wk-a'), named(other.cluster)], [published, { name: own.name }]);
});

test('FIND-9 an image that was in use before the conversion is told from one that came with it, also within one second', () => {
  const at = (since: string, until?: string) => ({ id: since, since, ...(until === undefined ? {} : { until }) });
  const [t1, t2, t3] = ['2026-08-02T00:00:01Z', '2026-08-02T00:00:02Z', '2026-08-02T00:00:03Z'];
  const same = [at(t2), at(t2, t2)] as const;
  assert.deepEqual(
    same.map((one) => isBefore(same, one, t2)),
    [false, true],
  );
  const apart = [at(t3), at(t1, t3)] as const;
  assert.deepEqual(
    apart.map((one) => isBefore(apart, one, t2)),
    [false, true],
  );
  assert.equal(isBefore(apart, apart[1], undefined), false);
  // The conversion came first, and a crash before the move.
  const first = [at(t2)] as const;
  assert.equal(isBefore(first, first[0], t2), true);
});

/** The set moves, is reverted and moves on, by processes that die at each of their writes of Secrets, alone and in pairs. */
test('FIND-9 a process dies before and after each write about a stub: nothing of it is ever lost, and the end is the same', async () => {
  const seen = new Set<string>();
  const { scenarios, places } = await explore<{ readonly c: ReportingCluster; readonly wrong: string[] }, 'dies'>({
    faults: ['dies'],
    depth: 2,
    setup: () => {
      const c = reportingCluster({ userData: stub22 });
      const wrong: string[] = [];
      const { client } = c.cluster;
      client.cluster.subscribe(() => {
        const all = [own, kept].map((key) => client.peek(Secret, key)?.data?.['userData']);
        if (!all.includes(base64(stub22))) wrong.push('the old stub is lost');
        const name = (named(c.cluster) as { readonly name: string }).name;
        const text = Buffer.from(
          client.peek(Secret, { namespace, name })?.data?.['userData'] ?? '',
          'base64',
        ).toString();
        const spec2 = text.includes('"version":"2.2.0"');
        if (c.cluster.template('wk-a') === published && spec2) wrong.push('a new image with the old stub');
        if (text === '') wrong.push('a set without a stub');
      });
      return { c, wrong };
    },
    run: async ({ c }, tripwire) => {
      const server = c.cluster.client.cluster;
      for (const wanted of [undefined, old, undefined]) {
        pin(c, wanted);
        let dead = false;
        server.onCall = ({ verb, resource }, phase, { mutates, client }) => {
          if (!mutates || !/^(secrets|machinesets)/.test(resource)) return;
          seen.add(`${verb} ${resource}`);
          if (tripwire.hit(`${phase} ${verb} ${resource}`) === undefined) return;
          dead = true;
          client.kill();
          throw new Error('the process is dead');
        };
        const client = server.client();
        try {
          c.cluster.clock += 1000;
          const ports = { ...c.ports, client };
          await runPass(ports, createPassState(new Date(0)), { reason: 'Test', touched: 'all' });
        } finally {
          server.onCall = undefined;
        }
        // Whoever comes next sees what is there, and what is wanted by then.
        if (dead) c.restart();
      }
    },
    check: async ({ c, wrong }) => {
      c.restart();
      await c.pass();
      await c.pass();
      assert.deepEqual(wrong, []);
      assert.deepEqual([c.cluster.template('wk-a'), named(c.cluster)], [published, { name: own.name }]);
      const secret = secretIn(c.cluster, kept);
      assert.deepEqual([secret?.data?.['userData'], secret?.immutable], [base64(stub22), true]);
    },
  });
  assert.deepEqual([...seen].sort(), ['patch machinesets.machine.openshift.io', 'replace secrets']);
  assert.ok(scenarios > 20, `${scenarios} scenarios at ${places.join()}`);
});

test('FIND-9 a process dies before and after the removal of an old stub: it goes all the same, and nothing else does', async () => {
  const { places } = await explore<ReportingCluster, 'dies'>({
    faults: ['dies'],
    depth: 1,
    setup: async () => {
      const c = await moved();
      release(c, '9.9.20261001-0');
      await c.pass();
      return c;
    },
    run: async (c, tripwire) => {
      const server = c.cluster.client.cluster;
      server.onCall = ({ verb, resource }, phase, { mutates, client }) => {
        if (!mutates || resource !== 'secrets') return;
        if (tripwire.hit(`${phase} ${verb} ${resource}`) === undefined) return;
        client.kill();
        throw new Error('the process is dead');
      };
      try {
        c.cluster.clock += HOUR;
        const ports = { ...c.ports, client: server.client() };
        await runPass(ports, createPassState(new Date(0)), { reason: 'Test', touched: 'all' });
      } finally {
        server.onCall = undefined;
      }
    },
    check: async (c) => {
      c.restart();
      await c.pass();
      assert.equal(secretIn(c.cluster, kept), undefined);
      assert.match(Buffer.from(secretIn(c.cluster, own)?.data?.['userData'] ?? '', 'base64').toString(), /"3\.5\.0"/);
    },
  });
  assert.deepEqual([...places].sort(), ['after delete secrets', 'before delete secrets']);
});
