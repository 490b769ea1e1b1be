import assert from 'node:assert/strict';
import { constants, PerformanceObserver } from 'node:perf_hooks';
import { test } from 'node:test';
import { setImmediate as tick } from 'node:timers/promises';
import { keepHeapSmall, whileWaiting } from './small-heap.ts';

const { NODE_PERFORMANCE_GC_MINOR: MINOR, NODE_PERFORMANCE_GC_FLAGS_FORCED: FORCED } = constants;

/** Collections of young objects while answers leave garbage behind: those that V8 began by itself, and those between two answers. */
async function collections(between: () => void): Promise<{ readonly own: number; readonly asked: number }> {
  const flags: number[] = [];
  const observer = new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      const { detail } = entry as unknown as { readonly detail: { readonly kind: number; readonly flags: number } };
      if (detail.kind === MINOR) flags.push(detail.flags);
    }
  });
  observer.observe({ entryTypes: ['gc'] });
  const kept: unknown[] = [];
  for (let answer = 0; answer < 3_000; answer += 1) {
    kept[answer % 8] = Array.from({ length: 500 }, (_, n) => ({ n }));
    between();
    await tick();
  }
  await tick();
  observer.disconnect();
  return {
    own: flags.filter((one) => (one & FORCED) === 0).length,
    asked: flags.filter((one) => (one & FORCED) !== 0).length,
  };
}

test('what answers leave behind is collected between them, and not while one is read', async () => {
  whileWaiting();
  keepHeapSmall();
  // Until the room for young objects has its size.
  await collections(() => undefined);
  const without = await collections(() => undefined);
  assert.ok(without.own > 5 && without.asked === 0, JSON.stringify(without));
  const { own, asked } = await collections(whileWaiting);
  assert.ok(asked > 100, `${asked} collections`);
  assert.ok(own <= 1, `${own} while an answer was read`);
});
