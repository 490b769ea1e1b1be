import { VirtualMachine } from '@drydock/api';
import type { Projector, StatusHooks } from '@drydock/crd';
import {
  type Cache,
  type Client,
  type Controller,
  controller,
  isNotFound,
  type Key,
  keyOf,
  keyText,
  type Predicate,
  type ReconcileOutcome,
  type Source,
  type StatusWriter,
  statusWriter,
} from '@drydock/kube';
import { isVimError, type MoRef } from '@drydock/vsphere';
import { priorityOf, type QueueCause } from '../delivery/priorities.ts';
import type { MachineReader, MachineState } from '../watch/machine-state.ts';
import type { Candidates } from './candidates.ts';
import { type OwnWrites, ownWrites } from './own-writes.ts';
import { type MachineFinding, mirroredStatus } from './virtual-machine.ts';
import type { Whereabouts } from './vm-index.ts';

/** What the mirror needs. */
export interface MirrorOptions {
  readonly client: Pick<Client, 'get' | 'replace' | 'replaceStatus' | 'applyStatus'>;
  /** How the status is cut to the schema that the server has now, as `statusWriter` wants it. */
  readonly hooks?: StatusHooks & Pick<Projector, 'retryIn' | 'forget'>;
  readonly vms: Pick<Cache<VirtualMachine>, 'get' | 'synced' | 'subscribe'>;
  readonly where: Whereabouts;
  readonly candidates: Candidates;
  readonly reader: (server: string) => MachineReader;
  /** A machine is about to be looked at: `WatchService.looked`. */
  readonly looked: (server: string, machine: string) => void;
  /**
   * Whether all machines of a vCenter were seen. Before, nobody can say that one is not there, or the only one; and a look is worth little, since what changes between it and the
   * beginning of the watch is told by nobody. `soon`: what is left is on its way; `first`: and the first of it is not through.
   */
  readonly seen: (server: string) => 'yes' | 'soon' | 'first' | 'no' | 'unwatched';
  /** Why nothing may be written; see `vmOperatorRefusal`. */
  readonly refusal: () => string | undefined;
  readonly concurrency?: number;
}

/** The mirror and its queue. */
export interface Mirror {
  readonly controller: Controller;
  /** The machine of this object is to be looked at. */
  wake(key: Key, cause: QueueCause): void;
  /** A vCenter can be read again: what waited for it is looked at. */
  reachable(server: string): void;
}

/** What waits for a vCenter is looked at again after this long at the latest. */
const WAIT_MS = 60_000;
/** Everything is looked at this often, whatever was said: the period of vm-operator. */
const RESYNC_MS = 30 * 60_000;
/** And what waits for the rest of its machines after this long. */
const SOON_MS = 250;

/**
 * Shows in the status of each VirtualMachine what its machine is: read from vCenter at each look, written once, and only where something changed. Beside vm-operator it writes nothing.
 */
export function virtualMachineMirror(options: MirrorOptions): Mirror {
  const { vms, where } = options;
  const writer = statusWriter<VirtualMachine>({ client: options.client, resource: VirtualMachine, ...options.hooks });
  const own = ownWrites(vms, keyOf);
  const waiting = new Map<string, Map<string, Key>>();
  const wait = (server: string, key: Key): void => {
    const keys = waiting.get(server) ?? new Map<string, Key>();
    waiting.set(server, keys.set(keyText(key), key));
  };

  const enqueue = (key: Key, cause: QueueCause): void => {
    const vm = vms.get(key);
    made.enqueue(key, { priority: vm === undefined ? 0 : priorityOf(vm, cause) });
  };
  const made = controller<VirtualMachine>({
    name: 'virtual-machines',
    // Its keys come with a priority, which `prioritized` gives them.
    for: vms,
    when: () => false,
    watches: [prioritized(vms, enqueue)],
    concurrency: options.concurrency ?? 8,
    backOff: { first: 100, longest: 60_000 },
    reconcile: async (key, { signal, stopping, log, now }) => {
      try {
        return await reconcileVirtualMachine(options, writer, key, { signal, stopping, now, wait, own });
      } catch (error) {
        if (stopping.aborted || !isVimError(error)) throw error;
        // Not a failure of this object, and not one line of log for each.
        log.debug({ err: error }, 'the vCenter cannot be read now');
        const vm = vms.get(key);
        if (vm === undefined) return undefined;
        wait(where.vm(vm), key);
        return { after: WAIT_MS };
      }
    },
  });
  return {
    controller: made,
    wake: enqueue,
    reachable: (server) => {
      const keys = waiting.get(server)?.values() ?? [];
      waiting.delete(server);
      for (const key of keys) enqueue(key, 'generic');
    },
  };
}

