import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLedger } from '@drydock/crd';
import { capabilitiesOf, clusterVersionManifest, memoryStore } from '@drydock/crd/testing';
import type { MemoryKubeClient } from '@drydock/kube/testing';
import { explore, soaking, type Tripwire } from '@drydock/model';
import { conflict, type RescueWorld, refusal, rescueWorld } from '../testing/rescue-world.ts';
import { nextRescueStep, type RescueStep } from './decide.ts';
import { observePatient, type Patient } from './patient.ts';
import { type RescueOptions, type RescueOutcome, rescue } from './rescue.ts';
import { Pod, type WriterPod } from './writer-pods.ts';

type Fault = 'killed' | 'answer lost' | 'conflict';

const C8 = capabilitiesOf(13);
const C12 = capabilitiesOf(14);

/** One process, from its start to its end; the writer tries whenever something was changed, and while it is waited for. */
async function run(
  world: RescueWorld,
  tripwire?: Tripwire<Fault>,
  how: Partial<RescueOptions> & { readonly careless?: boolean; readonly mute?: boolean } = {},
): Promise<RescueOutcome> {
  const client: MemoryKubeClient = world.cluster.client();
  world.cluster.onCall = ({ path, resource, verb }, phase, { mutates }) => {
    if (phase === 'before') {
      if (world.refuseDryRuns && path.includes('dryRun')) throw refusal();
      const fault = tripwire?.hit(`${verb} ${resource}`);
      if (fault === 'conflict' && mutates) throw conflict();
      if (fault === 'killed') kill(client);
      lost = fault === 'answer lost';
      return;
    }
    if (mutates && how.mute !== true) world.tick();
    if (lost) kill(client);
  };
  let lost = false;
  let time = 0;
  // What is kept in memory alone is gone with the process.
  const forgetful = createLedger({ store: memoryStore() });
  const ports = world.ports(client, how.careless === true ? () => forgetful : undefined);
  try {
    return await rescue(world.wish, ports, {
      restart: false,
      forceDelete: false,
      patience: 10_000,
      clock: {
        now: () => time,
        sleep: async (ms) => {
          time += ms;
          if (how.mute !== true) world.tick();
        },
      },
      onStep: () => undefined,
      ...how,
    });
  } finally {
    world.cluster.onCall = undefined;
  }
}

function kill(client: MemoryKubeClient): never {
  client.kill();
  throw new Error('killed');
}

/** At every instant somebody knows what was meant. */
function watched(): { readonly world: RescueWorld; readonly lost: string[] } {
  const world = rescueWorld();
  const lost: string[] = [];
  world.cluster.subscribe(({ resource }) => {
    const missing = C12.filter((name) => !world.meant().includes(name));
    if (missing.length > 0) lost.push(`after a change of ${resource} nobody knows ${missing.join(', ')}`);
  });
  return { world, lost };
}

test('a status that every write is refused for is freed, whoever is killed or outrun at any call; nothing is lost', async (t) => {
  const coverage = await explore<ReturnType<typeof watched>, Fault>({
    setup: watched,
    faults: ['killed', 'answer lost', 'conflict'],
    depth: soaking ? 2 : 1,
    // Whoever is killed at a call that only looks has done as much as one who is killed at the change before it.
    tries: (_fault, place, earlier) => earlier === 0 || /^(create|replace|delete)/.test(place),
    run: async ({ world }, tripwire) => {
      const outcome = await run(world, tripwire);
      assert.notEqual(outcome.kind, 'hopeless');
    },
    check: ({ world, lost }) => {
      assert.deepEqual(lost, []);
      assert.deepEqual(world.enabled(), C8);
      assert.deepEqual(world.meant(), C12);
      assert.equal(world.records(), 0);
      assert.ok(world.taken > 0, 'the writer has written');
    },
  });
  t.diagnostic(`${coverage.scenarios} histories, ${coverage.places.length} calls`);
  assert.ok(coverage.places.length >= 15, coverage.places.join(', '));
});

test('control: whoever writes before the ledger has it is caught', async () => {
  const { world, lost } = watched();
  assert.equal((await run(world, undefined, { careless: true })).kind, 'free');
  assert.match(lost.join('; '), /nobody knows Build/);
});

test('a stored status that is legal is left alone, and with restart its writer begins anew', async () => {
  const { world } = watched();
  assert.equal((await run(world)).kind, 'free');
  const before = world.cluster.version;
  assert.deepEqual(await run(world), { kind: 'healthy' });
  assert.equal(world.cluster.version, before);
  const again = await run(world, undefined, { restart: true });
  assert.equal(again.kind, 'free');
});

test('a writer that never writes is told, and the same call goes on later', async () => {
  const { world } = watched();
  const silent = await run(world, undefined, { mute: true });
  assert.equal(silent.kind, 'silent');
  assert.equal(world.records(), 1);
  assert.deepEqual(world.meant(), C12);
  assert.equal((await run(world)).kind, 'free');
});

test('a definition that refuses what nobody may leave out is told, and nothing is written', async () => {
  const { world } = watched();
  // Parts of it are one object in several places.
  const narrow = JSON.parse(JSON.stringify(clusterVersionManifest(13))) as Definition;
  const { status } = narrow.spec.versions[0].schema.openAPIV3Schema.properties;
  status.properties.desired.properties.version.enum = ['another'];
  world.define(narrow);
  const before = world.cluster.version;
  const outcome = await run(world);
  assert.equal(outcome.kind, 'hopeless');
  assert.match(outcome.kind === 'hopeless' ? outcome.why : '', /refuses what nobody may leave out.*desired/);
  assert.equal(world.cluster.version, before);
});

