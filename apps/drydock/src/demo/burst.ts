import { readFile } from 'node:fs/promises';
import type { Switchboard } from '@drydock/sandbox';
import { createWatcher, type WatchState } from '@drydock/vm-watch';
import { connectVCenter, systemClock } from '@drydock/vsphere';
import { type Asked, type Made, reckon } from './losses.ts';
import { awaited, spent } from './patience.ts';
import type { Stage } from './stage.ts';

const FOLDER = '/DC0/vm/harbour-fleet';
const MACHINES = 40;
/** The simulator spends tens of milliseconds on each change, many times that on a busy machine. */
const STALLED_MS = 60_000;

/** What is done to each machine, once each, so that every change can be told from the others by its property. */
const CHANGES: readonly {
  readonly path: string;
  readonly make: (switchboard: Switchboard, machine: Machine) => Promise<void>;
}[] = [
  { path: 'summary.runtime.powerState', make: (switchboard, { moref }) => switchboard.powerVm(moref, true) },
  { path: 'name', make: (switchboard, { moref, name }) => switchboard.renameVm(moref, `${name}-renamed`) },
  {
    path: 'config.annotation',
    make: (switchboard, { moref, name }) => switchboard.editVm(moref, { annotation: `${name} is for the night shift` }),
  },
  {
    path: 'config.extraConfig',
    make: (switchboard, { moref }) => switchboard.editVm(moref, { extraConfig: { 'guestinfo.role': 'night' } }),
  },
];

interface Machine {
  readonly name: string;
  readonly moref: string;
}

/** Forty machines, each changed four times, and all sessions ended on the server half-way. */
export async function burst(stage: Stage): Promise<void> {
  const { signal, switchboard, tell } = stage;
  tell.step(`${MACHINES} machines in ${FOLDER}, and a watch on the folder`);
  const folder = await switchboard.createFolder(FOLDER);
  const machines: Machine[] = [];
  for (let index = 0; index < MACHINES; index += 1) {
    const name = `fleet-${String(index).padStart(2, '0')}`;
    machines.push({ name, moref: (await switchboard.createVm({ name, folder: FOLDER })).moref });
  }
  const asked: Asked[] = [];
  const states: WatchState[] = [];
  await using watch = await startWatch(stage, folder.moref, {
    asked: (request) => asked.push(request),
    state: (state) => states.push(state),
  });
  await awaited(() => watch.idle() || undefined, {
    deadline: STALLED_MS,
    signal,
    sentence: () => `the watch on ${FOLDER} did not come up: ${states.at(-1)?.name} ${states.at(-1)?.reason ?? ''}`,
  });

  asked.length = 0;
  states.length = 0;
  const began = performance.now();
  const made: Made[] = [];
  const total = MACHINES * CHANGES.length;
  let killed = 0;
  for (let index = 0; index < total; index += 1) {
    signal.throwIfAborted();
    if (index === total / 2) killed = await switchboard.killSessions();
    const round = Math.floor(index / MACHINES);
    const machine = machines[index % MACHINES];
    const change = CHANGES[(round + index) % CHANGES.length];
    if (machine === undefined || change === undefined) continue;
    made.push({ machine: machine.moref, path: change.path, at: performance.now() });
    await change.make(switchboard, machine);
  }
  tell.say(
    `${total} changes in ${spent(performance.now() - began)}: power, name, notes, extraConfig. After half of them all ${killed} sessions are ended on the server`,
  );
  // Not an error yet: what is not covered when nothing more comes is lost.
  await awaited(() => (watch.idle() && reckon(made, asked).lost.length === 0 ? true : undefined), {
    deadline: STALLED_MS,
    progress: () => asked.length + states.length,
    signal,
    sentence: () => {
      const { lost } = reckon(made, asked);
      const few = lost.slice(0, 5).map(({ machine, path }) => `${path} of ${machine}`);
      return `${lost.length} of ${total} changes were lost: no request came for ${few.join(', ')}`;
    },
  });
  if (!states.some(({ name }) => name === 'rebuilding'))
    throw new Error('the session was ended, but the watch went on as if nothing were: this run shows nothing');
  tell.say(`the watch: live, ${states.map(({ name }) => name).join(', ')}`);
  const { changed, lost, reconciled } = reckon(made, asked);
  tell.say(
    `machines changed: ${changed.size}; with a request after their last change: ${reconciled.size}; requests in all: ${asked.length}`,
  );
  tell.say(`lost changes: ${lost.length}`);
}

interface Watch extends AsyncDisposable {
  /** It is live, and everything that it saw was handed over. */
  idle(): boolean;
}

async function startWatch(
  { sandbox, signal }: Stage,
  folder: string,
  on: { readonly asked: (request: Asked) => void; readonly state: (state: WatchState) => void },
): Promise<Watch> {
  await using starting = new AsyncDisposableStack();
  const { ca, password, url, user } = sandbox.vcenter;
  const vcenter = starting.use(
    connectVCenter({
      url,
      credentials: async () => ({ user, password }),
      tls: { ca: await readFile(ca, 'utf8') },
      env: {},
    }),
  );
  const watcher = await createWatcher({
    feed: vcenter.updates,
    clock: systemClock,
    log: { info: () => undefined, warn: () => undefined },
    // Each machine is its own object.
    lookup: {
      named: () => undefined,
      byUniqueId: (uniqueId) => [{ namespace: '', name: uniqueId, uniqueId, deleting: false }],
    },
    deliver: ({ ref, paths }) => on.asked({ machine: ref.value, paths, at: performance.now() }),
    onState: on.state,
  });
  void watcher.supervisor.add({ type: 'Folder', value: folder }, 'demo');
  const stop = new AbortController();
  const running = watcher.run(AbortSignal.any([signal, stop.signal]));
  starting.defer(async () => {
    stop.abort();
    await running;
  });
  const resources = starting.move();
  return {
    idle: () => watcher.supervisor.state.name === 'live' && watcher.ledger.dirty === 0,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}