/** One look at one object. */
async function reconcileVirtualMachine(
  options: MirrorOptions,
  writer: StatusWriter<VirtualMachine>,
  key: Key,
  {
    signal,
    stopping,
    now,
    wait,
    own,
  }: {
    readonly signal: AbortSignal;
    /** For what is only read. */
    readonly stopping: AbortSignal;
    readonly now: () => Date;
    readonly wait: (server: string, key: Key) => void;
    readonly own: OwnWrites<VirtualMachine>;
  },
): Promise<ReconcileOutcome> {
  const { hooks, where, candidates, refusal, seen } = options;
  const stored = own.latest(key);
  // Its candidates stay: an object of this name may be made again, and its machine would say nothing of that.
  if (stored === undefined) return undefined;
  // What an older definition cannot hold is still known.
  const vm = hooks === undefined ? stored : await hooks.recall(stored);
  if (vm.metadata.deletionTimestamp !== undefined || refusal() !== undefined) return undefined;
  const server = where.vm(vm);
  const known = (vm.status?.uniqueID ?? '') !== '';
  const all = seen(server);
  if (all === 'no' || all === 'first' || (all !== 'yes' && !known)) {
    wait(server, key);
    return { after: all === 'soon' || all === 'first' ? SOON_MS : WAIT_MS };
  }
  const finding = await findMachine(options, vm, server, stopping);
  // Upstream may have come while the vCenter was asked.
  if (refusal() !== undefined) return undefined;
  try {
    let outdated = false;
    const { object } = await writer.write(
      key,
      (live) => {
        // What was found is that of another machine than the object has by now.
        outdated = (live.status?.uniqueID ?? '') !== (vm.status?.uniqueID ?? '');
        return outdated ? undefined : mirroredStatus(live, finding, server, now());
      },
      { current: stored, signal },
    );
    own.wrote(object);
    if (outdated) return { after: SOON_MS };
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
  if (finding.kind === 'found') candidates.forget(keyText(key));
  // The copies may be destroyed, which concerns no object.
  const after = finding.kind === 'ambiguous' ? WAIT_MS : RESYNC_MS * (0.9 + Math.random() * 0.2);
  const again = hooks?.retryIn(vm.metadata.uid ?? '');
  return { after: again === undefined ? after : Math.max(SOON_MS, again) };
}

/** The machine of an object. */
async function findMachine(
  { reader, looked, candidates, where }: MirrorOptions,
  vm: VirtualMachine,
  server: string,
  signal: AbortSignal,
): Promise<MachineFinding> {
  const machines = reader(server);
  const call = { signal };
  const name = keyText({ namespace: vm.metadata.namespace ?? '', name: vm.metadata.name });
  const look = async (ref: MoRef): Promise<MachineFinding> => {
    looked(server, ref.value);
    const state = await machines.state(ref, call);
    if (state === 'gone') return { kind: 'deleted', uniqueId: ref.value };
    if (state === 'unreadable') return { kind: 'unreadable', uniqueId: ref.value };
    return { kind: 'found', machine: state, zone: where.zoneOf(vm, state.cluster) };
  };
  const { uniqueID = '' } = vm.status ?? {};
  if (uniqueID !== '') {
    const ref = { type: 'VirtualMachine', value: uniqueID };
    const finding = await look(ref);
    if (finding.kind !== 'found' || agrees(vm, finding.machine) || (await machines.carries(ref, call)) === name)
      return finding;
    return { kind: 'replaced', uniqueId: uniqueID };
  }

  const claims: MachineFinding[] = [];
  for (const ref of candidates.of(name, server)) {
    const finding = (await machines.carries(ref, call)) === name ? await look(ref) : undefined;
    const wanted = vm.spec?.instanceUUID?.toLowerCase();
    const fits =
      finding?.kind === 'found' && (wanted === undefined || wanted === finding.machine.instanceUuid.toLowerCase());
    if (fits) claims.push(finding);
    else candidates.drop(name, server, ref);
  }
  const [only] = claims;
  if (only === undefined) return { kind: 'none' };
  if (claims.length === 1) return only;
  return {
    kind: 'ambiguous',
    uniqueIds: claims.map((claim) => (claim.kind === 'found' ? claim.machine.ref.value : '')),
  };
}

/** Whether a machine is the one that was seen under its reference before. vCenter may give a machine another instance UUID, but not both. */
function agrees({ status }: VirtualMachine, { instanceUuid, biosUuid }: MachineState): boolean {
  const same = (was: string | undefined, is: string): boolean =>
    was === undefined || was === '' || is === '' || was.toLowerCase() === is.toLowerCase();
  return same(status?.instanceUUID, instanceUuid) || same(status?.biosUUID, biosUuid);
}

/** Changes of objects with the priority of each. What only the mirror itself wrote is none: it would look at its own shadow. */
function prioritized(vms: MirrorOptions['vms'], enqueue: (key: Key, cause: QueueCause) => void): Source {
  return {
    synced: vms.synced,
    start: () =>
      vms.subscribe((change) => {
        if (!counts(change)) return;
        const cause = change.initial
          ? 'initial'
          : change.now === undefined
            ? 'delete'
            : change.old === undefined
              ? 'create'
              : 'update';
        enqueue(change.key, cause);
      }),
  };
}

const counts: Predicate<VirtualMachine> = ({ old, now }) =>
  old === undefined ||
  now === undefined ||
  old.metadata.generation !== now.metadata.generation ||
  old.metadata.deletionTimestamp !== now.metadata.deletionTimestamp ||
  JSON.stringify([old.metadata.labels, old.metadata.annotations]) !==
    JSON.stringify([now.metadata.labels, now.metadata.annotations]) ||
  // Somebody took the machine away from it.
  (old.status?.uniqueID !== undefined && now.status?.uniqueID === undefined);
