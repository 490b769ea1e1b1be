import { CustomResourceDefinition, Deployment, VirtualMachine, Zone } from '@drydock/api';
import { followedProjector, type StatusKeeping } from '@drydock/crd';
import {
  type Cache,
  type Client,
  type Controller,
  createCache,
  type HealthCheck,
  type KubeObject,
  keyOf,
  keyText,
  type ManagedCache,
  type Observer,
  type Resource,
  type Selector,
  type Service,
} from '@drydock/kube';
import type { Clock } from '@drydock/vsphere';
import type { Signal } from './delivery/resolve.ts';
import { candidates as noCandidates } from './kubernetes/candidates.ts';
import { vmOperator, vmOperatorRefusal } from './kubernetes/coexistence.ts';
import { VIRTUAL_MACHINES } from './kubernetes/kinds.ts';
import { WatchService } from './kubernetes/service.ts';
import { virtualMachineMirror } from './kubernetes/virtual-machine-controller.ts';
import { vmLookup, whereabouts, wholeMachines } from './kubernetes/vm-index.ts';
import { folderOf, watchedAtStart, zoneId } from './kubernetes/zone.ts';
import { zoneController } from './kubernetes/zone-controller.ts';
import { type WatchMetrics, watchMetrics } from './metrics.ts';
import type { Links } from './watch/links.ts';
import { type MachineReader, machineReader } from './watch/machine-state.ts';
import type { WatchLog } from './watch/watch-log.ts';

/** What the role needs from the app that runs it. */
export interface VmWatchRoleOptions {
  readonly client: Client & Observer;
  readonly links: Links;
  /** The vCenter of Zones and VirtualMachines that name none. */
  readonly firstServer: () => string;
  readonly clock: Clock;
  readonly log: WatchLog;
  /** See `asyncSignalEnabled`. Default true. */
  readonly enabled?: boolean;
  readonly metrics?: WatchMetrics;
  /** Take the old finalizer off Zones. Default false. */
  readonly cleanLegacyFinalizer?: boolean;
  /** VirtualMachines at a time. Default 8. */
  readonly concurrency?: number;
  readonly random?: () => number;
  readonly maxWaitSeconds?: number;
  readonly selfCheckMs?: number;
  /** Keeps what the live schema cannot hold, and tells what cannot be written. Default: logged alone. */
  readonly statuses?: (resource: Resource<never>) => StatusKeeping;
  /** Default `WATCHED_PATHS`. */
  readonly paths?: readonly string[];
  /** Default `IGNORED_KEYS`. */
  readonly ignoredKeys?: ReadonlySet<string>;
}

/** What the app runs: give caches, controllers, services and `ready` to kube's `run`. */
export interface VmWatchRole {
  readonly caches: {
    readonly zones: Cache<Zone>;
    readonly virtualMachines: Cache<VirtualMachine>;
    readonly vmOperator: Cache<Deployment>;
    readonly vmOperatorCrd: Cache<CustomResourceDefinition>;
  } & Readonly<Record<string, ManagedCache>>;
  readonly controllers: readonly Controller[];
  readonly services: readonly Service[];
  readonly ready: Readonly<Record<string, HealthCheck>>;
  readonly watch: WatchService;
}

