import assert from 'node:assert/strict';
import {
  BootImage,
  type BootImageStatus,
  ControlPlaneMachineSet,
  MachineConfiguration,
  type MachineSet,
  Secret,
} from '@drydock/api';
import { keyOf, statusWriter } from '@drydock/kube';
import { type Coverage, explore, type Tripwire } from '@drydock/model';
import type { Availability } from '../cloud/availability.ts';
import { type KeptSet, keptSets } from '../observe/kept-set.ts';
import { runPass } from '../pass/pass.ts';
import { createPassState, type PassPorts } from '../pass/pass-state.ts';
import { setFacts } from '../pass/set-facts.ts';
import type { Platform } from '../platform.ts';
import { imageOf as bootImageOf, createBootImages } from '../status/boot-image-store.ts';
import { defaultConditions, upsertConditions } from '../status/conditions.ts';
import { imageOfSet } from '../wakes/foreign-writes.ts';
import { type FakeCluster, type FakeClusterOptions, fakeCluster, stub22 } from './fake-cluster.ts';
import { bothManaged, controlPlane } from './fake-control-plane.ts';

/** A platform whose sets are switched by processes that die. */
export interface CloudCrash extends Required<Pick<FakeClusterOptions, 'infrastructure' | 'stream'>> {
  /** The platform, to which the cloud answers so. */
  readonly platform: (answer: () => Availability) => Platform;
  /** It has an older image. */
  readonly set: MachineSet;
  /** It is the control plane that makes such machines, in place of the set. */
  readonly plane?: boolean;
  /** What `imageOf` says once it is switched. */
  readonly wanted: string;
  /** What the cloud answers to one process after the other; the last answer stays. */
  readonly answers: readonly [Availability, ...Availability[]];
  /** What makes a process another one: a mistake that must be caught. */
  readonly mistake?: (ports: PassPorts) => PassPorts;
}

/** Faults at one write: the process dies before the server acts, or before it hears of it. */
type Death = 'dies';

interface World {
  readonly cluster: FakeCluster;
  readonly wrong: string[];
  runs: number;
}

const STUB = { namespace: 'openshift-machine-api', name: 'worker-user-data' };

/**
 * A set, or the control plane, with a stub of the old specification is switched by a process that dies before and after each of its writes, alone and in pairs, and by one after it that is
 * left alone. At every instant the set has its old image, or one that its BootImage calls verified or unverified; in the end all is as the cloud's last answer wants it.
 */
export function exploreCloudCrashes(crash: CloudCrash): Promise<Coverage> {
  const last = crash.answers.at(-1) ?? crash.answers[0];
  let current: World | undefined;
  const platform = crash.platform(
    () => crash.answers[Math.min((current?.runs ?? 1) - 1, crash.answers.length - 1)] ?? last,
  );
  return explore<World, Death>({
    faults: ['dies'],
    depth: 2,
    setup: () => {
      current = worldOf(crash, platform);
      return current;
    },
    run: async (world, tripwire) => {
      world.runs += 1;
      await live(world, platform, crash, tripwire);
    },
    check: async (world) => {
      // An answer may have come too late for the processes before.
      while (world.runs < crash.answers.length) {
        world.runs += 1;
        await live(world, platform, crash, { hit: () => undefined });
      }
      assert.deepEqual(world.wrong, []);
      settled(world.cluster, platform, crash, last);
    },
  });
}

function worldOf({ set, plane = false, infrastructure, stream, wanted }: CloudCrash, platform: Platform): World {
  const sets = plane ? [] : [set];
  const managers = bothManaged('All');
  const cluster = fakeCluster({ sets, managers, userData: stub22, platform, infrastructure, stream });
  if (plane) cluster.client.put(ControlPlaneMachineSet, controlPlane(set));
  const world: World = { cluster, wrong: [], runs: 0 };
  const old = imageOf(cluster, platform);
  cluster.client.cluster.subscribe(() => {
    const image = imageOf(cluster, platform);
    if (image === old) return;
    if (image !== wanted) world.wrong.push(`the set has ${image}`);
    const { status, message = '' } = verifiedIn(cluster) ?? {};
    if (!(status === 'True' || status === 'Unknown') || !message.includes(wanted))
      world.wrong.push(`the set has ${image}, of which its BootImage says ${status}: ${message}`);
  });
  return world;
}

/** One process: it knows nothing but what it reads. Two passes, as events of its own writes would bring them. */
async function live(
  { cluster }: World,
  platform: Platform,
  { mistake = (ports) => ports }: CloudCrash,
  tripwire: Tripwire<Death>,
): Promise<void> {
  const server = cluster.client.cluster;
  let dead = false;
  server.onCall = ({ verb, resource }, phase, { mutates, client }) => {
    if (!mutates || tripwire.hit(`${phase} ${verb} ${resource}`) === undefined) return;
    dead = true;
    client.kill();
    throw new Error('the process is dead');
  };
  try {
    const client = server.client();
    const configurations = statusWriter<MachineConfiguration>({ client, resource: MachineConfiguration });
    const images = createBootImages({
      ...{ client, cached: (key) => cluster.client.peek(BootImage, key), exists: () => true },
      ...{ platform: () => platform.name, now: cluster.ports.now, facts: (set) => setFacts(set, cluster.ports) },
    });
    const ports = mistake({
      ...cluster.ports,
      client,
      report: images.report,
      writeConditions: async (wanted) => {
        await configurations.write({ name: 'cluster' }, (live) => {
          const conditions = upsertConditions(
            live.status?.conditions ?? defaultConditions(new Date(0)),
            wanted,
            new Date(0),
          );
          return { ...live.status, conditions: conditions as [] };
        });
      },
    });
    const state = createPassState(new Date(0));
    for (let pass = 0; pass < 2; pass += 1) await runPass(ports, state, { reason: 'Test', touched: 'all' });
    if (dead) throw new Error('the process is dead');
  } finally {
    server.onCall = undefined;
  }
}

/** All is as the last answer wants it. */
function settled(cluster: FakeCluster, platform: Platform, { set, wanted }: CloudCrash, last: Availability): void {
  const { phase } = statusIn(cluster) ?? {};
  const stub = Buffer.from(cluster.client.peek(Secret, STUB)?.data?.['userData'] ?? '', 'base64').toString();
  const degraded = cluster.condition('Degraded')?.status;
  const seen = { image: imageOf(cluster, platform), phase, verified: verifiedIn(cluster)?.status, degraded };
  if (last.kind === 'unusable') {
    const image = imageOfSet(set, platform);
    assert.deepEqual(seen, { image, phase: 'Blocked', verified: 'False', degraded: 'True' });
    assert.equal(stub, stub22);
    return;
  }
  const verified = last.kind === 'available' ? 'True' : 'Unknown';
  assert.deepEqual(seen, { image: wanted, phase: 'Current', verified, degraded: 'False' });
  assert.match(stub, /"version":"3\./);
}

function imageOf(cluster: FakeCluster, platform: Platform): string | undefined {
  const set = only(cluster);
  return set === undefined ? undefined : imageOfSet(set, platform);
}

function only({ ports }: FakeCluster): KeptSet | undefined {
  return keptSets(ports.world)[0];
}

function statusIn(cluster: FakeCluster): BootImageStatus | undefined {
  const set = only(cluster);
  return set === undefined ? undefined : cluster.client.peek(BootImage, keyOf(bootImageOf(set)))?.status;
}

function verifiedIn(cluster: FakeCluster): { readonly status?: string; readonly message?: string } | undefined {
  return statusIn(cluster)?.conditions?.find(({ type }) => type === 'Verified');
}
