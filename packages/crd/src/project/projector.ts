import { equal, isObject, type JsonObject } from '../schema/json.ts';
import type { CrdVersion } from '../schema/schema.ts';
import { versionHash } from '../schema/schema-hash.ts';
import type { Ledger, LedgerSubject, LedgerView } from './ledger.ts';
import { entriesFor } from './ledger-record.ts';
import { type Loss, losses } from './losses.ts';
import { type Memory, placesOf, projectionMemory, subjectOf, toldOf } from './projection-memory.ts';
import { recall } from './recall.ts';
import type { ServerCause } from './server-cause.ts';
import { nextWrite, START, type StatusState, type StatusStep, type StatusWorld } from './status-machine.ts';

/** What a status writer tells about its projection, each once for a set of places under one schema. `object` is the one that was written. */
export type ProjectionEvent = { readonly uid: string; readonly object: unknown } & (
  | {
      readonly kind: 'quarantined';
      readonly lost: readonly Loss[];
      readonly places: readonly string[];
      readonly schemaHash: string;
      /** An earlier process has told it: only what has no memory of its own must hear of it. */
      readonly again: boolean;
    }
  /** Everything that was left out is written again. */
  | { readonly kind: 'restored' }
  /** Nothing is written: the server refuses what may not be left out, or what would be left out cannot be saved. */
  | { readonly kind: 'blocked'; readonly why: string; readonly causes: readonly string[] }
  /** It is written again. */
  | { readonly kind: 'unblocked' }
  /** The object is gone, and with it whatever was told of it. */
  | { readonly kind: 'gone' }
);

/** How a projector sees the world. */
export interface ProjectorOptions {
  /** The schema as the live server has it now; undefined while it is not known: nothing is cut then. */
  readonly live: () => CrdVersion | undefined;
  readonly minor?: () => number | undefined;
  readonly core?: readonly string[];
  /** Who writes, for the ledger. */
  readonly release?: string;
  /** Keeps what is left out; without one it is kept by whoever means it. */
  readonly ledger?: Ledger;
  readonly tell?: (event: ProjectionEvent) => void;
  readonly now?: () => Date;
}

/** What an app gives to whoever writes the statuses of a kind: a ledger, and somebody to tell. */
export type StatusKeeping = Pick<ProjectorOptions, 'ledger' | 'tell' | 'release'>;

/** The hooks of a status writer: what it starts from, what it sends, and what became of that. */
export interface StatusHooks {
  /** The object with what was left out of its status: what the next status is derived from. */
  readonly recall: <T>(current: T) => Promise<T>;
  /** The status that the live schema accepts, of what is meant. Both are plain JSON; what comes back lacks parts of `S` at most. While nothing can be written it is the status that is stored. */
  readonly project: <S>(intent: S, current: unknown) => Promise<S>;
  /** The server refused `sent`. True: project again, it will be something else; 'told': nothing helps, and that has been told. */
  readonly refused: (causes: readonly ServerCause[], current: unknown, sent: unknown) => boolean | 'told';
  /** `sent` is stored, or was already. */
  readonly written: (sent: unknown, object: unknown) => Promise<void>;
  /** The server did not answer, or not as it should. */
  readonly failed: (current: unknown, sent: unknown, error?: unknown) => void;
}

/** A projection with its memory. */
export interface Projector extends StatusHooks {
  /** {@link StatusHooks.recall} without waiting: what a decision is based on that reads a status from a cache. The object itself as long as the ledger was not read. */
  readonly remembered: <T>(current: T) => T;
  /** In how many ms a blocked status is to be tried again: that of this object, or the first of all; undefined: none is blocked. */
  readonly retryIn: (uid?: string) => number | undefined;
  /** Objects (`namespace/name`) whose status is cut or blocked: to be written again when the definition changes. */
  readonly concerned: () => readonly string[];
  /** The object with this uid is gone. */
  readonly forget: (uid: string) => void;
}

/** What stands behind a status that was handed out. */
interface Plan {
  readonly subject: LedgerSubject;
  readonly hash: string;
  readonly state: StatusState;
  readonly world: StatusWorld;
  readonly view: LedgerView;
  /** What is meant was derived from everything that this view holds: what it does not leave out is not wanted, or legal again. */
  readonly whole: boolean;
}

const NOTHING: LedgerView = { entries: [], text: undefined };

