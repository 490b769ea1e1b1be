import assert from 'node:assert/strict';
import { createAuthority } from '@drydock/sandbox';
import { type Clock, connectVCenter, type MoRef, systemClock, type VCenterConnection } from '@drydock/vsphere';
import { type SyntheticVCenter, startSyntheticVCenter, textVal } from '@drydock/vsphere/testing';
import type { KnownObject, Resolution } from '../delivery/resolve.ts';
import { createWatcher, type Watcher, type WatcherOptions } from '../delivery/watcher.ts';
import type { WatchState } from '../watch/state.ts';

/** A watcher over the real client against a synthetic vCenter. */
export interface SyntheticRig extends AsyncDisposable {
  readonly server: SyntheticVCenter;
  readonly vcenter: VCenterConnection;
  readonly watcher: Watcher;
  /** A folder; the sentinel is in it. */
  readonly folder: MoRef;
  /** What was delivered, in order: `ns/machine-100001 changed name`. The sentinel's are left out. */
  readonly signals: string[];
  readonly states: WatchState[];
  readonly resolved: (readonly [moid: string, Resolution])[];
  /** Texts of warnings, with the path that they are about. */
  readonly warnings: string[];
  /** VirtualMachine objects. Empty unless the test adds some. */
  readonly objects: KnownObject[];
  /** Delivery fails as long as this is set. */
  refuse: boolean;
  run(): void;
  /** Wants a container, and waits until it is watched, however long that takes. */
  watch(container: MoRef, id: string): Promise<void>;
  /** Ends the watch; resolves when it has ended. */
  stop(): Promise<void>;
  live(): Promise<void>;
  /** Everything that happened until now was either delivered or never will be. Proven by a change of the sentinel that comes through. */
  settled(): Promise<void>;
  until(what: string, done: () => boolean): Promise<void>;
  power(moid: string, on: boolean): void;
  /** Cuts the wait that is under way, or the next one. */
  cutWait(): Promise<void>;
}

/** How a rig is made. */
export interface SyntheticRigOptions {
  readonly instanceUuid?: string;
  /** The clock of watcher and client runs this much faster. Default 20. */
  readonly speed?: number;
  readonly secondMs?: number;
  /** Each machine has its VirtualMachine object, which names it: the first pass delivers nothing. */
  readonly verified?: boolean;
  readonly watcher?: Partial<WatcherOptions>;
}

export const POWER = 'summary.runtime.powerState';
const PATHS = ['name', 'config.extraConfig', 'config.keyId', 'config.hardware.device', 'config.template', POWER];
const DEADLINE_MS = 30_000;

/** A clock that runs `speed` times as fast as the machine's. */
export function fastClock(speed: number): Clock {
  return {
    now: () => systemClock.now() * speed,
    sleep: (ms, options) => systemClock.sleep(ms / speed, options),
  };
}