/** Wires the watch on virtual machines: caches, service, zone controller, mirror. Caches start at once, the rest with `run`. */
export function vmWatchRole(options: VmWatchRoleOptions): VmWatchRole {
  const { client, links, log, clock, metrics = watchMetrics() } = options;
  const onError = (error: unknown): void =>
    log.warn(
      { err: error },
      'A watch on the API server failed; Drydock tries again. If this warning repeats, follow the error.',
    );
  const cache = <T extends KubeObject>(resource: Resource<T>, where: Selector): Cache<T> =>
    createCache({ client, resource, where, onError });
  const zones = cache(Zone, {});
  const operator = cache(Deployment, { namespace: vmOperator.namespace, fields: `metadata.name=${vmOperator.name}` });
  const vmOperatorCrd = cache(CustomResourceDefinition, { fields: `metadata.name=${VIRTUAL_MACHINES}` });
  const keep = options.statuses?.(VirtualMachine as Resource<never>) ?? {};
  const { projector, onChange } = followedProjector({ kind: VirtualMachine, definition: vmOperatorCrd, log, keep });

  const virtualMachines = cache(VirtualMachine, {});
  // By what is known of a machine, also where an older definition hides it; after a restart only the ledger knows.
  const whole = wholeMachines(virtualMachines, projector.remembered);
  const indexed = virtualMachines.synced.then(async () => {
    await keep.ledger?.view('');
    whole.refresh();
  });
  // A cache that is disposed of before is of no interest; whoever waits is told all the same.
  indexed.catch(() => undefined);

  const where = whereabouts(() => zones.all(), options.firstServer);
  const candidates = noCandidates();
  /** Servers of which everything that the first look found was handed over once. */
  const settled = new Set<string>();
  const readers = new Map<string, MachineReader>();
  const reader = (server: string): MachineReader => {
    const made = readers.get(server) ?? machineReader(links.of(server).feed(), () => clock.now());
    readers.set(server, made);
    return made;
  };
  let refused: string | undefined;
  const refusal = (): string | undefined => {
    const now = vmOperatorRefusal(operator.get(vmOperator), vmOperatorCrd.get({ name: VIRTUAL_MACHINES }));
    if (now !== refused)
      log.warn({}, now === undefined ? 'VirtualMachines are mirrored here' : `No status is written: ${now}`);
    refused = now;
    return now;
  };
  const mirror = virtualMachineMirror({
    client,
    vms: virtualMachines,
    hooks: projector,
    where,
    candidates,
    reader,
    looked: (server, machine) => watch.looked(server, machine),
    refusal,
    seen: (server) => {
      const wanted = [...zones.all()].some((zone) => where.zone(zone) === server && folderOf(zone) !== undefined);
      if (!wanted) return 'unwatched';
      const standing = watch.standing(server);
      if (standing?.state.name !== 'live') return 'no';
      if (standing.idle) settled.add(server);
      else if (!settled.has(server)) return 'first';
      return standing.idle ? 'yes' : 'soon';
    },
    ...(options.concurrency === undefined ? {} : { concurrency: options.concurrency }),
  });

  virtualMachines.subscribe(({ old, now }) => {
    const { uid } = old?.metadata ?? {};
    // What was told of an object does not outlive it.
    if (uid !== undefined && uid !== now?.metadata.uid) projector.forget(uid);
  });
  /** Statuses were somebody else's to write, and are ours now. */
  const takeOver = (): void => {
    if (refused === undefined || refusal() !== undefined) return;
    for (const vm of virtualMachines.all()) mirror.wake(keyOf(vm), 'initial');
  };
  operator.subscribe(takeOver);
  vmOperatorCrd.subscribe(takeOver);
  // What was cut or refused may fit now.
  onChange(() => {
    for (const [namespace = '', name = ''] of projector.concerned().map((object) => object.split('/')))
      mirror.wake({ namespace, name }, 'generic');
  });

  const deliver = (server: string, { ref, namespace, name, verified }: Signal): void => {
    const key = { namespace, name };
    // Kept also for an object that does not exist yet.
    if (!verified) candidates.add(keyText(key), server, ref);
    const vm = virtualMachines.get(key);
    if (vm === undefined || where.vm(vm) !== server) metrics.dropped('vms', server, 'no-object');
    else mirror.wake(key, 'generic');
  };
  const watch = new WatchService({
    name: 'vms',
    links,
    lookup: (server) => vmLookup(whole, where.vm, server),
    deliver,
    clock,
    log,
    metrics,
    after: [zones.synced, indexed],
    enabled: options.enabled ?? true,
    onBaseline: (server, { value }) => {
      const [vm, another] = whole.byUniqueId(value).filter((one) => where.vm(one) === server);
      if (vm !== undefined && another === undefined) mirror.wake(keyOf(vm), 'initial');
    },
    onState: (server, { name }) => {
      if (name === 'live') mirror.reachable(server);
    },
    onReplaced: (server) => {
      settled.delete(server);
      readers.delete(server);
      candidates.forgetServer(server);
      for (const vm of virtualMachines.all()) if (where.vm(vm) === server) mirror.wake(keyOf(vm), 'generic');
    },
    ...(options.random === undefined ? {} : { random: options.random }),
    ...(options.maxWaitSeconds === undefined ? {} : { maxWaitSeconds: options.maxWaitSeconds }),
    ...(options.selfCheckMs === undefined ? {} : { selfCheckMs: options.selfCheckMs }),
    ...(options.paths === undefined ? {} : { paths: options.paths }),
    ...(options.ignoredKeys === undefined ? {} : { ignoredKeys: options.ignoredKeys }),
  });
  virtualMachines.subscribe(({ old, now, initial }) => {
    const vm = now ?? old;
    // What the definition hides is still claimed.
    const [before, uniqueId] = [old, now].map((one) => one && projector.remembered(one).status?.uniqueID);
    if (initial || vm === undefined || (old !== undefined && now !== undefined && before === uniqueId)) return;
    const formerly = before === uniqueId ? undefined : before;
    watch.claimed(where.vm(vm), { uniqueId, formerly, namespacedName: zoneId(vm.metadata) });
  });
  const zonesOptions = {
    client,
    zones,
    service: watch,
    serverOf: where.zone,
    clock,
    cleanLegacy: options.cleanLegacyFinalizer ?? false,
  };
  return {
    caches: { zones, virtualMachines, vmOperator: operator, vmOperatorCrd },
    controllers: [zoneController(zonesOptions), ...(watch.enabled ? [mirror.controller] : [])],
    services: [watch, seed(watch, zones, where.zone)],
    ready: { [watch.name]: watch.check },
    watch,
  };
}

/** Wants the folders of guarded Zones before their controller looks at each. */
function seed(watch: WatchService, zones: Cache<Zone>, serverOf: (zone: Zone) => string): Service {
  return {
    name: 'watch-vms-start',
    run: async (signal) => {
      await Promise.race([
        zones.synced,
        new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true })),
      ]);
      if (signal.aborted) return;
      for (const zone of zones.all()) {
        const folder = watchedAtStart(zone);
        // Not waited for: that is the watch's own affair.
        if (folder !== undefined) void watch.add(serverOf(zone), folder, zoneId(zone.metadata));
      }
    },
  };
}
