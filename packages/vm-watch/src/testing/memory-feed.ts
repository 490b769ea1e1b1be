import {
  type CallOptions,
  type Clock,
  type Decode,
  type MoRef,
  type PropertyWatch,
  type RefusedContainer,
  type ScannedAnswer,
  type UpdateFeed,
  type UpdateSink,
  VimError,
  type WatchSpec,
} from '@drydock/vsphere';
import { simulatedFault, simulatedLoss } from '@drydock/vsphere/testing';

/** Calls that can be made to fail. */
export type FeedCall = 'login' | 'watch' | 'next' | 'add' | 'remove' | 'survey' | 'existing' | 'property';

/** A vCenter as a watch sees it, in memory: machines in containers, sessions, collectors that keep versions as the API reference says. */
export interface MemoryFeed extends UpdateFeed {
  /** Throws to fail a call: `before` the server acts, or `after`, which loses the answer. */
  onCall: ((call: FeedCall, phase: 'before' | 'after') => void) | undefined;
  create(container: string, vm: string, properties?: Readonly<Record<string, string>>): void;
  /** undefined unsets. */
  set(vm: string, path: string, value: string | undefined): void;
  move(vm: string, container: string): void;
  destroy(vm: string): void;
  /** All that can be known of a machine, as text. */
  describe(vm: string): string;
  /** Containers that exist; machines are put into any. What is in `f1/in` is in `f1` as well. */
  readonly folders: Set<string>;
  /** Containers that the user may not see; what is in them is not seen either. */
  readonly forbidden: Set<string>;
  endSession(): void;
  /** The way of the waits is cut without a word: nobody notices, and every other call works. */
  mute: boolean;
  /** Another vCenter stands under the address, without folders and machines. */
  replace(): void;
  readonly logins: number;
  /** Watches that are open on the server. */
  readonly open: number;
  container(name: string): MoRef;
}

interface Vm {
  container: string;
  readonly properties: Map<string, string>;
  /** Path → the number of the change that set it last. */
  readonly changedAt: Map<string, number>;
  /** The number of the change by which it came to where it is. */
  cameAt: number;
}

/** Where a collector stood when it gave out a version. */
interface Position {
  readonly at: number;
  readonly seen: ReadonlyMap<string, number>;
  /** Objects of a page sequence that were not sent yet. */
  readonly rest: readonly string[];
}

const PAGE = 100;

