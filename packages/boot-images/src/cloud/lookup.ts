import { type Clock, systemClock } from '@drydock/kube';
import { BootImageError } from '../errors.ts';
import { orAborted } from '../waiting.ts';
import type { Answer } from './availability.ts';

/** Where something is looked up: one region, project or subscription, by one version of credentials. */
export interface Place {
  readonly key: string;
  /** Who is asked, for errors. */
  readonly host: string;
}

/** What a {@link Lookup} needs. */
export interface LookupOptions<P extends Place, A> {
  /** Asks about at most `batch` ids in one place; the answer has each of them. */
  readonly ask: (place: P, ids: readonly string[], signal: AbortSignal) => Promise<ReadonlyMap<string, A>>;
  /** Ids of one call. */
  readonly batch: number;
  /** How long (ms) an answer counts. */
  readonly keepMs: (answer: A) => number;
  /** Calls at a time, over all places. Default 8. */
  readonly atOnce?: number;
  readonly clock?: Clock;
  /** Ms that one call may take with its pages and repetitions. Default a minute. */
  readonly callMs?: number;
}

/** Looks up ids in places. What is wanted at about the same time is asked together, what was asked a while ago is remembered. */
export interface Lookup<P extends Place, A> {
  /** Rejects with what the call rejected with, or with the signal's reason. */
  readonly of: (place: P, id: string, options?: { readonly signal?: AbortSignal | undefined }) => Promise<A>;
  /** An id that is going to be asked for: the next call in its place has it, too. */
  readonly foresee: (place: P, id: string) => void;
  /** What another question has told: it is remembered as if it had been asked for. */
  readonly learn: (place: P, id: string, answer: A) => void;
}

/** A place that did not answer is left alone for so long (ms), so that a fleet does not wait for it set by set. */
const SILENT_MS = 4_000;
/** Answers that are remembered. */
const REMEMBERED = 20_000;

interface Known<A> {
  readonly answer: A;
  readonly until: number;
}

interface Desk<P, A> {
  place: P;
  /** Ids that somebody waits for and that no call has yet. */
  readonly wanted: Map<string, PromiseWithResolvers<A>>;
  readonly foreseen: Set<string>;
  /** Whoever is under way. */
  readonly asked: Map<string, Promise<A>>;
  scheduled: boolean;
  silent: { readonly error: unknown; readonly until: number } | undefined;
}

