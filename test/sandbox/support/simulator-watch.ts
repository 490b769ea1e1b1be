import { readFile } from 'node:fs/promises';
import type { Switchboard, VCenterSandbox } from '@drydock/sandbox';
import { createWatcher, type KnownObject, type Watcher } from '@drydock/vm-watch';
import { connectVCenter, type MoRef, systemClock } from '@drydock/vsphere';
import { eventually } from './voyage.ts';

/** A watcher of its own on the simulator. Disposal ends it and logs out. */
export interface SimulatorWatch extends AsyncDisposable {
  readonly watcher: Watcher;
  /** What was delivered, in order: `ns/a changed config.annotation verified`. The sentinel's are left out. */
  readonly signals: string[];
  /** VirtualMachine objects, as a cache would have them. */
  readonly objects: KnownObject[];
  readonly warnings: string[];
  live(): Promise<void>;
  /** These machines were read: what an added container holds may come after changes that were made later. */
  knows(...machines: readonly string[]): Promise<void>;
  /** Everything that happened until now was either delivered or never will be: proven by a change of the sentinel that comes through. */
  settled(): Promise<void>;
  stop(): Promise<void>;
}

const SENTINEL_FOLDER = '/DC0/vm/sentinels';
let made = 0;

/** Starts to watch a folder of its own; what else is watched is up to the test. */
export async function simulatorWatch(sandbox: VCenterSandbox, switchboard: Switchboard): Promise<SimulatorWatch> {
  await using starting = new AsyncDisposableStack();
  const { url, user, password, ca } = sandbox.vcenter;
  const tls = { ca: await readFile(ca, 'utf8') };
  const vcenter = starting.use(connectVCenter({ url, tls, credentials: async () => ({ user, password }), env: {} }));
  made += 1;
  const name = `sentinel-${made}`;
  const home = await switchboard.createFolder(`${SENTINEL_FOLDER}/${name}`);
  const sentinel = await switchboard.createVm({
    name,
    folder: `${SENTINEL_FOLDER}/${name}`,
    extraConfig: { 'vmservice.namespacedName': `ns/${name}` },
  });
  const signals: string[] = [];
  const objects: KnownObject[] = [];
  const warnings: string[] = [];
  let beats = 0;
  let beaten = 0;
  const watcher = await createWatcher({
    feed: vcenter.updates,
    clock: systemClock,
    log: { info: () => undefined, warn: (_fields, text) => warnings.push(text) },
    maxWaitSeconds: 2,
    lookup: {
      named: (namespace, of) => objects.find((one) => one.namespace === namespace && one.name === of),
      byUniqueId: (id) => objects.filter(({ uniqueId }) => uniqueId === id),
    },
    deliver: ({ ref, namespace, name: of, kind, paths, verified }) => {
      if (ref.value === sentinel.moref) {
        if (paths.has('config.annotation')) beaten = beats;
        return;
      }
      signals.push(
        [`${namespace}/${of}`, kind, [...paths].join(), verified ? 'verified' : ''].filter(Boolean).join(' '),
      );
    },
  });
  const end = new AbortController();
  const running = watcher.run(end.signal);
  const stop = async (): Promise<void> => {
    end.abort();
    await running;
  };
  starting.defer(stop);
  void watcher.supervisor.add({ type: 'Folder', value: home.moref }, 'sentinel');
  const state = (): unknown => watcher.supervisor.state;
  const beat = async (): Promise<void> => {
    beats += 1;
    const mine = beats;
    await switchboard.editVm(sentinel.moref, { annotation: `beat ${beats}` });
    await eventually('the sentinel is seen', async () => beaten >= mine || undefined, state);
  };
  const resources = starting.move();
  return {
    watcher,
    signals,
    objects,
    warnings,
    live: async () => {
      await eventually('the watch is live', async () => watcher.supervisor.state.name === 'live' || undefined, state);
    },
    knows: async (...machines) => {
      const known = (): readonly string[] => watcher.ledger.refs().map(({ value }) => value);
      await eventually(
        'the machines are read',
        async () => machines.every((one) => known().includes(one)) || undefined,
        known,
      );
    },
    settled: async () => {
      await beat();
      await eventually('all was carried on', async () => watcher.courier.pending === 0 || undefined, state);
    },
    stop,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

/** The reference of what is at a path. */
export async function refAt(switchboard: Switchboard, path: string): Promise<MoRef> {
  const { type, moref } = await switchboard.find(path);
  return { type, value: moref };
}
