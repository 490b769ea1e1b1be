import type { Readable } from 'node:stream';
import type { Clock } from '../clock.ts';
import { ApiError, isExpired } from '../errors.ts';
import { type KubeObject, keyOf, keyText, type Resource } from '../resource.ts';
import { MAX_LISTED } from '../transport/body.ts';
import type { Transport } from '../transport/transport.ts';
import type { CallOptions, KubeClient, ListPage, Observer, Selector, WatchEvent, WatchFrom } from './client.ts';
import { settledItem, unreadable } from './decode.ts';
import { parseObjects } from './managed-fields.ts';
import { actionText, collectionPath, queryText, selectorParams } from './path.ts';
import { readWatch } from './watch.ts';

/** Objects per page: keeps each JSON.parse below about 10 ms. */
const PAGE = 500;

/** An empty page with a continue token is legal; so many in a row are a server that never ends. */
const MOST_EMPTY = 100;

/** How often `list` starts again after an expired continue token. */
const RESTARTS = 3;

/** A watch that the server does not end this long (ms) after its own deadline is dead. */
const WATCH_GRACE = 15_000;

interface RawList<T> {
  readonly metadata?: {
    readonly resourceVersion?: string;
    readonly continue?: string;
    readonly remainingItemCount?: number;
  };
  readonly items?: readonly T[] | null;
}

/** Where lists and watches come from. `origin` names the server in errors. */
export interface ListingSource {
  readonly transport: Transport;
  readonly origin: string;
  readonly clock?: Clock | undefined;
  readonly maxLine?: number | undefined;
  readonly maxListed?: number | undefined;
}

