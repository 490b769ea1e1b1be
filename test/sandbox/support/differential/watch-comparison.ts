import { type Difference, discrepancies } from './differences.ts';
import { type ObjectKind, type PlannedRequest, pathOf } from './planned-request.ts';
import type { OpenWatch, WatchEvent } from './server-side.ts';
import type { SideState } from './side-state.ts';
import { NAMESPACES, placeOf } from './write-requests.ts';

/** Watches of all kinds on two servers. */
export interface WatchComparison extends AsyncDisposable {
  /** What both saw since the last comparison. `request` is the last one, after which it was looked. */
  compare(
    request: PlannedRequest,
    at: number,
  ): Promise<{ readonly events: number; readonly differences: readonly Difference[] }>;
}

/** How long (ms) one server may be behind the other before its events count as missing. */
export const PATIENCE = 15_000;
const OWN_NAMESPACES = new Set<string>(Object.values(NAMESPACES));
/** Names of objects that histories make: a server has others, such as the events of its own controllers. */
const OWN_NAMES = /^(?:pool-)?[abc]$/;

interface KindWatch {
  readonly place: string;
  readonly opened: readonly [OpenWatch, OpenWatch];
}

/** Opens a watch of each kind on both sides, from now on. */
export async function watchComparison(
  sides: readonly [SideState, SideState],
  kinds: readonly ObjectKind[],
  patience: number,
): Promise<WatchComparison> {
  let wake: () => void = () => undefined;
  const open = async (state: SideState, kind: ObjectKind): Promise<OpenWatch> => {
    const path = pathOf(kind, undefined);
    const { body } = await state.side.send({ method: 'GET', path: `${path}?limit=1` });
    const { resourceVersion } = (body as { readonly metadata: { readonly resourceVersion: string } }).metadata;
    const query = `?watch=1&allowWatchBookmarks=true&resourceVersion=${resourceVersion}`;
    return await state.side.watch(`${path}${query}`, () => wake());
  };
  const watches: KindWatch[] = [];
  for (const kind of kinds) {
    const [first, second] = sides;
    const opened = await Promise.all([open(first, kind), open(second, kind)]);
    watches.push({ place: placeOf(kind), opened });
  }

  const eventsOf = ({ place, opened }: KindWatch, side: 0 | 1): readonly WatchEvent[] => {
    for (const { object } of opened[side].events) if (isOwn(object)) sides[side].names.note(place, object);
    return opened[side].events.filter(({ type, object }) => {
      if (type === 'BOOKMARK') return false;
      return isOwn(object) && sides[side].names.counts(String(metadataOf(object)['uid']));
    });
  };

  const level = async (): Promise<void> => {
    const deadline = performance.now() + patience;
    for (;;) {
      const changed = new Promise<void>((resolve) => {
        wake = resolve;
      });
      if (watches.every((one) => eventsOf(one, 0).length === eventsOf(one, 1).length)) return;
      const left = deadline - performance.now();
      if (left <= 0) return;
      const timer = AbortSignal.timeout(Math.ceil(left));
      await Promise.race([changed, new Promise((resolve) => timer.addEventListener('abort', resolve))]);
    }
  };

  return {
    compare: async (request, at) => {
      await level();
      let events = 0;
      const differences = watches.flatMap((one): readonly Difference[] => {
        const [reference, tested] = ([0, 1] as const).map((side) =>
          histories(eventsOf(one, side), (value) => sides[side].names.normal(value)),
        );
        events += one.opened[0].events.length;
        for (const opened of one.opened) opened.events.length = 0;
        const places = discrepancies(reference, tested, one.place);
        return places.length === 0
          ? []
          : [{ class: 'watch', at, request, reference: undefined, tested: undefined, places }];
      });
      return { events, differences };
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all(watches.flatMap(({ opened }) => opened.map((one) => one[Symbol.asyncDispose]())));
    },
  };
}

/** The events of each object: those of different objects have no order where one request changed several. */
function histories(
  events: readonly WatchEvent[],
  normal: (value: unknown) => unknown,
): Readonly<Record<string, readonly unknown[]>> {
  const byObject: Record<string, unknown[]> = {};
  for (const event of events) {
    const { namespace = '', name = '' } = metadataOf(event.object);
    const key = `${namespace}/${name}`;
    byObject[key] ??= [];
    byObject[key].push(normal(event));
  }
  return byObject;
}

interface Named {
  readonly uid?: string;
  readonly namespace?: string;
  readonly name?: string;
}

/** An event of a broken stream may have no object. */
function metadataOf(object: Readonly<Record<string, unknown>> | undefined): Named {
  return (object?.['metadata'] ?? {}) as Named;
}

/** Whether an object is one of a history rather than of a server. */
function isOwn(object: Readonly<Record<string, unknown>>): boolean {
  const { namespace, name = '' } = metadataOf(object);
  return OWN_NAMES.test(name) && (namespace === undefined || OWN_NAMESPACES.has(namespace));
}
