import type { WayWorld } from './way-world.ts';

/** A call to either server. */
export interface WayCall {
  /** `patch machinesets`, `rename c1-rhcos`. */
  readonly place: string;
  readonly phase: 'before' | 'after';
  /** Whose session it is. */
  readonly by: object;
  /** It is the operator's. */
  readonly operates: boolean;
  readonly mutates: boolean;
}

/** The ledger knows of every call by whom it is made, and with which pins; `at` is awaited around each, and what it throws its caller gets. Disposal ends it. */
export function onCalls(
  { cluster, inventory, ledger, operators }: WayWorld,
  at: (call: WayCall) => Promise<void> = async () => undefined,
): Disposable {
  const around = async (call: Omit<WayCall, 'operates'>): Promise<void> => {
    const operates = operators.has(call.by);
    const issued = ledger.pins();
    if (operates && call.mutates && call.phase === 'after') await ledger.look();
    await at({ ...call, operates });
    if (call.mutates) ledger.begin(operates ? 'operator' : 'person', issued);
  };
  const server = cluster.client.cluster;
  const before = [server.onCall, inventory.onCall] as const;
  server.onCall = ({ verb, resource }, phase, { mutates, client }) =>
    around({ place: `${verb} ${resource.split('.')[0]}`, phase, by: client, mutates });
  inventory.onCall = (method, phase, args, { mutates, client }) =>
    around({ place: method === 'rename' ? `rename ${String(args[1])}` : method, phase, by: client, mutates });
  return {
    [Symbol.dispose]: () => {
      [server.onCall, inventory.onCall] = before;
    },
  };
}
