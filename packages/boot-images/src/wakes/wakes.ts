import type { BootImage, Machine, MachineConfiguration, Secret } from '@drydock/api';
import { type Key, type KubeObject, on, type Predicate, type Source, type Watched } from '@drydock/kube';
import type { BootImageCaches } from '../caches.ts';
import { isCanaryName } from '../canary/machine.ts';
import { controlPlaneView, idOf, type KeptSet, setKinds } from '../observe/kept-set.ts';
import { stubFailures, userDataSecret } from '../user-data/user-data.ts';
import { credentialsKey } from '../vsphere/platform.ts';
import type { Causes, Touched } from './causes.ts';
import {
  clusterVersionTrigger,
  configurationReadyTrigger,
  controlPlaneTrigger,
  goldenTrigger,
  inputTrigger,
  machineConfigurationTrigger,
  machineSetTrigger,
  type ObjectChange,
  pinTrigger,
  policyTrigger,
  upstreamTrigger,
} from './triggers.ts';

type Trigger<T> = (change: ObjectChange<T>) => string | undefined;

/** What wakes a pass: the parts of a controller's spec that say so. */
export interface Wakes {
  readonly when: Predicate<MachineConfiguration>;
  readonly watches: readonly Source[];
}

/** Upstream's platform has the Secret in its name; the clouds' are told alike. */
function credentialsEvent({ old, now }: ObjectChange<Secret>): string {
  const { name } = (now ?? old)?.metadata ?? {};
  return name === credentialsKey.name ? 'VSphereCredentialsSecret' : 'CloudCredentialsSecret';
}

/** Turns changes of all that a pass reads into its causes. `onSet` sees every change of a set before it counts. */
export function wakes(
  caches: BootImageCaches,
  causes: Causes,
  options: {
    readonly key: Key;
    /** Feature gate BootImageSkewEnforcement. */
    readonly skewGate: boolean;
    /** Feature gate ManagedBootImagesCPMS is off. */
    readonly controlPlanesGated: () => boolean;
    readonly onSet: (change: ObjectChange<KeptSet>) => void;
    /** A user-data Secret has changed. */
    readonly onUserData: (secret: string) => void;
    /** The code of what a set failed with, as long as it does. */
    readonly failureOf: (set: string) => string | undefined;
  },
): Wakes {
  const note =
    <T extends KubeObject>(trigger: Trigger<T>, touched: (change: ObjectChange<T>) => Touched = () => 'all') =>
    (change: ObjectChange<T>): boolean => {
      const event = trigger(change);
      if (event !== undefined) causes.note(event, touched(change));
      return event !== undefined;
    };
  const watch = <T extends KubeObject>(cache: Watched<T>, ...how: Parameters<typeof note<T>>): Source =>
    on(cache, () => options.key, note(...how));
  const input =
    (prefix: string): Trigger<KubeObject> =>
    (change) =>
      inputTrigger(prefix, change);
  const set =
    (trigger: Trigger<KeptSet>): Trigger<KeptSet> =>
    (change) => {
      options.onSet(change);
      return trigger(change);
    };
  const changedSet = ({ old, now }: ObjectChange<KeptSet>): Touched => {
    const changed = now ?? old;
    return new Set(changed === undefined ? [] : [idOf(changed)]);
  };
  const plane = note(set(controlPlaneTrigger), changedSet);
  const named = ({ old, now }: ObjectChange<KubeObject>): string => (now ?? old)?.metadata.name ?? '';
  // A CA that is rotated is no reason to upload an image once more that could not be imported.
  const usersOf = (
    change: ObjectChange<Secret>,
    failed: (code: string | undefined) => boolean,
  ): ReadonlySet<string> => {
    const users = [...caches.machineSets.all()].filter((set) => userDataSecret(set) === named(change));
    return new Set(users.map(idOf).filter((id) => failed(options.failureOf(id))));
  };
  const ofTheStub = (code: string | undefined): boolean => code !== undefined && stubFailures.has(code);
  const userData = note<Secret>(input('UserDataSecret'), (change) =>
    usersOf(change, (code) => code === undefined || ofTheStub(code)),
  );

  // A pin may also end what another one began.
  const pinned = ({ old, now }: ObjectChange<BootImage>): ReadonlySet<string> => {
    const { kind, name = '' } = (now ?? old)?.spec?.machineSet ?? {};
    const own = `${setKinds.find(({ resource }) => resource.kind === kind)?.short ?? 'ms'}/${name}`;
    const conflicting = [...caches.machineSets.all()].map(idOf).filter((id) => options.failureOf(id) === 'PinConflict');
    return new Set([own, ...conflicting]);
  };

  const canary = note<Machine>(input('CanaryMachine'), () => new Set());

  return {
    when: note((change) => machineConfigurationTrigger(change, options) ?? configurationReadyTrigger(change)),
    watches: [
      watch(caches.machineSets, set(machineSetTrigger), changedSet),
      on(
        caches.controlPlaneMachineSets,
        () => options.key,
        ({ old, now }) =>
          !options.controlPlanesGated() &&
          plane({ old: old && controlPlaneView(old), now: now && controlPlaneView(now) }),
      ),
      watch(caches.golden, goldenTrigger),
      watch(caches.clusterVersions, clusterVersionTrigger),
      watch(caches.infrastructures, input('Infrastructure')),
      watch(caches.installConfig, input('InstallConfig')),
      // What was there when the watch began is news only to a set that failed before.
      on(
        caches.userData,
        () => options.key,
        (change) => {
          options.onUserData(named(change));
          return (!change.initial || usersOf(change, ofTheStub).size > 0) && userData(change);
        },
      ),
      watch(caches.cloudConfig, input('CloudConfig')),
      watch(caches.credentials, (change) => input(credentialsEvent(change))(change)),
      watch(caches.policies, policyTrigger),
      watch(caches.upstream, upstreamTrigger),
      watch(caches.bootImages, pinTrigger, pinned),
      // Of the others it only has to be known that they are there, before anything is collected.
      on(
        caches.machines,
        () => options.key,
        (change) => isCanaryName(named(change)) && canary(change),
      ),
    ],
  };
}
