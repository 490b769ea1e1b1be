import { processSignals } from '@drydock/kube/signals';
import { sayError } from './terminal.ts';

/** Runs a verb until it ends or somebody interrupts it, and sets the exit code. `left`: what an interruption in order leaves, as a clause; what fails meanwhile is told in its place. */
export async function untilInterrupted(
  run: (signal: AbortSignal) => Promise<number>,
  left = 'nothing was left behind',
): Promise<void> {
  using signals = processSignals();
  const { signal } = signals;
  try {
    process.exitCode = await run(signal);
  } catch (error) {
    if (!signal.aborted) throw error;
    const isMore = error instanceof Error && error.name !== 'AbortError';
    sayError(`drydock: interrupted; ${isMore ? error.message : left}.`);
    process.exitCode = (signal.reason as Error).message === 'SIGTERM' ? 143 : 130;
  }
}
