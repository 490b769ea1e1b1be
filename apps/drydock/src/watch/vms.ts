import { createWatcher, type WatchState } from '@drydock/vm-watch';
import { type MoRef, refKey, systemClock } from '@drydock/vsphere';
import type { Command } from 'commander';
import { exitCode } from '../exit.ts';
import { type CommonFlags, connectionFlags, EVENT_FORMATS, several } from '../template/flags.ts';
import type { Output } from '../template/output.ts';
import { TemplateProblem } from '../template/problem.ts';
import { verb } from '../template/run.ts';
import { findContainers } from './containers.ts';
import { knownValues, smallText } from './known-values.ts';
import { type MachineFlags, machineFlags, machineNames } from './machine-names.ts';
import { presence } from './presence.ts';
import { createPrinter } from './printer.ts';

/** On whose behalf containers are watched. */
const ME = 'drydock watch';

interface WatchFlags extends CommonFlags, MachineFlags {
  readonly container?: readonly string[];
}

/** Adds `drydock watch vms`. */
export function addWatchVms(group: Command): void {
  const command = machineFlags(connectionFlags(group.command('vms')))
    .description('print changes of machines until it is interrupted; no Kubernetes is needed')
    .option(
      '--container <path|moref...>',
      'folders, clusters, hosts, resource pools or datacenters, each with all that lies below (default: every datacenter)',
      several,
    )
    .option('--vcenter <address>', 'the same as --url')
    .on('option:vcenter', (address: string) => command.setOptionValueWithSource('url', address, 'cli'))
    .option('-o, --output <format>', EVENT_FORMATS, 'table')
    .addHelpText(
      'after',
      `
Flags win over the environment (govc's variables: GOVC_URL, GOVC_USERNAME, GOVC_PASSWORD, …), that over the config file.
Exit codes: 1 failed, 2 usage, 3 a container does not exist, 4 another vCenter took the place of this one, 130 and 143 interrupted, which is how it ends.`,
    );
  verb<WatchFlags>(
    command,
    async (run) => {
      const { out, signal, flags } = run;
      const session = await run.session();
      const { vcenter } = session;
      const containers = await findContainers(vcenter, flags.container ?? [], { signal });
      const watched = new Map(containers.map(({ ref, text }) => [refKey(ref), text]));
      const known = knownValues(vcenter.updates);
      await using machines = await machineNames(flags, vcenter.updates, { signal });
      await machines?.learn(containers.map(({ ref }) => ref));
      const printer = createPrinter(out, known, machines);
      const { print } = printer;
      const tell = teller(out);
      const there = presence((ref) => print({ what: 'came', ref }));
      const replaced = new AbortController();
      const watcher = await createWatcher({
        feed: known.feed,
        clock: systemClock,
        log: {
          info: () => undefined,
          warn: (fields, message) => {
            const text = warning(fields, message, (ref) => watched.get(ref) ?? ref);
            if (text !== undefined) out.warn(text);
          },
        },
        // Everybody's own: what is there at first is no news, and everything later is.
        lookup: {
          named: () => undefined,
          byUniqueId: (uniqueId) => [{ namespace: '', name: uniqueId, uniqueId, deleting: false }],
        },
        deliver: ({ ref, kind }) => {
          if (kind !== 'left') return there.seen(ref);
          print({ what: 'left', ref });
          there.left(ref);
          known.forget(ref);
        },
        onResolved: (ref, resolution) => {
          if (resolution.kind === 'drop' && resolution.reason === 'baseline') there.known(ref);
        },
        onChange: (ref, path, value) => {
          // Its coming may be carried here only after this.
          there.seen(ref);
          const old = known.value(ref, path);
          print({ what: 'changed', ref, path, old, new: value === undefined ? null : smallText(value) });
        },
        onReplaced: () => replaced.abort(),
        onState: (state) => {
          if (state.name === 'live') there.begin(watcher.ledger.refs());
          tell(state, watcher.ledger.size, watcher.supervisor.containers.filter(({ watched: is }) => is).length);
        },
        onGone: (ref) => void seek(ref).catch(() => undefined),
      });
      /** Another one may be under the path of one that is gone. */
      const seek = async (gone: MoRef): Promise<void> => {
        const lost = watched.get(refKey(gone));
        if (lost === undefined || !lost.startsWith('/')) return;
        for (const { ref, text } of await findContainers(vcenter, [lost], { signal })) {
          if (refKey(ref) === refKey(gone)) continue;
          watched.delete(refKey(gone));
          watched.set(refKey(ref), text);
          void watcher.supervisor.remove(gone, ME);
          void watcher.supervisor.add(ref, ME);
        }
      };
      for (const { ref } of containers) void watcher.supervisor.add(ref, ME);
      using _awake = awake();
      await watcher.run(AbortSignal.any([signal, readerOfStdout(), replaced.signal]));
      await printer.settled();
      if (replaced.signal.aborted) throw replacement(vcenter.server);
      signal.throwIfAborted();
      return exitCode.done;
    },
    'Interrupted: the watch was taken off the server, and the session was ended.',
  );
}

