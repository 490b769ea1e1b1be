import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';
import { skips, start } from './testing/simulator.ts';

for (const end of ['stdin', 'SIGTERM'] as const) {
  test(`the simulator ends with ${end} and leaves no file`, {
    skip: skips('real', "it is about the temporary files of govmomi's simulator; the embedded vCenter has none"),
  }, async () => {
    await using sim = await start('real');
    assert.notDeepEqual(readdirSync(sim.scratch), [], 'it has files while it runs');
    const gone = once(sim.child, 'exit');
    if (end === 'stdin') sim.child.stdin?.end();
    else sim.child.kill('SIGTERM');
    assert.deepEqual(await gone, [0, null]);
    assert.deepEqual(readdirSync(sim.scratch), []);
  });
}