/** The reading half of a client: lists by pages, and watches. */
export function listing({
  transport,
  origin,
  clock,
  maxLine,
  maxListed = MAX_LISTED,
}: ListingSource): Observer & Pick<KubeClient, 'list' | 'watch'> {
  async function page<T extends KubeObject>(
    resource: Resource<T>,
    query: Readonly<Record<string, string | undefined>>,
    where: Selector | undefined,
    call: CallOptions | undefined,
  ): Promise<RawList<T> & { readonly resourceVersion: string; readonly weight: number }> {
    const action = actionText('list', resource);
    // Never with a resourceVersion: the server ignores `limit` for 0, and forbids it beside a continue token.
    const path = collectionPath(resource, where?.namespace) + queryText({ ...query, ...selectorParams(where) });
    const body = await transport.call({ method: 'GET', path, action, signal: call?.signal });
    let list: RawList<T> | null;
    try {
      list = parseObjects<RawList<T> | null>(body, (one) => (Array.isArray(one?.items) ? one.items : []));
    } catch (error) {
      throw unreadable(error, body, action);
    }
    const resourceVersion = list?.metadata?.resourceVersion;
    // Go writes an empty list as null.
    if (list === null || !resourceVersion || (list.items !== null && !Array.isArray(list.items))) {
      throw new ApiError({
        code: 'BadAnswer',
        action,
        said: 'the answer is no list with a resourceVersion',
        status: 200,
      });
    }
    for (const item of list.items ?? []) settledItem(item, resource, action);
    return { ...list, resourceVersion, weight: body.length };
  }

  async function* pages<T extends KubeObject>(
    resource: Resource<T>,
    where?: Selector,
    call?: CallOptions,
  ): AsyncGenerator<ListPage<T>, void> {
    let token: string | undefined;
    let limit = PAGE;
    let listed = 0;
    let empty = 0;
    for (;;) {
      let list: Awaited<ReturnType<typeof page<T>>>;
      try {
        list = await page(resource, { limit: String(limit), continue: token }, where, call);
      } catch (error) {
        // Objects of megabytes: a continue token serves pages of any size, so the same page can be had in parts.
        if (!(error instanceof ApiError && error.code === 'AnswerTooLarge') || limit === 1) throw error;
        limit = Math.ceil(limit / 4);
        continue;
      }
      const next = list.metadata?.continue;
      if (next && next === token) {
        const said = 'the server gave the same continue token twice, so the list would never end';
        throw new ApiError({ code: 'BadAnswer', action: actionText('list', resource), said, status: 200 });
      }
      token = next;
      const here = list.items?.length ?? 0;
      listed += here;
      empty = here === 0 ? empty + 1 : 0;
      if (listed > maxListed) {
        const said = `the list has more than ${maxListed} objects`;
        throw new ApiError({ code: 'AnswerTooLarge', action: actionText('list', resource), said, status: 200 });
      }
      if (token && empty === MOST_EMPTY) {
        const said = `${empty} pages in a row were empty, so the list would never end`;
        throw new ApiError({ code: 'BadAnswer', action: actionText('list', resource), said, status: 200 });
      }
      const remaining = list.metadata?.remainingItemCount;
      yield {
        items: list.items ?? [],
        resourceVersion: list.resourceVersion,
        weight: list.weight,
        ...(remaining === undefined ? {} : { remaining }),
      };
      if (!token) return;
    }
  }

  async function* list<T extends KubeObject>(
    resource: Resource<T>,
    where?: Selector,
    call?: CallOptions,
  ): AsyncGenerator<T, void> {
    const seen = new Set<string>();
    for (let restarts = 0; ; restarts++) {
      try {
        for await (const { items } of pages(resource, where, call)) {
          for (const item of items) {
            const key = keyText(keyOf(item));
            if (seen.has(key)) continue;
            seen.add(key);
            yield item;
          }
        }
        return;
      } catch (error) {
        if (!isExpired(error) || restarts === RESTARTS) throw error;
      }
    }
  }

  function watchBatches<T extends KubeObject>(
    resource: Resource<T>,
    from: WatchFrom,
    where?: Selector,
    call?: CallOptions,
  ): AsyncGenerator<readonly WatchEvent<T>[], void> {
    const start = from.initialEvents
      ? { sendInitialEvents: 'true', resourceVersionMatch: 'NotOlderThan' }
      : { resourceVersion: from.resourceVersion };
    const query = queryText({
      watch: 'true',
      allowWatchBookmarks: 'true',
      ...start,
      timeoutSeconds: String(from.timeoutSeconds),
      ...selectorParams(where),
    });
    const action = actionText('watch', resource);
    const path = collectionPath(resource, where?.namespace) + query;
    const signal = call?.signal;
    const open = async (): Promise<Readable> => {
      const stream = await transport.stream({ method: 'GET', path, action, signal });
      from.opened?.();
      return stream;
    };
    const deadline = from.timeoutSeconds * 1000 + WATCH_GRACE;
    const { received } = from;
    return readWatch({ open, resource, action, origin, deadline, signal, clock, maxLine, received });
  }

  async function* watch<T extends KubeObject>(
    resource: Resource<T>,
    from: WatchFrom,
    where?: Selector,
    call?: CallOptions,
  ): AsyncGenerator<WatchEvent<T>, void> {
    for await (const events of watchBatches(resource, from, where, call)) yield* events;
  }

  async function reaches(
    resource: Resource<KubeObject>,
    resourceVersion: string,
    where?: Selector,
    call?: CallOptions,
  ): Promise<boolean> {
    const query = { limit: '1', resourceVersion, resourceVersionMatch: 'NotOlderThan', ...selectorParams(where) };
    const path = collectionPath(resource, where?.namespace) + queryText(query);
    const action = actionText('list', resource);
    try {
      await transport.call({ method: 'GET', path, action, signal: call?.signal });
      return true;
    } catch (error) {
      const causes = error instanceof ApiError && error.code === 'Timeout' ? (error.details.causes ?? []) : [];
      if (causes.some(({ reason }) => reason === 'ResourceVersionTooLarge')) return false;
      throw error;
    }
  }

  return { pages, list, watchBatches, watch, reaches };
}
