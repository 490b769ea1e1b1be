import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Lease, Secret } from '@drydock/api';
import { emptyOldStub } from '@drydock/boot-images';
import { keyOf } from '@drydock/kube';
import type { Rule, VmView } from '@drydock/sandbox';
import { type ApiGate, type ApiWrite, openApiGate } from './api-gate.ts';
import { importedDigest } from './imported-digest.ts';
import { type Observer, startObserver } from './observer.ts';
import { type Process, startProcess } from './operator-process.ts';
import { eventually, type Voyage } from './voyage.ts';
import { type Image, machineApi, serverName, userData } from './voyage-cluster.ts';

/** Where a process is killed: at a call of the vCenter, or at a write to the API server. */
export type CrashPoint =
  | { readonly what: string; readonly vcenter: string; readonly rule?: { readonly afterBytes: number } }
  | { readonly what: string; readonly api: (write: ApiWrite) => boolean };

/** Before the server acted, or when it has and its answer is on the way. */
export type When = 'before' | 'after';

/** Something that was caught in the act. Disposal lets go, after the process that did it is dead. */
interface Caught extends AsyncDisposable {
  readonly held: Promise<unknown>;
}

/** A process that can be killed at any call of its own, and a consumer that looks all the time. */
export interface CrashRig extends AsyncDisposable {
  readonly gate: ApiGate;
  readonly folder: string;
  readonly observer: Observer;
  /** A release comes; the process is killed at each of the points in turn and started again; then it is left alone until it is done. */
  crash(image: Image, points: readonly (readonly [CrashPoint, When])[], course: Course): Promise<Outcome>;
}

/** What else belongs to a release. */
export interface Course {
  /** Done right before the release, when the first point is armed. */
  readonly first?: () => Promise<void>;
  /** Resolves when the process is done. */
  readonly done: () => Promise<unknown>;
}

/** What was seen of one crash. */
export interface Outcome {
  readonly before: readonly VmView[];
  readonly after: readonly VmView[];
  readonly uploads: number;
  readonly complaints: readonly string[];
  /** What the set names at the end. */
  readonly named: string;
}

/** What is run: a module with its arguments. */
export interface Program {
  readonly module: string;
  args(at: { readonly voyage: Voyage; readonly kubeconfig: string; readonly folder: string }): readonly string[];
}

const stubName = 'worker-user-data-2019';

/** `drydock operator`, with the flags that the sandbox needs. */
export const operatorProgram: Program = {
  module: join(import.meta.dirname, '../../../apps/drydock/bin/drydock.js'),
  args: ({ voyage, kubeconfig }) => {
    const { vcenter } = voyage.sandbox;
    return [
      ...['operator', '--kubeconfig', kubeconfig, '--port', '0', '--cache-dir', voyage.cacheDir],
      ...['--vcenter-url', `${serverName}=${vcenter.url}`, '--vcenter-ca', vcenter.ca, '--lease-namespace', machineApi],
    ];
  },
};

/** `careless-publisher.ts`: what the rig must catch. */
export const carelessProgram: Program = {
  module: fileURLToPath(import.meta.resolve('./careless-publisher.ts')),
  args: ({ voyage, kubeconfig, folder }) => {
    const { vcenter } = voyage.sandbox;
    return [kubeconfig, vcenter.url, vcenter.ca, folder];
  },
};

