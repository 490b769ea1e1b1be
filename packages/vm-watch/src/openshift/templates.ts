import type { MachineSet } from '@drydock/api';
import {
  type Cache,
  type Controller,
  controller,
  type Key,
  keyOf,
  keyText,
  type ReconcileOutcome,
} from '@drydock/kube';
import { type Clock, isVimError, type MoRef, referenceOf, textOf } from '@drydock/vsphere';
import type { Lookup, Signal } from '../delivery/resolve.ts';
import { type Holding, WatchService } from '../kubernetes/service.ts';
import type { WatchMetrics } from '../metrics.ts';
import type { Links } from '../watch/links.ts';
import type { WatchLog } from '../watch/watch-log.ts';
import { type TemplatePlace, templatePlace } from './template-places.ts';

/** What happened to a template from outside. `changed`: something, and nothing more is known. `watched`: from now on it is; what happened before was told by nobody. */
export interface TemplateChange {
  readonly kind: 'destroyed' | 'renamed' | 'moved' | 'converted' | 'created' | 'changed' | 'watched';
  readonly server: string;
  /** Bare name, the former one after a rename; absent where it was never read. */
  readonly name?: string;
  /** After a rename. */
  readonly to?: string;
}

/** What {@link templateWatch} needs. */
export interface TemplateWatchOptions {
  readonly machineSets: Pick<Cache<MachineSet>, 'all' | 'get' | 'synced' | 'subscribe'>;
  readonly links: Links;
  readonly clock: Clock;
  readonly log: WatchLog;
  readonly enabled?: boolean;
  readonly metrics?: WatchMetrics;
  readonly maxWaitSeconds?: number;
  readonly random?: () => number;
}

/** A watch on the folders that templates live in: give controller and service to whoever leads. */
export interface TemplateWatch {
  readonly controller: Controller;
  readonly service: WatchService;
  readonly subscribe: (on: (change: TemplateChange) => void) => Disposable;
}

interface Known {
  readonly name: string;
  readonly template: boolean;
  readonly folder: string;
}

const PATHS = ['name', 'parent', 'config.template'] as const;
/** A folder that does not exist yet, and a vCenter that cannot be read, are looked at again. */
const AGAIN_MS = 30_000;
const PENDING_MS = 2_000;

/**
 * Watches the templates of all machine sets and tells when one is destroyed, renamed, moved or turned back into a machine. Whoever is told looks for itself: a change may be told twice, and
 * one that nobody understands is told as `changed`, but none is kept back. Ordinary machines in the same folders are no news, unless a set refers to their name.
 */
