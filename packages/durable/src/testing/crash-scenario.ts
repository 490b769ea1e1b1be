import assert from 'node:assert/strict';
import type { FsOps } from '../ops.ts';
import { inspect, recover } from '../recover.ts';
import { diskText } from './crash-states.ts';
import { type CrashScenario, contentOf, inodeAt } from './explore-crashes.ts';
import { type Image, memoryFs } from './memory-fs.ts';
import type { Protocol } from './protocols.ts';

/** Old or new and nothing between, content and modes; new once acknowledged, old after an abort. */
export function judgeAt(path: string, old: string, wanted: string): CrashScenario['judge'] {
  return (image, told) => {
    const found = textAt(image, path);
    if (found !== old && found !== wanted) return `corrupt: ${found}`;
    if (told === 'acked' && found === old) return 'acknowledged, then lost';
    return told === 'aborted' && found !== old ? 'aborted, then there' : undefined;
  };
}

/** All that is at a path of a disk, with kinds and modes. */
export function textAt(image: Image, path: string): string {
  const ino = inodeAt(image, path);
  return ino === undefined ? 'missing' : diskText(image, '.', ino);
}

/** Recovers, and sees that nothing of ours is left but what shares its inode with a target. */
async function clean(ops: FsOps): Promise<void> {
  const { kept } = await recover('/r', { ops });
  const { leftovers } = await inspect('/r', { ops });
  assert.deepEqual(
    leftovers.map(({ path }) => path),
    kept,
  );
}

/** What a protocol finds on the disk, durably. */
export async function disk(protocol: Protocol): Promise<Image> {
  const fs = memoryFs();
  await fs.mkdir('/r', 0o755);
  await protocol.prepare(fs);
  return fs.now();
}

/** A protocol on `/r`, judged by its own undisturbed result, and recovered in full. */
export async function scenarioOf(protocol: Protocol): Promise<CrashScenario> {
  const image = await disk(protocol);
  const { exchange } = protocol;
  const undisturbed = memoryFs({ image, exchange });
  await protocol.act(undisturbed);
  assert.deepEqual(contentOf(image, protocol.path), protocol.old);
  assert.deepEqual(contentOf(undisturbed.now(), protocol.path), protocol.wanted);
  const judge = judgeAt(protocol.path, textAt(image, protocol.path), textAt(undisturbed.now(), protocol.path));
  // Without exchange the target may be missing until recovery ran, but not once it was acknowledged.
  const judgeBefore: CrashScenario['judge'] = (disk, told) =>
    exchange || told === 'acked' ? judge(disk, told) : undefined;
  return { image, act: (ops) => protocol.act(ops), recover: clean, judge, judgeBefore, exchange };
}
