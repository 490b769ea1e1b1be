import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ListPage, Observer, WatchEvent, WatchFrom } from '../client/client.ts';
import { ApiError } from '../errors.ts';
import type { KubeObject } from '../resource.ts';
import { CONFIG_MAP, type ConfigMap } from '../testing/server.ts';
import { until } from '../testing/until.ts';
import { createCache } from './cache.ts';

const PIECE = 2 ** 20;
const map = (n: number): ConfigMap => ({
  metadata: { name: `m-${n}`, namespace: 'ns', uid: `${n}`, resourceVersion: `${n + 1}` },
});

/** A server in memory whose lists, streamed or by pages, go on for ever, a MiB at a time. */
function endless(): { readonly observer: Observer; readonly sent: { pages: number; events: number } } {
  const sent = { pages: 0, events: 0 };
  return {
    sent,
    observer: {
      async *pages<T extends KubeObject>() {
        for (;;) {
          sent.pages += 1;
          yield { items: [map(sent.pages)], resourceVersion: '1', weight: PIECE } as unknown as ListPage<T>;
        }
      },
      async *watchBatches<T extends KubeObject>(_: unknown, from: WatchFrom) {
        from.opened?.();
        for (;;) {
          sent.events += 1;
          from.received?.(PIECE);
          yield [{ type: 'ADDED', object: map(sent.events) } as unknown as WatchEvent<T>];
        }
      },
    },
  };
}

test('SAFE-2 a list that goes on for ever is left at 128 MiB, streamed and by pages, and the error says so', async () => {
  const { observer, sent } = endless();
  const errors: ApiError[] = [];
  const onError = (error: unknown): void => {
    assert.ok(error instanceof ApiError);
    errors.push(error);
  };
  await using cache = createCache({ client: observer, resource: CONFIG_MAP, onError });
  await until('both are left', () => errors.length >= 2);
  assert.match(errors[0]?.message ?? '', /streamed list did not end within 60 s, 1000000 objects and 128 MiB/);
  assert.match(errors[1]?.message ?? '', /^list ConfigMaps: the pages of the list are larger than 128 MiB together/);
  assert.equal(errors[1]?.code, 'AnswerTooLarge');
  assert.equal(sent.events, 128);
  assert.ok(sent.pages >= 128 && cache.size === 0);
});

test('SAFE-2 what is kept of an object is kept as it arrives, not when the whole list is there', async () => {
  const { observer, sent } = endless();
  let kept = 0;
  const errors: unknown[] = [];
  const transform = (object: ConfigMap): ConfigMap => {
    kept += 1;
    return object;
  };
  await using _ = createCache({
    ...{ client: observer, resource: CONFIG_MAP, transform },
    onError: (error) => errors.push(error),
  });
  await until('one list is left', () => errors.length >= 1);
  assert.ok(kept > 100 && kept >= sent.events - 1);
});
