/** What the controller acts on. */
export interface SyncPorts<S> {
  readonly sets: () => readonly S[];
  /** The template that the set should have instead of its own, or undefined where it is current. Looks into vCenter each time. */
  readonly plan: (set: S) => Promise<string | undefined>;
  readonly patch: (set: S, template: string) => Promise<void>;
  /** PUT of MachineConfiguration's status. */
  readonly writeStatus: (conditions: Readonly<Record<string, string>>) => Promise<void>;
}

/** What it did. */
export interface SyncCounts {
  syncs: number;
  plans: number;
  patches: number;
  statusWrites: number;
}

/**
 * How openshift/machine-config-operator answers events, as its public sources describe it (pkg/controller/bootimage at commit 7ff337a): every event means a
 * sync of everything, by one worker, from a queue in which equal names collapse; a sync takes the sets in turn and writes the Progressing condition
 * after each of them, whose reason is the event's name; each patch of a set is an event itself. Re-enacted from the behaviour; nothing of it is used.
 */
export function wholeSync<S>(ports: SyncPorts<S>): {
  readonly counts: SyncCounts;
  /** Queues an event; the worker takes it when it gets to it. */
  on(event: string): void;
  /** Resolves when the queue is empty. */
  idle(): Promise<void>;
} {
  const counts: SyncCounts = { syncs: 0, plans: 0, patches: 0, statusWrites: 0 };
  const queue = new Set<string>();
  let conditions: Readonly<Record<string, string>> = {};
  let working: Promise<void> | undefined;

  const write = async (change: Readonly<Record<string, string>>): Promise<void> => {
    // No write when nothing changed; a message or a reason is enough of a change.
    if (Object.entries(change).every(([type, text]) => conditions[type] === text)) return;
    conditions = { ...conditions, ...change };
    counts.statusWrites++;
    await ports.writeStatus(conditions);
  };
  const sync = async (event: string): Promise<void> => {
    counts.syncs++;
    const list = ports.sets();
    const progressing = (done: number): Promise<void> =>
      write({ Progressing: `${event}: Reconciled ${done} of ${list.length} MAPI MachineSets` });
    let done = 0;
    await progressing(done);
    for (const set of list) {
      counts.plans++;
      const template = await ports.plan(set);
      if (template !== undefined) {
        counts.patches++;
        await ports.patch(set, template);
        queue.add('MAPIMachineSetUpdated');
      }
      await progressing(++done);
    }
    await write({ Degraded: `${event}: 0 Degraded MAPI MachineSets` });
  };
  const work = async (): Promise<void> => {
    for (;;) {
      const [event] = queue;
      if (event === undefined) return;
      queue.delete(event);
      await sync(event);
    }
  };
  return {
    counts,
    on: (event) => {
      queue.add(event);
      working ??= work().finally(() => {
        working = undefined;
      });
    },
    idle: async () => {
      await working;
    },
  };
}
