import assert from 'node:assert/strict';
import { BootImage, bootImageName } from '@drydock/api';
import { capiKind } from '@drydock/boot-images/testing';
import { keyOf } from '@drydock/kube';
import { type Coverage, ExplorationError, explore, soaking, threadTests } from '@drydock/model';
import { liftPin } from '../../apps/drydock/src/image/pin-writer.ts';
import { plannedRevert } from '../../apps/drydock/src/image/planned-revert.ts';
import { writePins } from '../../apps/drydock/src/image/revert-writes.ts';
import {
  BIGGER,
  copyRotation,
  NAMES,
  namespace,
  operate,
  type RotationMistake,
  type RotationWorld,
  rotationProcess,
  rotationWorld,
  stateOfRotation,
  wantImage,
} from './way-rotation-world.ts';

const test = threadTests(import.meta.url);
const signal = new AbortController().signal;
const DEEDS = ['reverts', 'reverts to', 'releases', 'newer image', 'bad image', 'edits'] as const;
type Deed = (typeof DEEDS)[number];
type Fault = 'dies' | Deed;
const [FIRST = '', SECOND = ''] = NAMES;

/** What `drydock image revert` does of the first set, after its yes. */
async function reverts(world: RotationWorld, to: string | undefined): Promise<void> {
  await using process = await rotationProcess(world);
  const { client, role } = process;
  const id = `${namespace}/capi-md/${FIRST}`;
  const image = await client.get(BootImage, { namespace, name: bootImageName('capi-md', FIRST) }, { signal });
  const words = { by: 'alice', since: new Date(world.now).toISOString() };
  const plan = await plannedRevert({ id, image }, { to, words, allOnName: false }, async (pin) => {
    const [planned] = await role.plan({ sets: (one) => one === id, pin, signal });
    return planned;
  });
  if ('code' in plan) return;
  const would = await writePins(client, plan, { signal, dryRun: true });
  if ('code' in would) return;
  const written = await writePins(client, plan, { signal });
  if (!('code' in written)) world.ledger.waiting.push(written.images);
}

/** A mistake: the set is pointed back, and nobody is told what is wanted. */
async function edits(world: RotationWorld): Promise<void> {
  const image = world.cluster.peek(BootImage, { namespace, name: bootImageName('capi-md', FIRST) });
  const before = image?.status?.history?.[1]?.image;
  point(world, FIRST, FIRST);
  if (before !== undefined) world.ledger.done.set(FIRST, { image: before });
}

async function releases({ cluster, now }: RotationWorld): Promise<void> {
  const client = cluster.client();
  for (const name of NAMES) {
    const image = await client.get(BootImage, { namespace, name: bootImageName('capi-md', name) }, { signal });
    const pin = image.spec?.pin;
    const lifted = { by: 'person', since: new Date(now).toISOString() };
    if (pin !== undefined && now > 0) await liftPin(client, image, { pin, lifted }, signal);
  }
}

function point({ cluster, ledger }: RotationWorld, name: string, to: string): void {
  const kind = capiKind('MachineDeployment');
  const set = cluster.peek(kind, { namespace, name });
  if (set === undefined) throw new TypeError(`${name} is gone`);
  ledger.begin('person', new Map());
  const pointed = JSON.stringify(set).replace(/("infrastructureRef":\{[^}]*"name":")[^"]*/, `$1${to}`);
  cluster.put(kind, keyOf(set), JSON.parse(pointed) as typeof set);
}

type Revert = typeof reverts;

async function act(world: RotationWorld, deed: Deed, revert: Revert): Promise<void> {
  if (world.done.has(deed)) return;
  world.done.add(deed);
  if (deed === 'reverts') await revert(world, undefined);
  else if (deed === 'reverts to') await revert(world, 'r1');
  else if (deed === 'releases') await releases(world);
  else if (deed === 'newer image') wantImage(world, 'r3');
  else if (deed === 'bad image') world.fates.set(world.wanted, 'kubelet-not-ready');
  else point(world, SECOND, BIGGER);
}

interface RotationExploration {
  readonly strategy: RotationWorld['strategy'];
  readonly faults: readonly Fault[];
  readonly before?: readonly Deed[];
  readonly mistake?: RotationMistake;
  readonly revert?: Revert;
}

/** The ledger knows of every call by whom it is made; `trip` is awaited around each of the operator's that changes something. */
function onCalls({ cluster, ledger }: RotationWorld, trip: (place: string) => Promise<void> = async () => undefined) {
  cluster.onCall = async ({ verb, resource }, phase, { mutates, client }) => {
    const [plural = ''] = resource.split('.');
    if (!mutates || plural === 'events') return;
    const operates = ledger.operators.has(client);
    const issued = ledger.pins();
    if (operates && phase === 'after') await ledger.look();
    if (operates) await trip(`${phase} ${verb} ${plural}`);
    ledger.begin(operates ? 'operator' : 'person', issued);
  };
  return {
    [Symbol.dispose]: () => {
      cluster.onCall = undefined;
    },
  };
}

