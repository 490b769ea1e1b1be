import { MachineConfiguration } from '@drydock/api';
import type { Projector } from '@drydock/crd';
import { type Client, isNotFound, statusWriter } from '@drydock/kube';
import { upstreamRefusal } from './decide/coexistence.ts';
import { optedInAnnotation, platformSupported, reflect } from './decide/reflect.ts';
import type { World } from './observe/world.ts';
import { rfc3339 } from './status/conditions.ts';
import { hooksOf } from './status/definitions.ts';
import { machineConfigurationName } from './wakes/triggers.ts';

/** What the operator half needs. */
export interface OperatorOptions {
  readonly client: Client;
  readonly world: Pick<World, 'infrastructure' | 'machineConfiguration' | 'upstream'>;
  /** Feature gate ManagedBootImagesCPMS. */
  readonly cpmsGate: boolean;
  readonly now: () => Date;
  /** Cuts a status to the live schema. */
  readonly projector?: Projector;
}

const key = { name: machineConfigurationName } as const;

/**
 * One step of the operator half (boot-images.md §7.2): creates a missing MachineConfiguration and leaves it at that; otherwise
 * records a default opt-in as an annotation and then puts the effective managers and observedGeneration into status. Status
 * fields of others are carried through. Beside an upstream controller it does nothing.
 */
export function createOperatorHalf(options: OperatorOptions): (signal?: AbortSignal) => Promise<void> {
  const { client, world } = options;
  const writer = statusWriter<MachineConfiguration>({
    client,
    resource: MachineConfiguration,
    ...hooksOf(options.projector),
  });

  return async (signal) => {
    const call = signal === undefined ? {} : { signal };
    const infrastructure = world.infrastructure();
    const platform = infrastructure?.status?.platformStatus?.type;
    if (infrastructure === undefined || upstreamRefusal(world.upstream()) !== undefined) return;
    const mc = world.machineConfiguration() ?? (await read(client, call));
    if (mc === undefined) {
      const wanted: MachineConfiguration = {
        apiVersion: 'operator.openshift.io/v1',
        kind: 'MachineConfiguration',
        metadata: { name: machineConfigurationName },
        spec: { managementState: 'Managed' },
      };
      await client.apply(MachineConfiguration, wanted, { manager: 'machine-config-operator' }, call);
      return;
    }
    const azureCloud = infrastructure.status?.platformStatus?.azure?.cloudName;
    const reflectionOf = (current: MachineConfiguration): ReturnType<typeof reflect> =>
      reflect({
        spec: current.spec?.managedBootImages?.machineManagers,
        status: current.status?.managedBootImagesStatus?.machineManagers,
        platform,
        azureCloud,
        cpmsGate: options.cpmsGate,
      });
    let current = mc;
    const whole = (await options.projector?.recall(mc)) ?? mc;
    if (platformSupported(platform, azureCloud) && reflectionOf(whole).optIn) {
      const patch = { metadata: { annotations: { [optedInAnnotation]: rfc3339(options.now()) } } };
      current = await client.mergePatch(MachineConfiguration, key, patch, call);
    }
    await writer.write(
      key,
      (live) => {
        const { managers } = reflectionOf(live);
        return {
          ...live.status,
          ...(live.metadata.generation === undefined ? {} : { observedGeneration: live.metadata.generation }),
          ...(managers === undefined
            ? {}
            : { managedBootImagesStatus: { ...live.status?.managedBootImagesStatus, machineManagers: managers } }),
        };
      },
      { current, ...call },
    );
  };
}

async function read(
  client: Client,
  call: { readonly signal?: AbortSignal },
): Promise<MachineConfiguration | undefined> {
  try {
    return await client.get(MachineConfiguration, key, call);
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
