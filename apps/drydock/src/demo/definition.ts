import { globSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ClusterVersion, CustomResourceDefinition } from '@drydock/api';
import { type CallOptions, type Client, isInvalid } from '@drydock/kube';
import { parse } from 'yaml';
import { awaited } from './patience.ts';

const NAME = 'clusterversions.config.openshift.io';
const LIVE_MS = 20_000;

/** The definition of ClusterVersion that the server has. */
export function definitionNow(client: Client, options: CallOptions): Promise<CustomResourceDefinition> {
  return client.get(CustomResourceDefinition, { name: NAME }, options);
}

/** That of another release, out of a folder of CRDs, as an object that could take the place of `present`. */
export async function definitionAt(
  folder: string,
  present: CustomResourceDefinition,
): Promise<CustomResourceDefinition> {
  const [file] = globSync(join(folder, '*clusterversion*.yaml'));
  if (file === undefined) throw new Error(`there is no definition of ClusterVersion in ${folder}`);
  const { spec } = parse(await readFile(file, 'utf8')) as CustomResourceDefinition;
  return { ...present, spec };
}

/**
 * Puts a definition in the place of the one that is there, and waits until the server judges by it: it says `verdict` to a ClusterVersion with this capability. Only dry runs
 * ask; how long a server takes to see a definition is nowhere promised.
 */
export async function installDefinition(
  client: Client,
  definition: CustomResourceDefinition,
  capability: string,
  verdict: 'refused' | 'taken',
  options: { readonly signal: AbortSignal },
): Promise<void> {
  const present = await definitionNow(client, options);
  await client.replace(CustomResourceDefinition, { ...present, spec: definition.spec }, options);
  await awaited(async () => (await judged(client, capability, options)) === verdict || undefined, {
    deadline: LIVE_MS,
    signal: options.signal,
    sentence: () => `the API server does not judge by the new definition of ${NAME}`,
  });
}

async function judged(client: Client, capability: string, options: CallOptions): Promise<'refused' | 'taken'> {
  const capabilities = { baselineCapabilitySet: 'None', additionalEnabledCapabilities: [capability] };
  const probe = { metadata: { name: 'probe' }, spec: { clusterID: 'probe', capabilities } } as ClusterVersion;
  try {
    await client.create(ClusterVersion, probe, { ...options, dryRun: true });
    return 'taken';
  } catch (error) {
    if (isInvalid(error)) return 'refused';
    throw error;
  }
}
