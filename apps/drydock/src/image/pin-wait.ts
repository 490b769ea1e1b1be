import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { BootImage, type BootImageStatus } from '@drydock/api';
import type { Pin } from '@drydock/boot-images';
import type { Client } from '@drydock/kube';
import { keyOf } from '@drydock/kube';

/** What became of pins, as the operator says: all sets have their image, one cannot, or it is not known yet. */
export type PinOutcome =
  | { readonly kind: 'obeyed' }
  /** Somebody wrote another pin since, or took it off. */
  | { readonly kind: 'replaced'; readonly set: string; readonly pin: Pin | undefined }
  | { readonly kind: 'stuck' | 'underway'; readonly set: string; readonly status: BootImageStatus | undefined };

/** Reasons of pins that the operator does not obey. */
const REFUSED: ReadonlySet<string> = new Set(['PinConflict', 'PinInvalid']);
/** Between two looks. */
const LOOK_MS = 200;

/** Waits until the operator has said of each of these BootImages what became of its pin. */
export async function pinsObeyed(
  client: Pick<Client, 'get'>,
  written: readonly BootImage[],
  { waitMs, signal }: { readonly waitMs: number; readonly signal: AbortSignal },
): Promise<PinOutcome> {
  const until = performance.now() + waitMs;
  for (;;) {
    let left: PinOutcome = { kind: 'obeyed' };
    for (const image of written) {
      const { status, spec } = await client.get(BootImage, keyOf(image), { signal });
      if (!isDeepStrictEqual(spec?.pin, image.spec?.pin))
        return { kind: 'replaced', set: status?.set ?? image.metadata.name, pin: spec?.pin };
      const outcome = outcomeOf(image, status);
      if (outcome.kind === 'stuck') return outcome;
      if (outcome.kind === 'underway') left = outcome;
    }
    if (left.kind === 'obeyed' || performance.now() > until) return left;
    await sleep(LOOK_MS, undefined, { signal });
  }
}

/** What the operator said before it saw the pin says nothing of it. */
function outcomeOf({ metadata }: BootImage, status: BootImageStatus | undefined): PinOutcome {
  const set = status?.set ?? metadata.name;
  const seen = (status?.observedGeneration ?? 0) >= (metadata.generation ?? 1);
  const pinned = status?.conditions?.some(({ type }) => type === 'Pinned') === true;
  // Of two pins under one name neither is obeyed, and none is said to hold.
  const refused = status?.phase === 'Blocked' && REFUSED.has(status.reason ?? '');
  if (!seen || !(pinned || refused)) return { kind: 'underway', set, status };
  if (status?.phase === 'Current') return { kind: 'obeyed' };
  const stuck = status?.phase === 'Blocked' || status?.phase === 'Skipped';
  return { kind: stuck ? 'stuck' : 'underway', set, status };
}