/** Remembers nothing yet. */
export function lookup<P extends Place, A>(options: LookupOptions<P, A>): Lookup<P, A> {
  const { ask, batch, keepMs, atOnce = 8, clock = systemClock, callMs = CALL_MS } = options;
  const desks = new Map<string, Desk<P, A>>();
  const known = new Map<string, Known<A>>();
  const queue: (() => Promise<void>)[] = [];
  let running = 0;

  function fresh(place: P, id: string): Known<A> | undefined {
    const found = known.get(keyOf(place, id));
    return found !== undefined && found.until > clock.now() ? found : undefined;
  }

  function deskOf(place: P): Desk<P, A> {
    const desk = desks.get(place.key);
    if (desk !== undefined) {
      desk.place = place;
      return desk;
    }
    const made: Desk<P, A> = {
      ...{ place, wanted: new Map(), foreseen: new Set(), asked: new Map() },
      ...{ scheduled: false, silent: undefined },
    };
    desks.set(place.key, made);
    return made;
  }

  function remember(place: P, id: string, answer: A): void {
    putNewest(known, keyOf(place, id), { answer, until: clock.now() + keepMs(answer) }, REMEMBERED);
  }

  async function run(desk: Desk<P, A>, ids: readonly string[], wanted: Desk<P, A>['wanted']): Promise<void> {
    const { place } = desk;
    const late = AbortSignal.timeout(callMs);
    try {
      const answers = await ask(place, ids, late);
      for (const id of ids) {
        const answer = answers.get(id);
        if (answer === undefined) {
          wanted.get(id)?.reject(new TypeError(`nothing was answered about ${id}`));
          continue;
        }
        remember(place, id, answer);
        wanted.get(id)?.resolve(answer);
      }
    } catch (thrown) {
      const error = late.aborted && thrown === late.reason ? tooLate(place, ids, callMs, thrown) : thrown;
      if (error instanceof BootImageError && error.code === 'CloudUnavailable')
        desk.silent = { error, until: clock.now() + SILENT_MS };
      for (const { reject } of wanted.values()) reject(error);
    } finally {
      for (const id of ids) desk.asked.delete(id);
      if (desk.asked.size + desk.wanted.size + desk.foreseen.size === 0 && desk.silent === undefined)
        desks.delete(place.key);
    }
  }

  function pump(): void {
    while (running < atOnce) {
      const work = queue.shift();
      if (work === undefined) return;
      running += 1;
      void work().finally(() => {
        running -= 1;
        pump();
      });
    }
  }

  function flush(desk: Desk<P, A>): void {
    desk.scheduled = false;
    const wanted = new Map(desk.wanted);
    const foreseen = [...desk.foreseen].filter(
      (id) => !wanted.has(id) && !desk.asked.has(id) && fresh(desk.place, id) === undefined,
    );
    desk.wanted.clear();
    desk.foreseen.clear();
    const ids = [...wanted.keys(), ...foreseen];
    for (const [id, { promise }] of wanted) desk.asked.set(id, promise);
    for (let from = 0; from < ids.length; from += batch) {
      const part = ids.slice(from, from + batch);
      const waiting = new Map(part.flatMap((id) => (wanted.has(id) ? [[id, wanted.get(id)] as const] : [])));
      queue.push(() => run(desk, part, waiting as Desk<P, A>['wanted']));
    }
    pump();
  }

  function wish(place: P, id: string): Promise<A> {
    const desk = deskOf(place);
    const under = desk.asked.get(id) ?? desk.wanted.get(id)?.promise;
    if (under !== undefined) return under;
    if (desk.silent !== undefined && desk.silent.until > clock.now()) return Promise.reject(desk.silent.error);
    desk.silent = undefined;
    const waiting = Promise.withResolvers<A>();
    waiting.promise.catch(() => undefined);
    desk.wanted.set(id, waiting);
    if (!desk.scheduled) {
      desk.scheduled = true;
      // All that is decided in this turn of the event loop goes together.
      setImmediate(() => flush(desk));
    }
    return waiting.promise;
  }

  return {
    of: async (place, id, { signal } = {}) => {
      signal?.throwIfAborted();
      const found = fresh(place, id);
      return found === undefined ? orAborted(wish(place, id), signal) : found.answer;
    },
    foresee: (place, id) => {
      if (fresh(place, id) === undefined) deskOf(place).foreseen.add(id);
    },
    learn: remember,
  };
}

/** How long (ms) an answer counts: what is there stays there for a while; everything else may be put right at any moment, and a set that waits for it has pauses of its own. */
export const KEPT_MS = { found: 600_000, absent: 3_000, unverified: 60_000 } as const;

/** Looks up names in calls of their own. `isGood`: whether what was found is what is hoped for. */
export function eachLookup<P extends Place, T>(
  ask: (place: P, name: string, signal: AbortSignal) => Promise<Answer<T>>,
  isGood: (found: T) => boolean,
  clock: Clock,
): Lookup<P, Answer<T>> {
  return lookup({
    ...{ clock, batch: 1 },
    keepMs: (answer) => KEPT_MS[answer.kind === 'found' && !isGood(answer.found) ? 'absent' : answer.kind],
    ask: async (place, names, signal) => {
      const answers = new Map<string, Answer<T>>();
      for (const name of names) answers.set(name, await ask(place, name, signal));
      return answers;
    },
  });
}

function tooLate({ host }: Place, ids: readonly string[], callMs: number, cause: unknown): BootImageError {
  const [first = ''] = ids;
  const what = ids.length === 1 ? first : `${first} and ${ids.length - 1} more`;
  return new BootImageError('CloudUnavailable', `failed to look up ${what} at ${host}: no end within ${callMs} ms`, {
    cause,
    nextStep: `it is tried again; if it lasts, see why ${host} answers so slowly: its status page, proxies, throttling`,
  });
}

/** Longer than any call takes with its repetitions. */
const CALL_MS = 60_000;

/** Puts an entry at the end of a map, and takes out the oldest where it has more than so many. */
export function putNewest<V>(map: Map<string, V>, key: string, value: V, most: number): void {
  map.delete(key);
  map.set(key, value);
  const [oldest] = map.keys();
  if (oldest !== undefined && map.size > most) map.delete(oldest);
}

function keyOf(place: Place, id: string): string {
  return `${place.key}\n${id}`;
}
