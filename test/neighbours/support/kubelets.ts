import { Node } from '@drydock/api';
import { type Client, ifFound, isAlreadyExists, isConflict, isNotFound } from '@drydock/kube';
import type { Switchboard, VmView } from '@drydock/sandbox';

/** What the guest of a machine does once it is on. */
export type GuestFate = 'joins' | 'never joins' | 'joins, and is not ready' | 'joins, and goes';

/** The guests of a simulated vCenter: they make the nodes that kubelets would. */
export interface Kubelets extends AsyncDisposable {
  /** What guests of machines whose names fit do from now on, whatever was said before; by default they join. */
  readonly fate: (machines: RegExp, fate: GuestFate) => void;
}

const READY = { type: 'Ready', status: 'True', reason: 'KubeletReady', message: 'kubelet is posting ready status' };
const PRESSURES = ['MemoryPressure', 'DiskPressure', 'PIDPressure'].map((type) => ({
  ...{ type, status: 'False', reason: 'KubeletHasEnough', message: 'kubelet has enough' },
}));
const NOT_READY = {
  ...{ type: 'Ready', status: 'False', reason: 'KubeletNotReady' },
  message: 'container runtime network not ready',
};
/** On a node that somebody knows as a machine's, by Machine API and by Cluster API. */
const LINKED = ['machine.openshift.io/machine', 'cluster.x-k8s.io/machine'];

/** Starts them; disposal leaves the nodes that there are. */
export function startKubelets(client: Client, switchboard: Switchboard): Kubelets {
  const fates: (readonly [RegExp, GuestFate])[] = [];
  const gone = new Set<string>();
  const ends = new AbortController();

  async function live(vm: VmView): Promise<void> {
    const fate = fates.findLast(([names]) => names.test(vm.name))?.[1] ?? 'joins';
    if (vm.isTemplate || vm.power !== 'poweredOn' || fate === 'never joins' || gone.has(vm.uuid)) return;
    let node = await ifFound(client.get(Node, { name: vm.name }));
    if (node === undefined) {
      const spec = { providerID: `vsphere://${vm.uuid}` };
      node = await client.create(Node, { metadata: { name: vm.name }, spec });
    }
    const linked = LINKED.some((name) => node.metadata.annotations?.[name] !== undefined);
    if (fate === 'joins, and goes' && linked) {
      gone.add(vm.uuid);
      await client.delete(Node, { name: vm.name });
      return;
    }
    const condition = fate === 'joins' ? READY : NOT_READY;
    const [first] = node.status?.conditions?.filter(({ type }) => type === 'Ready') ?? [];
    if (first?.status === condition.status) return;
    const at = new Date().toISOString();
    const conditions = [...PRESSURES, condition].map((one) => ({
      ...{ ...one, lastHeartbeatTime: at, lastTransitionTime: at },
    }));
    await client.replaceStatus(Node, { ...node, status: { ...node.status, conditions } });
  }

  async function run(): Promise<void> {
    while (!ends.signal.aborted) {
      for (const vm of await switchboard.vms())
        await live(vm).catch((error: unknown) => {
          if (!isNotFound(error) && !isConflict(error) && !isAlreadyExists(error)) throw error;
        });
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
  const running = run();
  return {
    fate: (machines, fate) => void fates.push([machines, fate]),
    [Symbol.asyncDispose]: async () => {
      ends.abort();
      await running;
    },
  };
}
