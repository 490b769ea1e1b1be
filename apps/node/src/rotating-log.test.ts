import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { rotatingLog } from './rotating-log.ts';

async function logs() {
  const dir = await mkdtemp(join(tmpdir(), 'log-'));
  const path = join(dir, 'monitor.log');
  const errors: unknown[] = [];
  const log = rotatingLog(path, (error) => errors.push(error));
  return { dir, path, errors, log, [Symbol.asyncDispose]: () => rm(dir, { recursive: true }) };
}

test('log file: three of 5 MB at most, the newest lines in the first', async () => {
  await using world = await logs();
  const { dir, path, log, errors } = world;
  for (let round = 0; round < 4; round += 1) {
    log.write(`round ${round}`);
    await log.flushed();
    await writeFile(path, 'x'.repeat(5 << 20), { flag: 'a' });
  }
  log.write('last');
  await log.flushed();
  assert.deepEqual((await readdir(dir)).sort(), ['monitor.log', 'monitor.log.1', 'monitor.log.2']);
  assert.match(await readFile(path, 'utf8'), /^\d{4}-\d\d-\d\dT\S+Z last\n$/);
  assert.match((await readFile(`${path}.1`, 'latin1')).slice(0, 40), /round 3/);
  assert.match((await readFile(`${path}.2`, 'latin1')).slice(0, 40), /round 2/);
  assert.deepEqual(errors, []);
});

test('log file: older than 28 days is removed with the next rotation; a failure is reported and loses no later line', async () => {
  await using world = await logs();
  const { path, log, errors } = world;
  await writeFile(path, 'x'.repeat(5 << 20));
  await writeFile(`${path}.1`, 'old');
  const then = new Date(Date.now() - 29 * 86_400_000);
  await utimes(`${path}.1`, then, then);
  log.write('new');
  await log.flushed();
  assert.equal(await stat(`${path}.2`).catch(() => 'gone'), 'gone');
  const broken = rotatingLog(join(path, 'below-a-file'), (error) => errors.push(error));
  broken.write('x');
  broken.write('y');
  await broken.flushed();
  assert.equal(errors.length, 2);
});
