import { isDeepStrictEqual } from 'node:util';
import {
  BootImage,
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
  type Cache,
  type Change,
  createCache,
  isForbidden,
  type KubeObject,
  type Observer,
  type Resource,
  type Selector,
} from '@drydock/kube';
import { upstreamController } from './decide/coexistence.ts';
import { cloudConfigKey, cloudConfigs } from './observe/cloud-config.ts';
import { credentialSecrets } from './observe/credential-secrets.ts';
import { lightMachine, lightMachineSet } from './observe/light.ts';
import type { World } from './observe/world.ts';
import { machineApiNamespace } from './user-data/machine-api.ts';
import { installConfigKey } from './vsphere/install-config.ts';
import { type OpenNamed, type PlatformWatch, watchOfPlatform } from './wakes/platform-watch.ts';
import { type PolicyWatch, watchPolicies } from './wakes/policy-watch.ts';
import { goldenName, goldenNamespace, machineConfigurationName } from './wakes/triggers.ts';
import { type UserDataWatch, watchUserData } from './wakes/user-data-watch.ts';

/** Everything that is watched, by the name that `/readyz` shows. */
export interface BootImageCaches {
  readonly machineSets: Cache<MachineSet>;
  readonly machines: Cache<Machine>;
  readonly controlPlaneMachineSets: Cache<ControlPlaneMachineSet>;
  readonly machineConfigurations: Cache<MachineConfiguration>;
  readonly clusterVersions: Cache<ClusterVersion>;
  readonly infrastructures: Cache<Infrastructure>;
  readonly golden: Cache<ConfigMap>;
  readonly upstream: Cache<Deployment>;
  readonly installConfig: Cache<ConfigMap>;
  readonly userData: UserDataWatch;
  readonly credentials: PlatformWatch<Secret>;
  readonly cloudConfig: PlatformWatch<ConfigMap>;
  readonly bootImages: Cache<BootImage>;
  readonly policies: PolicyWatch;
}

/** Where failures of watches are told. A pino logger fits. */
export interface CacheLog {
  warn(fields: object, message: string): void;
}

/** Starts the watches, each as narrow as its use. The contents of user-data secrets are not kept: they are read when needed. */
export function createCaches(client: Observer, log: CacheLog): BootImageCaches {
  const onError = (error: unknown): void =>
    log.warn(
      { err: error },
      'A watch on the API server failed; Drydock tries again. If this warning repeats, follow the error.',
    );
  const cache = <T extends KubeObject>(
    resource: Resource<T>,
    where: Selector,
    transform?: (object: T) => T,
  ): Cache<T> => createCache({ client, resource, where, onError, ...(transform === undefined ? {} : { transform }) });
  const named = (namespace: string, name: string): Selector => ({ namespace, fields: `metadata.name=${name}` });
  // One that may not be read is a choice of whoever installed, and lasts: it is told once.
  const optional =
    <T extends KubeObject>(resource: Resource<T>): OpenNamed<T> =>
    (key, failed) => {
      let told = false;
      const failing = (error: unknown): void => {
        failed(error);
        if (isForbidden(error) && told) return;
        told = isForbidden(error);
        onError(error);
      };
      return createCache({ client, resource, where: named(key.namespace, key.name), onError: failing });
    };
  const sets = { namespace: machineApiNamespace };
  const machineSets = cache(MachineSet, sets, lightMachineSet);
  const infrastructures = cache(Infrastructure, {});
  return {
    machineSets,
    machines: cache(Machine, sets, lightMachine),
    controlPlaneMachineSets: cache(ControlPlaneMachineSet, sets),
    machineConfigurations: cache(MachineConfiguration, {}),
    clusterVersions: cache(ClusterVersion, {}),
    infrastructures,
    upstream: cache(Deployment, named(upstreamController.namespace, upstreamController.name)),
    golden: cache(ConfigMap, named(goldenNamespace, goldenName)),
    installConfig: cache(ConfigMap, named(installConfigKey.namespace, installConfigKey.name)),
    userData: watchUserData(machineSets, (name) => cache(Secret, named(machineApiNamespace, name), withoutData)),
    credentials: watchOfPlatform(infrastructures, credentialSecrets, optional(Secret)),
    cloudConfig: watchOfPlatform(infrastructures, cloudConfigs, optional(ConfigMap)),
    bootImages: cache(BootImage, sets),
    policies: watchPolicies(client, onError),
  };
}

/** The caches as a pass sees them. */
export function worldOf(caches: BootImageCaches): World {
  const machineSets = lasting(caches.machineSets, (all) =>
    [...all].toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1)),
  );
  const pinnedImages = lasting(
    caches.bootImages,
    (all) => [...all].filter(({ spec }) => spec?.pin !== undefined),
    // Their statuses are written all the time.
    ({ old, now }) => !isDeepStrictEqual(old?.spec, now?.spec),
  );
  return {
    machineConfiguration: () => caches.machineConfigurations.get({ name: machineConfigurationName }),
    clusterVersion: () => caches.clusterVersions.get({ name: 'version' }),
    infrastructure: () => caches.infrastructures.get({ name: 'cluster' }),
    golden: () => caches.golden.get({ namespace: goldenNamespace, name: goldenName }),
    installConfig: () => caches.installConfig.get(installConfigKey),
    upstream: () => caches.upstream.get(upstreamController),
    machineSet: (key) => caches.machineSets.get(key),
    machineSets,
    machines: () => [...caches.machines.all()],
    controlPlaneMachineSets: () => [...caches.controlPlaneMachineSets.all()],
    controlPlanesGated: () => false,
    bootImage: (key) => caches.bootImages.get(key),
    bootImages: () => [...caches.bootImages.all()],
    pinnedImages,
    bootImagePolicies: lasting(caches.policies, (all) => [...all]),
    cloudConfig: () => caches.cloudConfig.get(cloudConfigKey),
    secret: (namespace, name) => caches.credentials.get({ namespace, name }),
  };
}

/** What is made of all objects of a cache: the same until one that matters is another. */
function lasting<T extends KubeObject, R>(
  cache: Pick<Cache<T>, 'all' | 'subscribe'>,
  make: (all: Iterable<T>) => R,
  matters: (change: Change<T>) => boolean = () => true,
): () => R {
  let made: { readonly value: R } | undefined;
  // It ends with the cache.
  cache.subscribe((change) => {
    if (matters(change)) made = undefined;
  });
  return () => {
    made ??= { value: make(cache.all()) };
    return made.value;
  };
}

function withoutData(secret: Secret): Secret {
  const { data, ...rest } = secret;
  return data === undefined ? secret : rest;
}
