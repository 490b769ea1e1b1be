import { BootImage, type BootImageStatus } from '@drydock/api';
import { bootImageOf, type Explanation, type KeptSet } from '@drydock/boot-images';
import { type Client, isNotFound } from '@drydock/kube';

/** An explanation, and what the operator said of the set last. */
export interface Explained extends Explanation {
  readonly operator: BootImageStatus | undefined;
}

/** Whether nothing moves before a person has done something. What would be done next may have been tried, and have failed: only the operator knows, and what it said of another target counts no more. */
export function isStuck({ step, target, operator }: Explained): boolean {
  if (step === 'blocked' || step === 'failed') return true;
  const { phase } = operator ?? {};
  const failed = (phase === 'Failed' || phase === 'Blocked') && operator?.target === target;
  return (step === 'switch' || step === 'publish') && failed;
}

/** What the operator says of a set. Whoever may not read it is told that, and the rest. */
export async function saidOf(
  client: Pick<Client, 'list'>,
  set: KeptSet,
  signal: AbortSignal,
): Promise<BootImageStatus | undefined> {
  const { namespace = '', name } = bootImageOf(set).metadata;
  const fields = `metadata.name=${name}`;
  try {
    const [found] = await Array.fromAsync(client.list(BootImage, { namespace, fields }, { signal }));
    return found?.status;
  } catch (error) {
    signal.throwIfAborted();
    return isNotFound(error) ? undefined : { message: error instanceof Error ? error.message : String(error) };
  }
}