/** A feed without a server. `wait` of the watches is by the given clock. */
export function memoryFeed(clock: Clock): MemoryFeed {
  const vms = new Map<string, Vm>();
  const folders = new Set<string>();
  let now = 0;
  let session = 0;
  let alive = false;
  let logins = 0;
  let instance = 1;
  let open = 0;
  let changed = Promise.withResolvers<void>();
  const change = (): number => {
    now += 1;
    changed.resolve();
    changed = Promise.withResolvers<void>();
    return now;
  };
  const hook = (call: FeedCall, phase: 'before' | 'after'): void => feed.onCall?.(call, phase);
  const run = async <T>(call: FeedCall, act: () => T | Promise<T>, options?: CallOptions): Promise<T> => {
    await Promise.resolve();
    if (options?.signal?.aborted === true) throw aborted(call);
    hook(call, 'before');
    if (!alive) {
      hook('login', 'before');
      alive = true;
      session += 1;
      logins += 1;
    }
    const result = await act();
    hook(call, 'after');
    return result;
  };
  const inside = (containers: Iterable<string>): readonly string[] => {
    const wanted = [...containers];
    const isInside = ({ container }: Vm): boolean =>
      !feed.forbidden.has(container) && wanted.some((one) => container === one || container.startsWith(`${one}/`));
    return [...vms].filter(([, vm]) => isInside(vm)).map(([vm]) => vm);
  };

  const openWatch = (spec: WatchSpec): PropertyWatch => {
    const mine = session;
    const containers = new Set<string>();
    const positions = new Map<string, Position>();
    let issued = 0;
    let disposed = false;
    const take = ({ value }: MoRef): void => {
      if (feed.forbidden.has(value)) throw simulatedFault('NoPermission', 'CreateContainerView', value);
      if (!folders.has(value)) throw simulatedFault('ManagedObjectNotFound', 'CreateContainerView', value);
      containers.add(value);
    };
    const check = (): void => {
      if (disposed) throw simulatedFault('ManagedObjectNotFound', 'WaitForUpdatesEx', 'collector');
      if (!alive || mine !== session) throw simulatedFault('NotAuthenticated', 'WaitForUpdatesEx', 'collector');
    };
    const issue = (position: Position, truncated: boolean): ScannedAnswer => {
      issued += 1;
      const version = truncated ? `0_${issued}` : `${issued}`;
      positions.set(version, position);
      // The one before may be asked for again, older ones not.
      for (const known of positions.keys()) if (positions.size > 2) positions.delete(known);
      return { version, truncated };
    };
    const page = (names: readonly string[], seen: Map<string, number>, sink: UpdateSink, at: number): ScannedAnswer => {
      for (const vm of names.slice(0, PAGE)) {
        const machine = vms.get(vm);
        if (machine === undefined) continue;
        seen.set(vm, machine.cameAt);
        send(
          sink,
          'enter',
          vm,
          spec.paths
            .map((path) => [path, machine.properties.get(path)] as const)
            .filter(([, value]) => value !== undefined),
        );
      }
      const rest = names.slice(PAGE);
      return issue({ at, seen, rest }, rest.length > 0);
    };
    const since = (position: Position, sink: UpdateSink): ScannedAnswer | undefined => {
      const seen = new Map<string, number>();
      let sent = 0;
      const visible = new Set(inside(containers));
      for (const vm of position.seen.keys()) {
        if (visible.has(vm)) continue;
        send(sink, 'leave', vm, []);
        sent += 1;
      }
      for (const vm of visible) {
        const machine = vms.get(vm);
        if (machine === undefined) continue;
        seen.set(vm, machine.cameAt);
        const before = position.seen.get(vm);
        if (before !== undefined && before !== machine.cameAt) {
          send(sink, 'leave', vm, []);
          sent += 1;
        }
        if (before !== machine.cameAt) {
          send(
            sink,
            'enter',
            vm,
            spec.paths
              .map((path) => [path, machine.properties.get(path)] as const)
              .filter(([, value]) => value !== undefined),
          );
          sent += 1;
          continue;
        }
        const changes = spec.paths.filter((path) => (machine.changedAt.get(path) ?? 0) > position.at);
        if (changes.length === 0) continue;
        send(
          sink,
          'modify',
          vm,
          changes.map((path) => [path, machine.properties.get(path)] as const),
        );
        sent += 1;
      }
      return sent === 0 ? undefined : issue({ at: now, seen, rest: [] }, false);
    };
    const refused: RefusedContainer[] = [];
    for (const ref of spec.containers) {
      try {
        take(ref);
      } catch (error) {
        if (!(error instanceof VimError)) throw error;
        refused.push({ ref, error });
      }
    }
    open += 1;
    return {
      unknownPaths: [],
      refused,
      next: (version, sink, options = {}) =>
        run(
          'next',
          async () => {
            check();
            if (version === '') return page(inside(containers), new Map(), sink, now);
            const position = positions.get(version);
            if (position === undefined)
              throw simulatedFault('InvalidCollectorVersion', 'WaitForUpdatesEx', 'collector');
            if (position.rest.length > 0) return page(position.rest, new Map(position.seen), sink, position.at);
            const until = clock.now() + 60_000;
            for (;;) {
              const answer = feed.mute ? undefined : since(position, sink);
              if (answer !== undefined) return answer;
              if (clock.now() >= until && !feed.mute) return { version: undefined, truncated: false };
              await orAborted(
                Promise.race([changed.promise, clock.sleep(until - clock.now(), { background: true })]),
                options.signal,
              );
              check();
            }
          },
          options,
        ),
      add: (container, options) =>
        run(
          'add',
          () => {
            check();
            take(container);
            change();
          },
          options,
        ),
      remove: (container, options) =>
        run(
          'remove',
          () => {
            check();
            containers.delete(container.value);
            change();
          },
          options,
        ),
      [Symbol.asyncDispose]: async () => {
        if (!disposed) open -= 1;
        disposed = true;
      },
    };
  };

  const feed: MemoryFeed = {
    onCall: undefined,
    mute: false,
    server: 'vcenter.example',
    folders,
    forbidden: new Set(),
    container: (name) => ({ type: 'Folder', value: name }),
    instanceUuid: async () => `memory-${instance}`,
    watch: async (spec, options) => {
      let made: PropertyWatch | undefined;
      try {
        return await run(
          'watch',
          () => {
            made = openWatch(spec);
            return made;
          },
          options,
        );
      } catch (error) {
        // The client takes off the server what it made on the way to a failure.
        await made?.[Symbol.asyncDispose]();
        throw error;
      }
    },
    existing: (refs, options) =>
      run(
        'existing',
        () =>
          refs.filter(({ type, value }) =>
            type === 'VirtualMachine' ? vms.has(value) : folders.has(value) && !feed.forbidden.has(value),
          ),
        options,
      ),
    survey: (containers, path, options) =>
      run(
        'survey',
        () =>
          new Map(
            inside(containers.map(({ value }) => value)).map((vm) => [vm, vms.get(vm)?.properties.get(path) ?? '']),
          ),
        options,
      ),
    property: (_ref, _path, options) => run('property', () => undefined, options),
    create(container, vm, properties = {}) {
      folders.add(container);
      const at = change();
      vms.set(vm, {
        container,
        properties: new Map([...Object.entries(properties), ['parent', container]]),
        changedAt: new Map(Object.keys(properties).map((path) => [path, at])),
        cameAt: at,
      });
    },
    set(vm, path, value) {
      const machine = vms.get(vm);
      if (machine === undefined) return;
      if (value === undefined) machine.properties.delete(path);
      else machine.properties.set(path, value);
      machine.changedAt.set(path, change());
    },
    move(vm, container) {
      const machine = vms.get(vm);
      if (machine === undefined || machine.container === container) return;
      folders.add(container);
      machine.container = container;
      machine.cameAt = change();
      machine.properties.set('parent', container);
      machine.changedAt.set('parent', now);
    },
    destroy(vm) {
      if (vms.delete(vm)) change();
    },
    describe(vm) {
      const machine = vms.get(vm);
      const properties = [...(machine?.properties ?? [])].toSorted(([a], [b]) => (a < b ? -1 : 1));
      return JSON.stringify([machine?.container, properties]);
    },
    endSession() {
      alive = false;
      change();
    },
    replace() {
      instance += 1;
      vms.clear();
      folders.clear();
      feed.endSession();
    },
    get logins() {
      return logins;
    },
    get open() {
      return open;
    },
  };
  return feed;
}

/** The answer to a call got lost, or the call did not reach the server. */
export function lost(call: FeedCall): VimError {
  return simulatedLoss(call);
}

const NO_TREE: Decode = () => {
  throw new TypeError('values of the in-memory feed are plain text');
};

function send(
  sink: UpdateSink,
  kind: string,
  vm: string,
  changes: readonly (readonly [path: string, value: string | undefined])[],
): void {
  sink.object(kind, 'VirtualMachine', vm);
  for (const [path, value] of changes) {
    sink.change(path, 'assign', value === undefined ? undefined : Buffer.from(`<val>${value}</val>`), NO_TREE);
  }
  sink.objectEnd();
}

function aborted(op: string): VimError {
  return new VimError({ kind: 'aborted', code: 'VIM_ABORTED', op, message: 'the call was given up' });
}

async function orAborted(wait: Promise<unknown>, signal: AbortSignal | undefined): Promise<void> {
  if (signal === undefined) {
    await wait;
    return;
  }
  const { promise, reject } = Promise.withResolvers<never>();
  const stop = (): void => reject(aborted('WaitForUpdatesEx'));
  signal.addEventListener('abort', stop, { once: true });
  try {
    await Promise.race([wait, promise]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
