import { once } from 'node:events';
import { Machine } from '@drydock/api';
import { createCache } from '@drydock/kube';
import { MACHINE_UUID_INDEX, machineOf, machineUuids } from '@drydock/vm-watch';
import type { MoRef, UpdateFeed, XmlElement } from '@drydock/vsphere';
import type { Command } from 'commander';
import { connect } from '../connect.ts';
import { exitCode } from '../exit.ts';
import { quoted } from '../template/next-command.ts';
import { TemplateProblem } from '../template/problem.ts';

/** The flags that name a cluster whose Machines are shown; without any of them there is none. */
export interface MachineFlags {
  readonly kubeconfig?: string;
  readonly context?: string;
}

/** Names the OpenShift Machine of virtual machines. Disposal ends its watch on Machines. */
export interface MachineNames extends AsyncDisposable {
  /** Reads the UUIDs of all virtual machines below some containers at once, so that what is destroyed later can be named, too. */
  learn(containers: readonly MoRef[]): Promise<void>;
  /** `<namespace>/<name>`; undefined where no Machine, or more than one, is of this virtual machine. */
  of(ref: MoRef): Promise<string | undefined>;
}

/** How long Machines may take to be listed. */
const LISTED_MS = 15_000;
const UUID = 'config.uuid';
const LIST = 'kubectl get machines.machine.openshift.io -A';

/** Adds the flags. */
export function machineFlags(command: Command): Command {
  return command
    .option('--kubeconfig <file>', 'name the OpenShift Machine of each virtual machine, by this cluster')
    .option('--context <name>', 'likewise; a context of the kubeconfig');
}

/** Watches the Machines of the cluster that the flags name; undefined where they name none. Ends with 1 where the cluster does not show them. */
export async function machineNames(
  flags: MachineFlags,
  feed: UpdateFeed,
  options: { readonly signal: AbortSignal },
): Promise<MachineNames | undefined> {
  const { kubeconfig, context } = flags;
  if (kubeconfig === undefined && context === undefined) return undefined;
  await using starting = new AsyncDisposableStack();
  const cluster = {
    ...(kubeconfig === undefined ? {} : { kubeconfig }),
    ...(context === undefined ? {} : { context }),
  };
  const client = starting.use(
    await connect(cluster).catch((cause: unknown) => {
      const next = `kubectl config get-contexts${kubeconfig === undefined ? '' : ` --kubeconfig ${quoted(kubeconfig)}`}`;
      throw problem('KUBECONFIG_UNUSABLE', cause, next);
    }),
  );
  const late = AbortSignal.any([options.signal, AbortSignal.timeout(LISTED_MS)]);
  // Asked once before it is watched: a watch would go on trying without a word.
  for await (const _ of listed(client.list(Machine, {}, { signal: late }), flags, options.signal)) break;
  const cache = starting.use(
    createCache({ client, resource: Machine, indexes: { [MACHINE_UUID_INDEX]: machineUuids } }),
  );
  await Promise.race([cache.synced, once(options.signal, 'abort')]);

  const uuids = new Map<string, XmlElement>();
  const remembering: Pick<UpdateFeed, 'property'> = {
    property: async (ref, path, call) => {
      const known = path === UUID ? uuids.get(ref.value) : undefined;
      if (known !== undefined) return known;
      const read = await feed.property(ref, path, call);
      if (read !== undefined && path === UUID) uuids.set(ref.value, read);
      return read;
    },
  };
  const resources = starting.move();
  return {
    learn: async (containers) => {
      for (const [value, uuid] of await feed.survey(containers, UUID, options))
        uuids.set(value, { uri: '', name: 'val', attributes: [], children: [uuid] });
    },
    of: (ref) => machineOf(remembering, cache, ref, options),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

async function* listed(
  machines: AsyncIterable<Machine>,
  { kubeconfig, context }: MachineFlags,
  signal: AbortSignal,
): AsyncIterable<Machine> {
  try {
    yield* machines;
  } catch (cause) {
    signal.throwIfAborted();
    const which = [
      ...(kubeconfig === undefined ? [] : ['--kubeconfig', kubeconfig]),
      ...(context === undefined ? [] : ['--context', context]),
    ];
    throw problem('MACHINES_UNREADABLE', cause, [LIST, ...which.map(quoted)].join(' '));
  }
}

function problem(code: string, cause: unknown, next: string): TemplateProblem {
  const why = cause instanceof Error ? cause.message : String(cause);
  const message = `the Machines of the cluster cannot be read: ${why}`;
  return new TemplateProblem({ code, exit: exitCode.failed, message, next, cause });
}
