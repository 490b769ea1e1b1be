import { VirtualMachine, type VirtualMachineStatus } from '@drydock/api';
import { createCache } from '@drydock/kube';
import { memoryCluster, until } from '@drydock/kube/testing';
import { type Clock, type Credentials, type LoginBudget, systemClock } from '@drydock/vsphere';
import type { Signal } from '../delivery/resolve.ts';
import { WatchService, type WatchServiceOptions } from '../kubernetes/service.ts';
import { vmLookup, wholeMachines } from '../kubernetes/vm-index.ts';
import type { WatchMetrics } from '../metrics.ts';
import { type Links, links } from '../watch/links.ts';
import { type Estate, estate } from './estate.ts';

/** One service on vCenters in memory, and what it handed over. */
export interface ServiceRig extends AsyncDisposable {
  readonly estate: Estate;
  readonly links: Links;
  readonly service: WatchService;
  /** `vc1 ns/a vm-1 changed`, with `verified` where it is. */
  readonly signals: string[];
  /** The Secret; undefined: there is none. */
  credentials: Credentials | undefined;
  endpoint: string;
  /** Object ns/<name>; undefined removes it. */
  vm(name: string, status?: VirtualMachineStatus | null, metadata?: object): Promise<void>;
  run(): void;
  stop(): Promise<void>;
  live(server?: string): Promise<void>;
  /** Waits until something was handed over that ends with this; gives all that came since the last call. */
  until(end: string): Promise<readonly string[]>;
}

/** `deliver` comes before the signal is noted. */
export async function serviceRig(
  options: Partial<Omit<WatchServiceOptions, 'deliver'>> & {
    readonly clock?: Clock;
    readonly logins?: LoginBudget;
    readonly deliver?: (signal: Signal) => void | Promise<void>;
    readonly metrics?: WatchMetrics;
  } = {},
): Promise<ServiceRig> {
  const { deliver = () => undefined, clock = systemClock, logins, ...rest } = options;
  const vcenters = estate(clock, logins);
  const cluster = memoryCluster({ resources: [VirtualMachine], namespaces: ['ns'] });
  const client = cluster.client();
  const vms = createCache({ client, resource: VirtualMachine });
  const whole = wholeMachines(vms, (vm) => vm);
  await vms.synced;
  const ways = links({
    connect: vcenters.connect,
    credentials: () => {
      if (rig.credentials === undefined) throw new Error('there is no secret');
      return rig.credentials;
    },
    endpoint: () => rig.endpoint,
  });
  const signals: string[] = [];
  const service = new WatchService({
    name: 'vms',
    links: ways,
    lookup: (server) => vmLookup(whole, () => server, server),
    clock,
    log: { info: () => undefined, warn: () => undefined },
    selfCheckMs: 0,
    random: () => 0,
    ...rest,
    deliver: async (server, signal) => {
      await deliver(signal);
      const { namespace, name, ref, kind, verified } = signal;
      signals.push(`${server} ${namespace}/${name} ${ref.value} ${kind}${verified ? ' verified' : ''}`);
    },
  });
  vms.subscribe(({ now }) => {
    const { name } = now?.metadata ?? {};
    if (now !== undefined) service.claimed('vc1', { uniqueId: now.status?.uniqueID, namespacedName: `ns/${name}` });
  });
  let end = new AbortController();
  let running: Promise<void> = Promise.resolve();
  let told = 0;
  const rig: ServiceRig = {
    estate: vcenters,
    links: ways,
    service,
    signals,
    credentials: { user: 'u', password: 'p' },
    endpoint: 'https://vc1',
    vm: async (name, status, metadata = {}) => {
      const key = { namespace: 'ns', name };
      cluster.put(
        VirtualMachine,
        key,
        status === null
          ? undefined
          : { metadata: { ...key, ...metadata }, ...(status === undefined ? {} : { status }) },
      );
      await until('the cache knows', () => {
        const version = cluster.peek(VirtualMachine, key)?.metadata.resourceVersion;
        return vms.get(key)?.metadata.resourceVersion === version;
      });
    },
    run: () => {
      end = new AbortController();
      running = service.run(end.signal);
    },
    stop: async () => {
      end.abort();
      await running;
    },
    live: async (server = 'vc1') => {
      await until(`the watch on ${server} is live`, () =>
        service
          .reports()
          .some(({ vcenter, state, dirty }) => vcenter === server && state.name === 'live' && dirty === 0),
      );
    },
    until: async (what) => {
      await until(`a signal ${what}`, () => signals.slice(told).some((signal) => signal.endsWith(what)));
      const since = signals.slice(told);
      told = signals.length;
      return since;
    },
    [Symbol.asyncDispose]: async () => {
      await rig.stop();
      await ways[Symbol.asyncDispose]();
      await vms[Symbol.asyncDispose]();
      await client[Symbol.asyncDispose]();
    },
  };
  return rig;
}
