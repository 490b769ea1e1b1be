import type { Clock } from '../../clock.ts';
import type { JsonObject } from './json.ts';
import { served } from './kinds.ts';
import type { ServerPorts } from './ports.ts';
import { matcherOf, type ReadTarget, versionOf } from './reads.ts';
import { invalidOptions, Refusal, serverError } from './refusal.ts';
import { inTime } from './steps.ts';
import { atVersion, type Store, type StoredEvent } from './store.ts';

/** Who listens to a watch. */
export interface Listener {
  /** One line of the stream. */
  event(event: JsonObject): void;
  /** The server ends the stream; nothing follows. */
  end(): void;
}

/** How often (ms) a watch tells how far the server has come, and how long before its end it does so once more. */
const BOOKMARK_EVERY = 60_000;
const BOOKMARK_BEFORE_END = 2000;
const DEFAULT_TIMEOUT_SECONDS = 1800;

/**
 * WATCH. Events of one kind come in the order of their versions; nothing orders the streams of two kinds. A version before the
 * last compaction is an ERROR event of code 410; one from the future waits in silence.
 */
export function watch(
  store: Store,
  target: ReadTarget,
  clock: Clock,
  listener: Listener,
  ports: ServerPorts = {},
): Disposable {
  const { kind, version, query } = target;
  const matches = matcherOf(target);
  const from = versionOf(query, serverError);
  const streamed = streamsInitialEvents(query);
  const bookmarks = query.get('allowWatchBookmarks') === 'true';
  const stop = new AbortController();
  const subscriptions = new DisposableStack();
  const begun = store.version;
  /** The newest change of the kind since the watch began, selected or not; before there is one the server has nothing to say. */
  let reached = begun;

  const end = (): void => {
    if (stop.signal.aborted) return;
    stop.abort();
    subscriptions.dispose();
  };
  /** Events whose objects must be converted first keep their order by waiting for each other. */
  let turn: Promise<void> | undefined;
  const convert = ports.converts?.(kind) === true ? ports.convert : undefined;
  const say = (type: string, object: JsonObject): void => {
    if (!stop.signal.aborted || type === 'ERROR') listener.event({ type, object });
  };
  const send = (type: string, object: JsonObject): void => {
    if (turn === undefined && (convert === undefined || type === 'ERROR' || type === 'BOOKMARK')) {
      say(type, object);
      return;
    }
    const converted = async (): Promise<JsonObject> => {
      if (convert === undefined || type === 'ERROR' || type === 'BOOKMARK') return object;
      const [one = object] = await inTime(convert(kind, [object], version));
      return served(one, kind, version);
    };
    turn = (turn ?? Promise.resolve()).then(converted).then(
      (one) => say(type, one),
      (error: unknown) => {
        if (stop.signal.aborted) return;
        const status = error instanceof Refusal ? error.status : { code: 500, message: String(error) };
        say('ERROR', { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', ...status });
        end();
        listener.end();
      },
    );
  };
  const bookmark = (annotations?: JsonObject): void => {
    if (!bookmarks || stop.signal.aborted) return;
    const metadata = { resourceVersion: String(reached), ...(annotations === undefined ? {} : { annotations }) };
    send('BOOKMARK', served({ metadata }, kind, version));
  };

  function tell(event: StoredEvent): void {
    if (event.kind !== (kind.storedAs ?? kind) || event.version <= (from ?? 0) || stop.signal.aborted) return;
    reached = Math.max(reached, event.version);
    const before = event.old !== undefined && matches(event.old);
    const after = event.now !== undefined && matches(event.now);
    if (after && event.now !== undefined) send(before ? 'MODIFIED' : 'ADDED', served(event.now, kind, version));
    // What left the selection goes as it was, with the version of its going.
    else if (before && event.old !== undefined)
      send('DELETED', served(atVersion(event.old, event.version), kind, version));
  }

  function start(): void {
    if (from === undefined || from === 0 || streamed) {
      for (const [, object] of store.list(kind)) if (matches(object)) send('ADDED', served(object, kind, version));
      if (streamed || from === 0) bookmark({ 'k8s.io/initial-events-end': 'true' });
    } else for (const event of store.since(kind, from)) tell(event);
    subscriptions.use(store.subscribe(tell));
  }

  async function keepTime(): Promise<void> {
    let left = Number(query.get('timeoutSeconds') ?? DEFAULT_TIMEOUT_SECONDS) * 1000;
    while (left > 0) {
      const step = Math.min(BOOKMARK_EVERY, left > BOOKMARK_BEFORE_END ? left - BOOKMARK_BEFORE_END : left);
      await clock.sleep(step, { signal: stop.signal, background: true });
      left -= step;
      if (left > 0 && reached > begun) bookmark();
    }
    await turn;
    if (stop.signal.aborted) return;
    end();
    listener.end();
  }

  try {
    start();
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    send('ERROR', { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', ...error.status });
    listener.end();
    return subscriptions;
  }
  keepTime().catch(() => undefined);
  return { [Symbol.dispose]: end };
}

function streamsInitialEvents(query: URLSearchParams): boolean {
  if (query.get('sendInitialEvents') !== 'true') return false;
  if (query.get('resourceVersionMatch') === 'NotOlderThan') return true;
  const message = 'Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan';
  throw invalidOptions('ListOptions', 'resourceVersionMatch', 'FieldValueForbidden', message);
}