/** Starts server, client and watcher; the watcher runs, but watches nothing yet. */
export async function startSyntheticRig(options: SyntheticRigOptions = {}): Promise<SyntheticRig> {
  await using starting = new AsyncDisposableStack();
  const authority = createAuthority('synthetic');
  const server = starting.use(
    await startSyntheticVCenter({
      identity: authority.issueServer(['127.0.0.1']),
      ...(options.instanceUuid === undefined ? {} : { instanceUuid: options.instanceUuid }),
      ...(options.secondMs === undefined ? {} : { secondMs: options.secondMs }),
    }),
  );
  const folder = server.inventory.container('Folder', 'group-v1');
  const [sentinel = ''] = server.inventory.add(1, folder);
  const clock = fastClock(options.speed ?? 20);
  const warnings: string[] = [];
  const warn = (fields: object, text: string): void => {
    warnings.push('path' in fields && typeof fields.path === 'string' ? `${text} ${fields.path}` : text);
  };
  const vcenter = starting.use(
    connectVCenter({
      url: server.url,
      tls: { ca: authority.certificate },
      credentials: async () => server.credentials,
      env: {},
      clock,
      log: { info: () => undefined, warn: (fields, text) => warn(fields, text) },
    }),
  );
  const signals: string[] = [];
  const states: WatchState[] = [];
  const resolved: (readonly [string, Resolution])[] = [];
  const objects: KnownObject[] = [];
  let beats = 0;
  let beaten = 0;
  const watcher = await createWatcher({
    feed: vcenter.updates,
    clock,
    log: {
      info: () => undefined,
      warn,
    },
    paths: PATHS,
    random: () => 0,
    lookup: {
      named: (namespace, name) => objects.find((one) => one.namespace === namespace && one.name === name),
      byUniqueId: (id) => objects.filter(({ uniqueId }) => uniqueId === id),
    },
    deliver: ({ ref, namespace, name, kind, paths, verified }) => {
      if (rig.refuse) throw new Error('refused by the test');
      if (ref.value === sentinel) {
        if (paths.has('name')) beaten = beats;
        return;
      }
      signals.push(
        [`${namespace}/${name}`, kind, [...paths].join(), verified ? 'verified' : ''].filter(Boolean).join(' '),
      );
    },
    onState: (state) => states.push(state),
    onResolved: (ref, resolution) => resolved.push([ref.value, resolution]),
    ...options.watcher,
  });
  const beat = async (): Promise<void> => {
    beats += 1;
    server.inventory.set(sentinel, 'name', textVal(`beat ${beats}`));
    await until('the sentinel is seen', () => beaten === beats);
  };
  const abort = new AbortController();
  let running: Promise<void> = Promise.resolve();
  const until: SyntheticRig['until'] = async (what, done) => {
    const from = performance.now();
    while (!done()) {
      assert.ok(
        performance.now() - from < DEADLINE_MS,
        `not within ${DEADLINE_MS} ms: ${what}; ${watcher.supervisor.state.name} ${watcher.supervisor.state.reason ?? ''}`,
      );
      await systemClock.sleep(2);
    }
  };
  const stop = async (): Promise<void> => {
    abort.abort();
    await running;
  };
  starting.defer(stop);
  const resources = starting.move();
  const rig: SyntheticRig = {
    server,
    vcenter,
    watcher,
    folder,
    signals,
    states,
    resolved,
    warnings,
    objects,
    refuse: false,
    run: () => {
      running = watcher.run(abort.signal);
    },
    watch: async (container, id) => {
      await watcher.supervisor.add(container, id);
      const watched = (): boolean =>
        watcher.supervisor.containers.some(({ ref, watched: is }) => ref.value === container.value && is);
      await until(`${container.value} is watched`, watched);
    },
    stop,
    until,
    live: () => until('the watch is live', () => watcher.supervisor.state.name === 'live'),
    async settled() {
      await beat();
      await until('all was carried on', () => watcher.courier.pending === 0);
      // What was taken last may still be on its way; this comes behind it.
      await beat();
    },
    cutWait: () => until('a wait is under way', () => server.cutWaits() > 0),
    power: (moid, on) =>
      server.inventory.set(moid, POWER, textVal(on ? 'poweredOn' : 'poweredOff', 'VirtualMachinePowerState')),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
  return rig;
}

/** A rig that is live, with so many machines besides the sentinel in its folder; what the first pass delivered is forgotten. */
export async function liveRig(
  machines: number,
  options: SyntheticRigOptions = {},
): Promise<SyntheticRig & { readonly moids: readonly string[] }> {
  const rig = await startSyntheticRig(options);
  const moids = rig.server.inventory.add(machines, rig.folder);
  for (const moid of options.verified === true ? moids : [])
    rig.objects.push({ namespace: 'ns', name: `machine-${moid.slice(3)}`, uniqueId: moid, deleting: false });
  void rig.watcher.supervisor.add(rig.folder, 'test');
  rig.run();
  await rig.live();
  await rig.settled();
  rig.signals.length = 0;
  return Object.assign(rig, { moids });
}
