import { isVimError } from '@drydock/vsphere';
import type { Clock } from '../clock.ts';

/** Pauses between attempts: half a minute in all, which is longer than vCenter's own short tasks on a machine. */
const PAUSES_MS = [500, 1_000, 2_000, 4_000, 8_000, 16_000] as const;

/** Does something whose repetition is harmless until it succeeds, or fails with what time does not cure, or has failed for half a minute. */
export async function patiently(
  clock: Clock,
  call: { readonly signal?: AbortSignal | undefined },
  work: () => Promise<void>,
): Promise<void> {
  for (const pause of PAUSES_MS) {
    try {
      await work();
      return;
    } catch (error) {
      if (!isVimError(error) || !error.retriable || error.kind === 'aborted') throw error;
      await clock.sleep(pause, call);
    }
  }
  await work();
}