/** `… | head` ends the watch when it has enough; the session must not stay behind. */
function readerOfStdout(): AbortSignal {
  const gone = new AbortController();
  const { stdout } = process;
  const before = stdout.listeners('error') as ((error: Error) => void)[];
  const failed = (error: NodeJS.ErrnoException): void => {
    if (error.code === 'EPIPE') gone.abort();
    else for (const listener of before) listener(error);
  };
  stdout.removeAllListeners('error').on('error', failed);
  // What is said afterwards goes nowhere, too, so the listener stays.
  return gone.signal;
}

/** References mean something else in another vCenter: what was asked for has to be found there again. */
function replacement(server: string): TemplateProblem {
  return new TemplateProblem({
    code: 'VCENTER_REPLACED',
    exit: exitCode.moved,
    message: `another vCenter answers as ${server} now, and its containers are not those that were watched`,
    next: ({ again }) => again,
  });
}

/** Keeps the process: between two attempts to log in a watch waits on nothing that would. */
function awake(): Disposable {
  const timer = setInterval(() => undefined, 2 ** 30);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

/** Tells who looks on how the watch stands; each trouble once until it is live again. */
function teller(out: Output): (state: WatchState, machines: number, containers: number) => void {
  const told = new Set<string>();
  return (state, machines, containers) => {
    const { name, reason, until } = state;
    out.event('state', { state: name, ...(reason === undefined ? {} : { reason }), machines, containers });
    // A refusal is told each time: the next attempt is later and later.
    const again = name !== 'backoff' && told.has(name);
    told.add(name);
    if (name === 'live') {
      told.clear();
      out.note(`Watching ${count(machines, 'machine')} in ${count(containers, 'container')}; Ctrl-C ends it.`);
    } else if (!again) {
      const text = trouble(name, cause(reason), until);
      if (text !== undefined) out.note(text);
    }
  };
}

function trouble(name: WatchState['name'], why: string, until: number | undefined): string | undefined {
  switch (name) {
    case 'resuming':
      return `${why}The same question is asked again, and no change is lost.`;
    case 'rebuilding':
      return 'The watch ended on the server; a new one compares everything with what was known, and no change is lost.';
    case 'backoff':
      return `${why}It is tried again in ${Math.ceil(Math.max(0, (until ?? 0) - systemClock.now()) / 1000)} s.`;
    default:
      return undefined;
  }
}

/** Without the call and its number, which is for the log of a vCenter. */
function cause(reason = ''): string {
  const text = reason.replace(/^\w+ (?:on \S+ )?\(drydock-[\w-]+\): (?:\w+:\w+: )?/, '').trim();
  return text === '' ? '' : `${text.charAt(0).toUpperCase()}${text.slice(1)} `;
}

function count(of: number, what: string): string {
  return `${of} ${what}${of === 1 ? '' : 's'}`;
}

/** What the watch logs, as far as its state does not say it. */
function warning(fields: object, message: string, nameOf: (ref: string) => string): string | undefined {
  const { container, err, remedy } = fields as {
    readonly container?: string;
    readonly err?: unknown;
    readonly remedy?: string;
  };
  if (remedy !== undefined) return undefined;
  const about = container === undefined ? '' : ` (${nameOf(container)})`;
  return `${message}${about}${err instanceof Error ? ` ${err.message}` : ''}`;
}
