import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { BootImage, type BootImageSpecPin, type BootImageStatus, MachineSet } from '@drydock/api';
import { createCache } from '@drydock/kube';
import { operatorProgram } from '../../test/sandbox/support/crash-rig.ts';
import { type Process, startProcess } from '../../test/sandbox/support/operator-process.ts';
import { startVoyage, type Voyage } from '../../test/sandbox/support/voyage.ts';
import { machineApi, machineSet, serverName } from '../../test/sandbox/support/voyage-cluster.ts';

/** Many machine sets on a real API server and a simulated vCenter. Disposal ends everything. */
export interface Fleet extends AsyncDisposable {
  readonly voyage: Voyage;
  readonly names: readonly string[];
  /** Flags by which `drydock` reaches the cluster and its vCenter. */
  readonly flags: readonly string[];
  /** Starts the operator as a process. */
  operate(): void;
  /** Ends it. */
  stop(): Promise<void>;
  /** Publishes an image of this release. */
  release(release: string): Promise<void>;
  /** Waits until what is said of every set is as wanted. */
  all(wanted: (status: BootImageStatus) => boolean, signal: AbortSignal): Promise<void>;
  /** Pins every set, or lifts the pins. */
  pin(pinOf: (status: BootImageStatus) => BootImageSpecPin | null): Promise<void>;
}

/** How large. */
export interface FleetSize {
  readonly folders: number;
  readonly sets: number;
  readonly publication: 'pointer' | 'swap';
}

/** Writes that are under way together. */
const TOGETHER = 32;
const DEADLINE_MS = 600_000;

/** Makes the cluster and its sets, spread over the folders; no operator runs. */
export async function startFleet({ folders, sets, publication }: FleetSize): Promise<Fleet> {
  await using starting = new AsyncDisposableStack();
  const voyage = starting.use(await startVoyage({ operator: false }));
  const { kubeconfig, directory } = voyage.sandbox;
  const paths: string[] = [];
  for (let index = 0; index < folders; index++) paths.push(await voyage.folder(`fleet-${index}`));
  const names = Array.from({ length: sets }, (_, index) => `set-${String(index).padStart(4, '0')}`);
  await eachOf(names.entries(), async ([index, name]) => {
    await voyage.client.create(MachineSet, machineSet({ name, folder: paths[index % folders] ?? '' }));
  });
  let operator: Process | undefined;
  starting.defer(() => operator?.[Symbol.asyncDispose]());
  // Whoever lists a thousand objects again and again takes the server from whom he measures.
  const images = starting.use(
    createCache({ client: voyage.client, resource: BootImage, where: { namespace: machineApi } }),
  );
  await images.synced;
  const log = join(directory, 'fleet.log');
  await writeFile(log, '');
  const resources = starting.move();
  return {
    voyage,
    names,
    flags: [
      ...['--kubeconfig', kubeconfig, '--lease-namespace', machineApi],
      ...['--vcenter-url', `${serverName}=${voyage.sandbox.vcenter.url}`, '--vcenter-ca', voyage.sandbox.vcenter.ca],
    ],
    operate: () => {
      const args = operatorProgram.args({ voyage, kubeconfig, folder: '' });
      operator = startProcess(operatorProgram.module, [...args, '--templates', publication], {
        sandbox: directory,
        log,
      });
    },
    stop: async () => {
      await operator?.[Symbol.asyncDispose]();
      operator = undefined;
    },
    release: async (release) => voyage.release(await voyage.image(release)),
    all: async (wanted, signal) => {
      const deadline = performance.now() + DEADLINE_MS;
      for (;;) {
        signal.throwIfAborted();
        const there = [...images.all()];
        if (there.length === sets && there.every(({ status }) => status !== undefined && wanted(status))) return;
        if (performance.now() > deadline) {
          const late = there.find(({ status }) => status === undefined || !wanted(status));
          throw new Error(`bench: the fleet did not get there: ${JSON.stringify(late?.status)}`);
        }
        await Promise.race([pause(100), ...(operator === undefined ? [] : [operator.died])]);
      }
    },
    pin: async (pinOf) => {
      await eachOf(images.all(), async ({ metadata: { name }, status = {} }) => {
        const pin = pinOf(status);
        await voyage.client.mergePatch(BootImage, { namespace: machineApi, name }, { spec: { pin } } as never);
      });
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

/** A guarded patch of each set by the same client, and nothing around it: what a fleet that is pointed elsewhere needs at least. In seconds. */
export async function barePatches({ voyage: { client }, names }: Fleet): Promise<number> {
  const since = performance.now();
  await eachOf(names, async (name) => {
    const key = { namespace: machineApi, name };
    const { metadata } = await client.get(MachineSet, key);
    await client.patch(MachineSet, key, [
      { op: 'test', path: '/metadata/resourceVersion', value: metadata.resourceVersion },
      { op: 'add', path: '/metadata/annotations/bench', value: 'patched' },
    ]);
  });
  return (performance.now() - since) / 1000;
}

async function eachOf<T>(items: Iterable<T>, act: (item: T) => Promise<void>): Promise<void> {
  const rest = Iterator.from(items);
  const work = async (): Promise<void> => {
    for (;;) {
      const { done, value } = rest.next();
      if (done === true) return;
      await act(value);
    }
  };
  await Promise.all(Array.from({ length: TOGETHER }, work));
}
