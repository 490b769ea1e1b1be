import type { BootImagePolicySpec } from '@drydock/api';
import { durationMs } from '@drydock/api/duration';

/** Canaries at a time in a cluster. */
export const MOST_CANARIES = 5;
/** How long one may take where its policy does not say. */
const TIMEOUT_MS = 20 * 60_000;

/** How long the canary of a policy may take, and whether one that failed stays for a look. */
export function canarySpec({ canary = {} }: BootImagePolicySpec): {
  readonly timeoutMs: number;
  readonly keepOnFailure: boolean;
} {
  const { timeout, keepOnFailure = false } = canary;
  return { timeoutMs: (timeout === undefined ? undefined : durationMs(timeout)) ?? TIMEOUT_MS, keepOnFailure };
}

/** How long any canary may take, by these policies. */
export function longestCanaryMs(policies: readonly { readonly spec?: BootImagePolicySpec }[]): number {
  return Math.max(TIMEOUT_MS, ...policies.map(({ spec = {} }) => canarySpec(spec).timeoutMs));
}