/** Projects the statuses of one kind onto its live schema, with memory of what the server refused and of what was left out. Every decision is {@link nextWrite}'s. */
export function createProjector(options: ProjectorOptions): Projector {
  const { live, core, release = '', ledger, tell = () => undefined, now = () => new Date() } = options;
  const memories = projectionMemory();
  const plans = new WeakMap<object, Plan>();
  /** By object: the stored text that it was given with. */
  const recalled = new WeakMap<object, string | undefined>();

  function block(memory: Memory, current: unknown, { why, causes, retryMs }: Blocked): void {
    const before = memories.get(memory.subject.uid)?.blocked;
    const until = now().getTime() + retryMs;
    memories.put({
      ...memory,
      // Another try begins with what is known to be refused, so that it costs one write.
      state: { ...memory.state, round: 0, conflicts: 0, recorded: false },
      blocked: { until, version: memory.subject.resourceVersion },
    });
    if (before === undefined) tell({ kind: 'blocked', uid: memory.subject.uid, object: current, why, causes });
  }

  /** The stored status, in the place of one that is not sent: that it is stored means nothing. */
  function unsent<S>(stored: S): S {
    plans.delete(stored as object);
    return stored;
  }

  async function project<S>(meant: S, object: unknown): Promise<S> {
    const [intent, current] = [meant as JsonObject, object as JsonObject];
    const version = live();
    if (version === undefined) return meant;
    const subject = subjectOf(current);
    const hash = versionHash(version);
    let view = (await ledger?.view(subject.uid)) ?? NOTHING;
    const whole = ledger === undefined || (recalled.has(current) && recalled.get(current) === view.text);
    const memory = memories.of(subject, hash, view, current);
    const stored = (current['status'] ?? {}) as S;
    const { blocked } = memory;
    if (blocked !== undefined && blocked.version === subject.resourceVersion && now().getTime() < blocked.until)
      return unsent(stored);
    const minor = options.minor?.();
    const worldWith = ({ entries }: LedgerView): StatusWorld => ({
      intent,
      object: current,
      live: version,
      ledger: entries,
      ...(minor === undefined ? {} : { minor }),
      ...(core === undefined ? {} : { core }),
    });
    let next = nextWrite(memory.state, worldWith(view));
    if (next.step.kind === 'record') {
      const origin = { schemaHash: hash, firstSeen: now().toISOString(), release };
      try {
        // Without a ledger the intent itself is what is kept.
        view = (await ledger?.grow(subject, next.step.lost, origin, stored as JsonObject)) ?? {
          entries: entriesFor(next.step.lost, view.entries, origin),
          text: undefined,
        };
      } catch (error) {
        const why = `what the live schema cannot hold cannot be saved: ${error instanceof Error ? error.message : String(error)}`;
        block(memory, current, { kind: 'blocked', why, causes: [], retryMs: LEDGER_RETRY });
        return unsent(stored);
      }
      next = nextWrite(next.state, worldWith(view), { kind: 'recorded' });
    }
    memories.put(memory);
    const status = next.step.kind === 'put' ? next.step.status : stored;
    plans.set(status as object, { subject, hash, state: next.state, world: worldWith(view), view, whole });
    return status as S;
  }

  /**
   * A server shows a stored object by the schema that it has now: a field that a definition loses is gone from what is read at once, and from what is stored only with the next write. An object of the same version
   * that lacks something is such a one, and what was written is what is stored.
   */
  function unpruned<T>(object: T): T {
    const current = object as JsonObject;
    const { uid, resourceVersion } = subjectOf(current);
    const { stored } = memories.get(uid) ?? {};
    if (stored?.status === undefined || resourceVersion === '' || stored.version !== resourceVersion) return object;
    return equal(stored.status, current['status']) ? object : ({ ...current, status: stored.status } as T);
  }

  function whole<T>(object: T, { entries }: LedgerView): T {
    const current = object as JsonObject;
    const { status } = current;
    if (entries.length === 0 || !isObject(status)) return object;
    return { ...current, status: recall(status, entries, live()?.schema) } as T;
  }

  return {
    recall: async <T>(object: T): Promise<T> => {
      const current = object as JsonObject;
      const { uid, resourceVersion } = subjectOf(current);
      const known = memories.get(uid);
      // Somebody else wrote it, and may have cut it as well.
      const foreign =
        known?.stored !== undefined &&
        known.stored.version !== resourceVersion &&
        !equal(known.stored.status, current['status']);
      const view = (await ledger?.view(uid, foreign)) ?? NOTHING;
      recalled.set(current, view.text);
      return whole(unpruned(object), view);
    },
    remembered: <T>(object: T): T =>
      whole(unpruned(object), ledger?.peek(subjectOf(object as JsonObject).uid) ?? NOTHING),
    project,
    refused: (causes, object, sent) => {
      const plan = planOf(plans, sent);
      if (plan === undefined) return false;
      const { state, step } = nextWrite(plan.state, plan.world, { kind: 'invalid', causes });
      const memory = { ...memories.of(plan.subject, plan.hash, plan.view), state };
      if (step.kind !== 'blocked') {
        memories.put(memory);
        return true;
      }
      block(memory, object, step);
      return 'told';
    },
    written: async (sent, object) => {
      const plan = planOf(plans, sent);
      if (plan === undefined) return;
      // What was sent may live on in a cache; what is known of it must not.
      plans.delete(sent as object);
      const { subject, view, hash } = plan;
      const { state, step } = nextWrite(plan.state, plan.world, { kind: 'ok' });
      const lost = step.kind === 'done' ? step.lost : [];
      // A server that does not serve the new definition yet takes a write and cuts the value: it is still only in the ledger.
      const now = isObject(object as JsonObject) ? (object as JsonObject)['status'] : undefined;
      const isStored = losses(sent as JsonObject, now ?? {}).length === 0;
      if (plan.whole && isStored && lost.length < view.entries.length)
        await ledger?.shrink(
          subject,
          view,
          entriesFor(lost, view.entries, { schemaHash: hash, firstSeen: '', release }),
        );
      const { blocked, failingSince: _since, ...memory } = memories.of(subject, hash, view);
      const told = lost.length > 0 ? toldOf(hash, lost) : plan.whole ? '' : memory.told;
      const stored = {
        version: subjectOf(object as JsonObject).resourceVersion,
        status: (object as JsonObject)['status'],
      };
      const again = told === memory.told;
      memories.put({ ...memory, here: true, stored, state: { ...START, refused: state.refused }, told });
      const { uid } = subject;
      if (blocked !== undefined) tell({ kind: 'unblocked', uid, object });
      if (again && (memory.here || told === '')) return;
      if (told === '') tell({ kind: 'restored', uid, object });
      else tell({ kind: 'quarantined', uid, object, lost, places: placesOf(lost), schemaHash: hash, again });
    },
    failed: (object, sent, error) => {
      const plan = planOf(plans, sent);
      if (plan === undefined) return;
      const memory = memories.of(plan.subject, plan.hash, plan.view);
      const failingSince = memory.failingSince ?? now().getTime();
      const sinceMs = now().getTime() - failingSince;
      const { step } = nextWrite(plan.state, plan.world, { kind: 'failed', sinceMs });
      if (step.kind === 'blocked') {
        const why = error instanceof Error ? `it does not arrive: ${error.message}` : step.why;
        block({ ...memory, failingSince }, object, { ...step, why, retryMs: 0 });
      }
      if (step.kind !== 'blocked') memories.put({ ...memory, failingSince });
    },
    retryIn: (uid) => {
      const waits = (uid === undefined ? memories.all() : [memories.get(uid)]).flatMap((memory) =>
        memory?.blocked === undefined ? [] : [Math.max(0, memory.blocked.until - now().getTime())],
      );
      return waits.length === 0 ? undefined : Math.min(...waits);
    },
    concerned: () =>
      memories
        .all()
        .flatMap(({ subject, told, blocked }) => (told === '' && blocked === undefined ? [] : [subject.object])),
    forget: (uid) => {
      const { told = '', blocked } = memories.get(uid) ?? {};
      memories.delete(uid);
      if (told !== '' || blocked !== undefined) tell({ kind: 'gone', uid, object: undefined });
    },
  };
}

type Blocked = Extract<StatusStep, { readonly kind: 'blocked' }>;

/** How long (ms) a ledger that refuses is left alone. */
const LEDGER_RETRY = 10_000;

function planOf(plans: WeakMap<object, Plan>, sent: unknown): Plan | undefined {
  return typeof sent === 'object' && sent !== null ? plans.get(sent) : undefined;
}