export function templateWatch(options: TemplateWatchOptions): TemplateWatch {
  const { machineSets, links } = options;
  const listeners = new Set<(change: TemplateChange) => void>();
  const known = new Map<string, Map<string, Known>>();
  const learnt = new Set<string>();
  const knownOf = (server: string): Map<string, Known> => {
    const machines = known.get(server) ?? new Map<string, Known>();
    known.set(server, machines);
    return machines;
  };
  const refers = (server: string, name: string): boolean =>
    [...machineSets.all()].some((set) => {
      const place = templatePlace(set);
      return place?.server === server && place.name === name;
    });

  const tell = (change: TemplateChange): void => {
    for (const listener of listeners) listener(change);
  };

  const read = async (server: string, ref: MoRef): Promise<Known | undefined> => {
    const feed = links.of(server).feed();
    const [name, parent, template] = await Promise.all(PATHS.map((path) => feed.property(ref, path)));
    if (name === undefined) return undefined;
    return {
      name: textOf(name),
      template: template !== undefined && textOf(template) === 'true',
      folder: referenceOf(parent)?.value ?? '',
    };
  };
  const deliver = async (server: string, { ref, kind }: Signal): Promise<void> => {
    const before = knownOf(server).get(ref.value);
    const now = await read(server, ref);
    if (now === undefined) knownOf(server).delete(ref.value);
    else knownOf(server).set(ref.value, now);
    const concerns = [before, now].some((one) => one !== undefined && (one.template || refers(server, one.name)));
    // One that was never read may have been a template.
    if (!concerns && !(before === undefined && now === undefined)) return;
    tell(changeOf(server, before, now, kind));
  };
  const service = new WatchService({
    name: 'templates',
    links,
    lookup: () => EVERY_MACHINE,
    deliver,
    paths: PATHS,
    clock: options.clock,
    log: options.log,
    after: [machineSets.synced],
    ...(options.enabled === undefined ? {} : { enabled: options.enabled }),
    ...(options.metrics === undefined ? {} : { metrics: options.metrics }),
    ...(options.maxWaitSeconds === undefined ? {} : { maxWaitSeconds: options.maxWaitSeconds }),
    ...(options.random === undefined ? {} : { random: options.random }),
    // Another one may be under the path, or come there.
    onGone: (server, container) => {
      for (const set of machineSets.all()) {
        const holds = service.holdings(keyText(keyOf(set))).some((held) => isSame(held, { server, ref: container }));
        if (holds) made.enqueue(keyOf(set));
      }
    },
    // Folders are found by path once more, and whoever listens looks at all templates.
    onReplaced: (server) => {
      known.delete(server);
      for (const set of machineSets.all()) {
        for (const held of service.holdings(keyText(keyOf(set)))) {
          if (held.server !== server) continue;
          learnt.delete(learntId(held));
          void service.remove(server, held.ref, keyText(keyOf(set)));
        }
        made.enqueue(keyOf(set));
      }
      tell({ kind: 'watched', server });
    },
  });

  /** Reads all machines of a container once, so that later changes have a before. */
  const learn = async ({ server, ref }: Holding): Promise<void> => {
    const id = learntId({ server, ref });
    if (learnt.has(id)) return;
    const feed = links.of(server).feed();
    const [names, templates] = await Promise.all([feed.survey([ref], 'name'), feed.survey([ref], 'config.template')]);
    for (const [value, name] of names) {
      // Whoever is told below looks at those.
      if (templates.get(value) === 'true') service.looked(server, value);
      if (knownOf(server).has(value)) continue;
      const parent = await (templates.get(value) === 'true'
        ? feed.property({ type: 'VirtualMachine', value }, 'parent')
        : undefined);
      knownOf(server).set(value, {
        name,
        template: templates.get(value) === 'true',
        folder: referenceOf(parent)?.value ?? '',
      });
    }
    learnt.add(id);
    tell({ kind: 'watched', server });
  };

  const reconcile = async (key: Key): Promise<ReconcileOutcome> => {
    const id = keyText(key);
    const set = machineSets.get(key);
    const place = set === undefined || set.metadata.deletionTimestamp !== undefined ? undefined : templatePlace(set);
    if (!service.enabled) return undefined;
    try {
      const { found, missing } = place === undefined ? { found: [], missing: 0 } : await folders(links, place);
      let pending = false;
      for (const holding of found) {
        pending = (await service.add(holding.server, holding.ref, id)) === 'pending' || pending;
        if (!pending) await learn(holding);
      }
      for (const { server, ref } of service.holdings(id)) {
        if (found.some((one) => isSame(one, { server, ref }))) continue;
        // Nobody may look from now on: whoever watches it again reads it again.
        learnt.delete(learntId({ server, ref }));
        void service.remove(server, ref, id);
      }
      if (pending) return { after: PENDING_MS };
      return missing > 0 ? { after: AGAIN_MS } : undefined;
    } catch (error) {
      if (!isVimError(error)) throw error;
      options.log.warn(
        { err: error, machineSet: id },
        'The folder of a machine set cannot be watched now; Drydock tries again. If this warning repeats, check the folder and the privileges of the user.',
      );
      return { after: AGAIN_MS };
    }
  };
  const made = controller<MachineSet>({
    name: 'template-watch',
    for: machineSets,
    when: ({ old, now }) =>
      JSON.stringify(old && templatePlace(old)) !== JSON.stringify(now && templatePlace(now)) || now === undefined,
    concurrency: 4,
    backOff: { first: 200, longest: 60_000 },
    // It only reads, and whoever stops does not wait for a vCenter.
    reconcile: (key, { stopping }) => unlessEnded(stopping, reconcile(key)),
  });
  return {
    service,
    controller: made,
    subscribe: (on) => {
      listeners.add(on);
      return { [Symbol.dispose]: () => void listeners.delete(on) };
    },
  };
}

/** What `work` resolves to, undefined where the signal ends first: it goes on behind the back of whoever waited. */
async function unlessEnded(signal: AbortSignal, work: Promise<ReconcileOutcome>): Promise<ReconcileOutcome> {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const stop = (): void => resolve(undefined);
  signal.addEventListener('abort', stop, { once: true });
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

function isSame(a: Holding, b: Holding): boolean {
  return a.server === b.server && a.ref.value === b.ref.value;
}

function learntId({ server, ref }: Holding): string {
  return `${server} ${ref.value}`;
}

async function folders(
  links: Links,
  { server, folders: paths }: TemplatePlace,
): Promise<{ readonly found: readonly Holding[]; readonly missing: number }> {
  const refs = await Promise.all(paths.map((path) => links.of(server).findByPath(path)));
  const found = refs.filter((ref) => ref !== undefined).map((ref) => ({ server, ref }));
  return { found, missing: paths.length - found.length };
}

/** Each machine counts as its own object, so that each change is handed over, and the first look is none. */
const EVERY_MACHINE: Lookup = {
  named: () => undefined,
  byUniqueId: (uniqueId) => [{ namespace: 'vcenter', name: uniqueId, uniqueId, deleting: false }],
};

function changeOf(
  server: string,
  before: Known | undefined,
  now: Known | undefined,
  kind: Signal['kind'],
): TemplateChange {
  const name = before?.name ?? now?.name;
  const told = (what: TemplateChange['kind'], to?: string): TemplateChange => ({
    kind: what,
    server,
    ...(name === undefined ? {} : { name }),
    ...(to === undefined ? {} : { to }),
  });
  if (now === undefined) return told('destroyed');
  if (kind === 'left') return told('moved');
  if (before === undefined) return told('created');
  if (before.name !== now.name) return told('renamed', now.name);
  if (before.template !== now.template) return told('converted');
  return before.folder !== '' && before.folder !== now.folder ? told('moved') : told('changed');
}
