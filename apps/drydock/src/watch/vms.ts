import { createWatcher, type WatchState } from '@drydock/vm-watch';
import { type MoRef, systemClock, unescapeName } from '@drydock/vsphere';
import type { Command } from 'commander';
import { exitCode } from '../exit.ts';
import { type CommonFlags, connectionFlags, several } from '../template/flags.ts';
import type { Output } from '../template/output.ts';
import { verb } from '../template/run.ts';
import { findContainers } from './containers.ts';
import { type KnownValues, knownValues, smallText } from './known-values.ts';

interface WatchFlags extends CommonFlags {
  readonly container?: readonly string[];
}

/** What happened to a machine. */
interface MachineEvent {
  readonly what: 'changed' | 'came' | 'left';
  readonly ref: MoRef;
  readonly path?: string;
  readonly old?: string | undefined;
  readonly new?: string | undefined;
}

/** Adds `drydock watch vms`. */
export function addWatchVms(group: Command): void {
  const command = connectionFlags(group.command('vms'))
    .description('print changes of machines until it is interrupted; no Kubernetes is needed')
    .option(
      '--container <path|moref>',
      'folder, cluster, host, resource pool or datacenter; may be given several times (default: every datacenter)',
      several,
    )
    .option('-o, --output <format>', 'text|wide|name|json (json: one event per line)', 'text')
    .addHelpText(
      'after',
      `
Flags win over the environment (govc's variables: GOVC_URL, GOVC_USERNAME, GOVC_PASSWORD, …), that over the config file.
Exit codes: 1 failed, 2 usage, 3 a container does not exist, 130 and 143 interrupted, which is how it ends.`,
    );
  verb<WatchFlags>(
    command,
    async (run) => {
      const { out, signal, flags } = run;
      const session = await run.session();
      const { vcenter } = session;
      const containers = await findContainers(vcenter, flags.container ?? [], { signal });
      const known = knownValues(vcenter.updates);
      const print = printer(out, known);
      const watcher = await createWatcher({
        feed: known.feed,
        clock: systemClock,
        log: { info: () => undefined, warn: (_fields, message) => out.warn(message) },
        // Everybody's own: what is there at first is no news, and everything later is.
        lookup: {
          named: () => undefined,
          byUniqueId: (uniqueId) => [{ namespace: '', name: uniqueId, uniqueId, deleting: false }],
        },
        deliver: ({ ref, kind, paths }) => {
          if (kind === 'left') print({ what: 'left', ref });
          else if (paths.size === 0 && !present.has(ref.value)) print({ what: 'came', ref });
          if (kind === 'left') {
            present.delete(ref.value);
            known.forget(ref);
          } else present.add(ref.value);
        },
        onResolved: (ref, resolution) => {
          if (resolution.kind === 'drop' && resolution.reason === 'baseline') present.add(ref.value);
        },
        onChange: (ref, path, value) => {
          const old = known.value(ref, path);
          print({ what: 'changed', ref, path, old, new: value === undefined ? '' : smallText(value) });
        },
        onState: (state) => tell(out, state, watcher.ledger.size, containers.length),
      });
      const present = new Set<string>();
      for (const { ref } of containers) void watcher.supervisor.add(ref, 'drydock watch');
      await watcher.run(signal);
      signal.throwIfAborted();
      return exitCode.done;
    },
    'Interrupted: the watch was taken off the server, and the session was ended.',
  );
}

function printer(out: Output, known: KnownValues): (event: MachineEvent) => void {
  let headed = false;
  return ({ what, ref, path, old, new: now }) => {
    const name = path === 'name' && now !== undefined ? now : (known.value(ref, 'name') ?? ref.value);
    const vm = unescapeName(name);
    out.event(what, {
      vm,
      ref: ref.value,
      ...(path === undefined ? {} : { path, old: old ?? null, new: now ?? null }),
    });
    if (out.format === 'json') return;
    if (out.format === 'name') {
      out.data(`${oneLine(vm)}\n`);
      return;
    }
    if (!headed) out.data(row(out, 'TIME', 'VM', 'MOREF', 'PATH', 'CHANGE'));
    headed = true;
    const change = path === undefined ? what : values(old, now);
    out.data(row(out, new Date().toISOString().slice(11, 23), vm, ref.value, path ?? '-', change));
  };
}

/** `old → new` where both are small; a list is only said to have changed. */
function values(old: string | undefined, now: string | undefined): string {
  if (now === undefined) return 'changed';
  return `${old ?? '(unset)'} → ${now === '' ? '(unset)' : now}`;
}

function row(out: Output, time: string, vm: string, moref: string, path: string, change: string): string {
  const cells = [
    time.padEnd(12),
    oneLine(vm).padEnd(24),
    ...(out.format === 'wide' ? [moref.padEnd(12)] : []),
    path.padEnd(28),
    oneLine(change),
  ];
  return `${cells.join('  ')}\n`;
}

/** Names and values from vCenter must not move the cursor or forge a line. */
function oneLine(text: string): string {
  return text.replaceAll(/\p{Cc}+/gu, ' ');
}

function tell(out: Output, { name, reason }: WatchState, machines: number, containers: number): void {
  out.event('state', { state: name, ...(reason === undefined ? {} : { reason }), machines });
  if (name === 'live') out.note(`Watching ${machines} machines in ${containers} containers; Ctrl-C ends it.`);
  else if (reason !== undefined && name !== 'stopped') out.note(`${name}: ${reason}`);
}