function exploreRotation(exploration: RotationExploration, depth: 1 | 2 = 1): Promise<Coverage> {
  const { strategy, faults, before = [], mistake, revert = reverts } = exploration;
  return explore<RotationWorld, Fault>({
    ...{ faults, depth },
    setup: async () => {
      const world = await rotationWorld(strategy);
      using _ = onCalls(world);
      for (const deed of before) {
        await act(world, deed, revert);
        await operate(world, undefined, mistake);
      }
      return world;
    },
    worlds: {
      copy: copyRotation,
      state: stateOfRotation,
      holds: ({ ledger }) => {
        const [first] = ledger.wrong;
        if (first !== undefined) throw new Error(first);
      },
    },
    tries: (fault, place) => (place === 'begin' ? fault !== 'dies' : (fault === 'dies') === place.startsWith('after')),
    run: async (world, tripwire) => {
      await using process = await rotationProcess(world, mistake);
      let dead = false;
      const trip = async (place: string): Promise<void> => {
        const fault = tripwire.hit(place);
        if (fault === undefined) return;
        if (fault !== 'dies') return act(world, fault, revert);
        dead = true;
        process.client.kill();
        throw new Error('the process is dead');
      };
      await trip('begin');
      using _ = onCalls(world, trip);
      await operate(world, process).catch((error: unknown) => {
        if (!dead) throw error;
      });
      if (dead) throw new Error('the process is dead');
    },
    check: async (world) => {
      using _ = onCalls(world);
      world.now += 3 * 86_400_000;
      await operate(world, undefined, mistake);
      world.ledger.settled();
    },
  });
}

for (const [strategy, usual] of [
  ['OnDelete', ['dies', ...DEEDS]],
  ['RollingUpdate', ['dies', 'reverts', 'bad image']],
] as const)
  test(`OWN-18 Cluster API, ${strategy}: at each call of the operator it dies, or somebody goes back, lifts the pin or edits a set, another image is wanted, or one does not start: one outcome, and a pinned set never moves`, async (t) => {
    const faults: readonly Fault[] = soaking ? ['dies', ...DEEDS] : usual;
    const { scenarios, places, merged, complete } = await exploreRotation({ strategy, faults }, soaking ? 2 : 1);
    t.diagnostic(`${scenarios} histories over ${places.length} places, ${merged} of which ended as another one`);
    assert.ok(!complete || scenarios > places.length, `only ${scenarios} histories`);
    for (const call of ['create machines', 'delete machines', 'create awsmachinetemplates', 'patch machinedeployments'])
      assert.ok(
        places.some((place) => place.includes(call)),
        `${call} in ${places.join()}`,
      );
  });

const caught = (exploration: Partial<RotationExploration>, why: RegExp): Promise<void> =>
  assert.rejects(exploreRotation({ strategy: 'OnDelete', faults: [], ...exploration }), (error: unknown) => {
    assert.ok(error instanceof ExplorationError, String(error));
    assert.match(error.message, why);
    return true;
  });

test('OWN-18 Cluster API, negative control: a rotation without a guard loses what somebody points at, and that is seen', () =>
  caught(
    {
      faults: ['edits'],
      mistake: {
        client: (client) => ({
          ...client,
          patch: (resource, key, ops, call) =>
            client.patch(
              resource,
              key,
              ops.filter(({ op }) => op !== 'test'),
              call,
            ),
        }),
      },
    },
    /what somebody pointed at is lost/,
  ));

test('OWN-18 Cluster API, negative control: a revert that edits the set instead of pinning it is undone, and that is seen', () =>
  caught({ faults: [], before: ['reverts'], revert: edits }, /a revert was told that it has/));

test('OWN-18 Cluster API, negative control: a canary that its set counts as one of its own is seen', () =>
  caught(
    {
      faults: [],
      mistake: {
        client: (client) => ({
          ...client,
          create: (resource, one, call) => {
            const labels = { ...one.metadata.labels, ...(resource.kind === 'Machine' ? { set: FIRST } : {}) };
            return client.create(resource, { ...one, metadata: { ...one.metadata, labels } }, call);
          },
        }),
      },
    },
    /a set counts the machine of a canary/,
  ));

test('OWN-18 Cluster API, negative control: a collection that ignores histories takes the way back, and that is seen', () =>
  caught({ strategy: 'RollingUpdate', mistake: { retain: 0 } }, /is the way back of/));
