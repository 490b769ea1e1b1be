import {
  BootImage,
  BootImagePolicy,
  ClusterVersion,
  ConfigMap,
  ControlPlaneMachineSet,
  Deployment,
  Infrastructure,
  Machine,
  MachineConfiguration,
  MachineSet,
  Secret,
} from '@drydock/api';
import {
  type CallOptions,
  type Client,
  isForbidden,
  isNotFound,
  type Key,
  type KubeObject,
  keyOf,
  keyText,
  type Resource,
  type Selector,
} from '@drydock/kube';
import { upstreamController } from './decide/coexistence.ts';
import { orUndefined } from './errors.ts';
import { cloudConfigs } from './observe/cloud-config.ts';
import { credentialSecrets } from './observe/credential-secrets.ts';
import { gatesNow } from './observe/feature-gates.ts';
import { platformOf, type World } from './observe/world.ts';
import { remembered } from './remembered.ts';
import { machineApiNamespace } from './user-data/machine-api.ts';
import { installConfigKey } from './vsphere/install-config.ts';
import { goldenName, goldenNamespace, machineConfigurationName } from './wakes/triggers.ts';

/**
 * Reads the cluster once. What does not exist, or whose kind this cluster does not serve, is absent; what could not be read throws its `ApiError` when it is asked for, so
 * that a right that is missing is told where it matters and nowhere else. With `credentials: 'unread'` no Secret is asked for, and none is there.
 */
export async function worldNow(
  client: Pick<Client, 'get' | 'list'>,
  options: CallOptions & { readonly credentials?: 'unread' } = {},
): Promise<World> {
  const list = <T extends KubeObject>(
    resource: Resource<T>,
    where: Selector,
  ): Promise<() => readonly T[] | undefined> =>
    found(Array.fromAsync(client.list(resource, where, { signal: options.signal }), withoutOwners));
  // As the watches do it: a list of one name needs no other right than a watch of it.
  const one = async <T extends KubeObject>(
    resource: Resource<T>,
    { namespace, name }: Key,
  ): Promise<() => T | undefined> => {
    const fields = `metadata.name=${name}`;
    const all = await list(resource, namespace === undefined ? { fields } : { namespace, fields });
    return () => all()?.[0];
  };
  const sets = { namespace: machineApiNamespace };
  const [
    configuration,
    version,
    infrastructure,
    golden,
    installConfig,
    upstream,
    machineSets,
    machines,
    planes,
    images,
    policies,
  ] = await Promise.all([
    one(MachineConfiguration, { name: machineConfigurationName }),
    one(ClusterVersion, { name: 'version' }),
    one(Infrastructure, { name: 'cluster' }),
    one(ConfigMap, { namespace: goldenNamespace, name: goldenName }),
    one(ConfigMap, installConfigKey),
    one(Deployment, upstreamController),
    list(MachineSet, sets),
    list(Machine, sets),
    list(ControlPlaneMachineSet, sets),
    list(BootImage, sets),
    list(BootImagePolicy, {}),
  ]);
  const sorted = remembered(() =>
    (machineSets() ?? []).toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1)),
  );
  const setsByKey = remembered(() => new Map(sorted().map((set) => [keyText(keyOf(set)), set])));
  const imagesByKey = remembered(() => new Map((images() ?? []).map((image) => [keyText(keyOf(image)), image])));
  const gates = await found(
    gatesNow(
      client,
      orUndefined(() => version()?.status?.desired?.version),
      { signal: options.signal },
    ),
  );
  // Those of the cluster's platform and no others; they are named by it.
  const platform = platformOf({ infrastructure });
  const keys = options.credentials === 'unread' ? [] : credentialSecrets(platform);
  const credentials = new Map(
    await Promise.all(keys.map(async (key) => [keyText(key), optional(key, await one(Secret, key))] as const)),
  );
  const [configKey] = cloudConfigs(platform);
  const cloudConfig = configKey === undefined ? undefined : await one(ConfigMap, configKey);
  return {
    machineConfiguration: configuration,
    clusterVersion: version,
    infrastructure,
    golden,
    installConfig,
    upstream,
    machineSets: sorted,
    machineSet: (key) => setsByKey().get(keyText(key)),
    machines,
    controlPlaneMachineSets: planes,
    controlPlanesGated: () => gates()?.cpms === false,
    bootImages: () => images() ?? [],
    pinnedImages: remembered(() => (images() ?? []).filter(({ spec }) => spec?.pin !== undefined)),
    bootImage: (key) => imagesByKey().get(keyText(key)),
    bootImagePolicies: () => policies() ?? NO_POLICIES,
    cloudConfig: () => (cloudConfig === undefined ? undefined : unlessForbidden(cloudConfig)),
    canaryMissing,
    secret: (namespace, name) => credentials.get(keyText({ namespace, name }))?.(),
  };
}

/** The same each time: what is remembered of all sets is remembered by it. */
const NO_POLICIES: readonly BootImagePolicy[] = [];

/** Who owns which field is a third of an object, and nobody asks for it here. */
function withoutOwners<T extends KubeObject>(object: T): T {
  const { managedFields: _, ...metadata } = object.metadata as T['metadata'] & { readonly managedFields?: unknown };
  return { ...object, metadata };
}

/** As the operator has it: machine-api's Secrets on clouds are of use where they may be read, and nothing is missing where not. */
function optional<T>(key: Required<Key>, read: () => T | undefined): () => T | undefined {
  if (key.namespace !== machineApiNamespace) return read;
  return () => unlessForbidden(read);
}

function unlessForbidden<T>(read: () => T | undefined): T | undefined {
  try {
    return read();
  } catch (error) {
    if (isForbidden(error)) return undefined;
    throw error;
  }
}

async function found<T>(reading: Promise<T>): Promise<() => T | undefined> {
  try {
    const value = await reading;
    return () => value;
  } catch (error) {
    if (isNotFound(error)) return () => undefined;
    return () => {
      throw error;
    };
  }
}

/** What the operator says of its own rights: those of whoever asks are others. */
function canaryMissing({ metadata, status }: BootImagePolicy): string | undefined {
  const accepted = status?.conditions?.find(({ type }) => type === 'Accepted');
  const current = status?.observedGeneration === metadata.generation;
  return current && accepted?.reason === 'CanaryNotPermitted' ? accepted.message : undefined;
}
