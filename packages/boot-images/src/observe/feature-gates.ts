import { FeatureGate } from '@drydock/api';
import { type CallOptions, type Client, isForbidden, isNotFound } from '@drydock/kube';

/** The switches of boot images (boot-images.md §1.3). */
export interface Gates {
  /** ManagedBootImagesCPMS: whether control planes are among what can be managed. */
  readonly cpms: boolean;
  /** BootImageSkewEnforcement: whether images that are too old stop upgrades. */
  readonly skew: boolean;
}

/**
 * The gates as FeatureGate `cluster` says them for a release. One that it does not list, or nobody may read, is on: both have
 * graduated.
 */
export async function gatesNow(
  client: Pick<Client, 'get'>,
  release: string | undefined,
  call: CallOptions = {},
): Promise<Gates> {
  let gate: FeatureGate | undefined;
  try {
    gate = await client.get(FeatureGate, { name: 'cluster' }, call);
  } catch (error) {
    if (!isNotFound(error) && !isForbidden(error)) throw error;
  }
  const listed = gate?.status?.featureGates?.find(({ version }) => version === release);
  const on = (wanted: string): boolean => !(listed?.disabled?.some(({ name }) => name === wanted) ?? false);
  return { cpms: on('ManagedBootImagesCPMS'), skew: on('BootImageSkewEnforcement') };
}
