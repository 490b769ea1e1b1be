import type { BootImageStatus } from '@drydock/api';
import { runCommand } from '../command.ts';
import { type Figure, percentile } from '../measure.ts';
import { startFleet } from './fleet.ts';

const NAMES = 50;
const REVERTS = 20;
const RENAME_MS = 500;
const [FIRST, SECOND] = ['9.8.20260802-0', '9.9.20260903-0'] as const;

const at =
  (release: string) =>
  ({ phase, current }: BootImageStatus): boolean =>
    phase === 'Current' && current === release;

/** Names of which each has a template of its own, by swap, in a vCenter that takes its time for a rename: all of them back at once, then one after the other by the command. */
export async function swap(report: (figure: Figure) => void, signal: AbortSignal): Promise<void> {
  await using fleet = await startFleet({ folders: NAMES, sets: NAMES, publication: 'swap' });
  const { switchboard } = fleet.voyage;
  await fleet.release(FIRST);
  fleet.operate();
  await fleet.all(at(FIRST), signal);
  await fleet.release(SECOND);
  await fleet.all(at(SECOND), signal);

  await using _slow = await switchboard.rule({ on: 'Rename_Task', do: 'task', delayMs: RENAME_MS });
  await switchboard.resetUploads({ signal });
  const common = { bench: 'image', lowerIsBetter: true } as const;
  const since = performance.now();
  await fleet.pin(({ history = [] }) => {
    const { release, image, digest } = history[1] ?? {};
    if (release !== FIRST || image === undefined) throw new Error('bench: a set has no way back');
    return { release, image, ...(digest === undefined ? {} : { digest }), by: 'bench', reason: 'measured' };
  });
  await fleet.all(({ reason, current }) => reason === 'Pinned' && current === FIRST, signal);
  const seconds = (performance.now() - since) / 1000;
  const all = { ...common, case: `revert of ${NAMES} names` } as const;
  // In turn each would be two renames.
  report({ ...all, metric: 'wall', unit: 's', ours: seconds, peer: (NAMES * 2 * RENAME_MS) / 1000, goal: 60 });
  await fleet.pin(() => null);
  await fleet.all(at(SECOND), signal);

  const took: number[] = [];
  for (const name of fleet.names.slice(0, REVERTS)) {
    const run = await runCommand(['image', 'revert', name, '--yes', ...fleet.flags], 0, signal);
    took.push(run.seconds);
  }
  const one = { ...common, case: `revert, renames ${RENAME_MS} ms` } as const;
  report({ ...one, metric: 'p95', unit: 's', ours: percentile(took, 0.95), peer: (2 * RENAME_MS) / 1000, goal: 10 });
  const { bytes } = await switchboard.uploads({ signal });
  report({ ...one, metric: 'uploaded', unit: 'B', ours: bytes, goal: 0 });
}