test('REL-7 a definition that refuses the spec is told, and nothing is written', async () => {
  const { world } = watched();
  const narrow = JSON.parse(JSON.stringify(clusterVersionManifest(13))) as Definition;
  const { spec } = narrow.spec.versions[0].schema.openAPIV3Schema.properties;
  spec.properties['clusterID'] = { type: 'string', enum: ['another'] };
  world.define(narrow);
  const before = world.cluster.version;
  const outcome = await run(world);
  assert.equal(outcome.kind, 'hopeless');
  assert.match(outcome.why, /refuses what nobody may leave out.*spec\.clusterID/);
  assert.equal(world.cluster.version, before);
});

test('REL-7 a rule of the whole object that one field of the status breaks is satisfied by leaving it out', async () => {
  const { world } = watched();
  const narrow = JSON.parse(JSON.stringify(clusterVersionManifest(13))) as Definition;
  const root = narrow.spec.versions[0].schema.openAPIV3Schema;
  root['x-kubernetes-validations'] = [{ rule: '!has(self.status.capabilities)', message: 'no capabilities here' }];
  world.define(narrow);
  const patient = await observePatient(world.wish, world.ports(world.cluster.client()));
  assert.deepEqual(patient.stuck, []);
  assert.equal(patient.illegal[0]?.path, 'status.capabilities');
  assert.ok(!('capabilities' in (patient.cure?.status ?? {})));
  assert.deepEqual(
    patient.cure?.lost.map(({ at }) => at),
    [['capabilities']],
  );
  // What nobody may leave out is never tried.
  root['x-kubernetes-validations'] = [{ rule: '!has(self.status.desired)', message: 'no' }];
  world.define(narrow);
  assert.equal((await run(world)).kind, 'hopeless');
});

test('a server that refuses what may come next is told, and the next call proves it anew', async () => {
  const { world } = watched();
  const refused = await run(world, undefined, {
    onStep: ({ kind }) => {
      if (kind === 'prove') world.refuseDryRuns = true;
    },
  });
  assert.deepEqual(
    [refused.kind, refused.kind === 'refused' ? refused.proofs.map(({ verdict }) => verdict.accepted) : []],
    ['refused', [false, false, false]],
  );
  assert.equal(world.records(), 1);
  world.refuseDryRuns = false;
  assert.equal((await run(world)).kind, 'free');
});

test('a pod that came between the note and the write is restarted, too: it has read what is refused', async () => {
  const { world } = watched();
  let first = true;
  const outcome = await run(world, undefined, {
    onStep: ({ kind }) => {
      if (kind === 'save' && first) world.startPod();
      first = false;
    },
  });
  assert.equal(outcome.kind, 'free');
});

test('REL-2 a pod that only has the labels of the writer is left alone', async () => {
  const { world } = watched();
  const name = world.strangePod();
  assert.equal((await run(world)).kind, 'free');
  assert.ok(world.cluster.peek(Pod, { namespace: 'cvo', name }) !== undefined);
});

test('REL-2 an eviction that a PodDisruptionBudget forbids is tried for five minutes, and then told by its name', async () => {
  const { world } = watched();
  world.budget = 'keep-one';
  const outcome = await run(world, undefined, { mute: true });
  assert.equal(outcome.kind, 'unrestarted');
  assert.match(outcome.why, /disruption budget keep-one/);
  assert.equal(outcome.seconds, 300);
  // The same call goes on once it is allowed, or by force.
  assert.equal((await run(world, undefined, { forceDelete: true })).kind, 'free');
});

test('REL-2 pods are evicted one at a time: the next one when its predecessor is followed by one that is ready', async () => {
  const { world } = watched();
  world.startPod();
  const patient = await observePatient(world.wish, world.ports(world.cluster.client()));
  const record = { object: 'version', wrote: '', since: '', pods: patient.writer?.pods.map(({ uid }) => uid) ?? [] };
  const { cure: _, ...uncured } = patient;
  const legal: Patient = { ...uncured, record };
  const [old, other] = patient.writer?.pods ?? [];
  assert.ok(old !== undefined && other !== undefined);
  const step = (pods: readonly WriterPod[], missing = 0): RescueStep =>
    nextRescueStep({ ...legal, writer: { pods, missing } }, { restart: false, now: '' });
  assert.deepEqual(step([old, other]), { kind: 'restart', pod: old });
  const wait = { kind: 'wait', for: 'ready', before: other };
  assert.deepEqual(step([other], 1), wait, 'its successor is not there yet');
  const successor = { ...old, uid: 'successor', ready: false };
  assert.deepEqual(step([other, successor]), wait, 'its successor is not ready yet');
  assert.deepEqual(
    step([old, { ...other, ready: false }]),
    { kind: 'restart', pod: old },
    'a stuck pod need not be ready',
  );
  assert.deepEqual(step([{ ...old, ending: true }, other]), { ...wait, before: { ...old, ending: true } });
  assert.deepEqual(step([other, { ...successor, ready: true }]), { kind: 'restart', pod: other });
});

test('what somebody deletes of the ledger while nobody rescues is kept again before it is taken out', async () => {
  const { world, lost } = watched();
  await assert.rejects(run(world, { hit: (place) => (place.startsWith('replaceStatus') ? 'killed' : undefined) }));
  world.forget();
  assert.equal((await run(world)).kind, 'free');
  assert.deepEqual([lost, world.meant()], [[], C12]);
});

interface Definition {
  readonly spec: {
    readonly versions: [
      {
        readonly schema: {
          readonly openAPIV3Schema: {
            'x-kubernetes-validations'?: readonly object[];
            readonly properties: {
              readonly spec: { readonly properties: Record<string, object> };
              readonly status: {
                readonly properties: {
                  readonly desired: { readonly properties: { readonly version: { enum?: string[] } } };
                };
              };
            };
          };
        };
      },
    ];
  };
}