/** Starts the program and an observer; the set is in a folder of its name, with a neighbour's machine. */
export async function startCrashRig(voyage: Voyage, set: string, program: Program): Promise<CrashRig> {
  await using starting = new AsyncDisposableStack();
  const gate = starting.use(await openApiGate(voyage.sandbox));

  const { directory } = voyage.sandbox;
  const files = { sandbox: directory, log: join(directory, `${set}.log`) };
  const kubeconfig = join(directory, `${set}.kubeconfig`);
  await writeFile(kubeconfig, gate.kubeconfig, { mode: 0o600 });
  const folder = await voyage.folder(set);
  await voyage.createSet({ name: set, folder, userData: stubName });
  const observer = starting.use(await startObserver(voyage.sandbox, set, folder));
  const args = program.args({ voyage, kubeconfig, folder });
  let running: Process = startProcess(program.module, args, files);
  starting.defer(() => running[Symbol.asyncDispose]());
  const resources = starting.move();

  const kill = async ([point, when]: readonly [CrashPoint, When], come: () => Promise<void>): Promise<void> => {
    await using caught = await arm(voyage, gate, point, when);
    await come();
    await Promise.race([caught.held, running.died]);
    await running.crash();
  };
  return {
    gate,
    folder,
    observer,
    crash: async (image, points, { first, done }) => {
      const { switchboard } = voyage;
      await restoreOldStub(voyage);
      const before = await switchboard.vms();
      await switchboard.resetUploads();
      observer.complaints();
      let come = async (): Promise<void> => {
        await first?.();
        await voyage.release(image);
      };
      for (const at of points) {
        await kill(at, come);
        come = async () => {
          await expireLease(voyage);
          running = startProcess(program.module, args, files);
        };
      }
      await come();
      await Promise.race([done(), running.died]);
      const { count } = await switchboard.uploads();
      return {
        before,
        after: await switchboard.vms(),
        uploads: count,
        complaints: observer.complaints(),
        named: await voyage.template(set),
      };
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

async function arm(voyage: Voyage, gate: ApiGate, point: CrashPoint, when: When): Promise<Caught> {
  if ('api' in point) return gate.hold(point.api, when);
  const rule = await voyage.switchboard.rule({
    ...{ on: point.vcenter, do: 'hold', acted: when === 'after', times: 1 },
    ...point.rule,
  } as Rule);
  const upload = point.vcenter === 'upload';
  return {
    held: rule.held(1, { timeoutMs: 60_000 }),
    async [Symbol.asyncDispose]() {
      // What was not done yet must never be done: the server has to see that its caller is gone. A held upload cannot.
      if (!upload)
        await eventually('the end of the held call', async () => (await rule.state()).held === 0 || undefined);
      await rule.remove();
    },
  };
}

/** The stub is of Ignition 2 again, and nothing keeps it yet. */
async function restoreOldStub({ client }: Voyage): Promise<void> {
  const old = userData(stubName, '2.2.0');
  await client.mergePatch(Secret, keyOf(old), { data: old.data });
  const empty = emptyOldStub(stubName);
  await client.delete(Secret, keyOf(empty));
  await client.create(Secret, empty);
}

/** What 15 s without a renewal do. */
async function expireLease({ client }: Voyage): Promise<void> {
  for await (const lease of client.list(Lease, { namespace: machineApi })) {
    await client.replace(Lease, { ...lease, spec: { ...lease.spec, holderIdentity: '' } });
  }
}

/**
 * What must be true after every crash and one clean start: what was there is as it was, exactly one finished template of the
 * release is more, the set names it, at most one upload was made twice, and no consumer ever found the name leading nowhere.
 */
export function judge(outcome: Outcome, image: Image, folder: string): void {
  const { before, after, uploads, complaints, named } = outcome;
  const is = new Map(after.map((vm) => [vm.moref, vm]));
  for (const vm of before) assert.deepEqual(is.get(vm.moref), vm, `${vm.name} is no longer what it was`);
  const was = new Set(before.map(({ moref }) => moref));
  assert.deepEqual(
    after
      .filter(({ moref }) => !was.has(moref))
      .map((vm) => [
        vm.name,
        vm.folder,
        vm.isTemplate,
        vm.productVersion,
        importedDigest(vm.extraConfig),
        vm.tags.length,
      ]),
    [[named, folder, true, image.release, image.sha256, 1]],
    'exactly one finished template of the release is more, and the set names it',
  );
  assert.ok(uploads <= 2, `${uploads} uploads`);
  assert.deepEqual(complaints, [], 'the set named something unfinished or absent');
}
