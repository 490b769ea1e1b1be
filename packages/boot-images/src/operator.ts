import { type Infrastructure, MachineConfiguration, Provisioning } from '@drydock/api';
import type { Projector } from '@drydock/crd';
import { type CallOptions, type Client, ifFound, isForbidden, isNotFound, statusWriter } from '@drydock/kube';
import { upstreamRefusal } from './decide/coexistence.ts';
import { optedInAnnotation, platformSupported, reflect } from './decide/reflect.ts';
import { type Gates, gatesNow } from './observe/feature-gates.ts';
import type { World } from './observe/world.ts';
import { skewStatus, unreadProvisioning } from './skew/mode.ts';
import { type StampPorts, stampGolden } from './skew/stamp.ts';
import { rfc3339 } from './status/conditions.ts';
import { hooksOf } from './status/definitions.ts';
import type { Verdict } from './verdict/cluster-operator.ts';
import { machineConfigurationName } from './wakes/triggers.ts';

/** What the operator half needs. */
export interface OperatorOptions {
  readonly client: Client;
  readonly world: Pick<World, 'infrastructure' | 'machineConfiguration' | 'upstream' | 'clusterVersion' | 'golden'>;
  /** Those that are not read from the cluster. */
  readonly gates?: Partial<Gates>;
  readonly verdict: Verdict;
  /** Says in the golden ConfigMap whose release owns the control plane; without it nothing is stamped. */
  readonly stamp?: StampPorts;
  readonly now: () => Date;
  /** Cuts a status to the live schema. */
  readonly projector?: Projector;
}

const key = { name: machineConfigurationName } as const;

/**
 * One step of the operator half (boot-images.md §7): creates a missing MachineConfiguration and leaves it at that; otherwise
 * records a default opt-in as an annotation and then puts the effective managers, who keeps the record of the oldest image, and
 * observedGeneration into status. Status fields of others are carried through. Then the golden ConfigMap is stamped and the
 * verdict written. Beside an upstream controller it takes its verdict off and does nothing else.
 */
export function createOperatorHalf(options: OperatorOptions): (signal?: AbortSignal) => Promise<void> {
  const { client, world } = options;
  const writer = statusWriter<MachineConfiguration>({
    client,
    resource: MachineConfiguration,
    ...hooksOf(options.projector),
  });

  return async (signal) => {
    const infrastructure = world.infrastructure();
    // It may come at any moment, and each call takes its time: it is looked for before each write.
    const upstreamActs = (): boolean => upstreamRefusal(world.upstream()) !== undefined;
    if (upstreamActs()) return options.verdict.remove({ signal });
    if (infrastructure === undefined) return;
    const mc = world.machineConfiguration() ?? (await ifFound(client.get(MachineConfiguration, key, { signal })));
    if (upstreamActs()) return options.verdict.remove({ signal });
    if (mc === undefined) {
      const wanted: MachineConfiguration = {
        apiVersion: 'operator.openshift.io/v1',
        kind: 'MachineConfiguration',
        metadata: { name: machineConfigurationName },
        spec: { managementState: 'Managed' },
      };
      await client.apply(MachineConfiguration, wanted, { manager: 'machine-config-operator' }, { signal });
      return;
    }
    const clusterVersion = world.clusterVersion();
    const gates = {
      ...(await gatesNow(client, clusterVersion?.status?.desired?.version, { signal })),
      ...options.gates,
    };
    const platformStatus = infrastructure.status?.platformStatus;
    const reflectionOf = (current: MachineConfiguration): ReturnType<typeof reflect> =>
      reflect({
        spec: current.spec?.managedBootImages?.machineManagers,
        status: current.status?.managedBootImagesStatus?.machineManagers,
        platform: platformStatus?.type,
        azureCloud: platformStatus?.azure?.cloudName,
        cpmsGate: gates.cpms,
      });
    let current = mc;
    const whole = (await options.projector?.recall(mc)) ?? mc;
    if (upstreamActs()) return options.verdict.remove({ signal });
    if (platformSupported(platformStatus?.type, platformStatus?.azure?.cloudName) && reflectionOf(whole).optIn) {
      const patch = { metadata: { annotations: { [optedInAnnotation]: rfc3339(options.now()) } } };
      current = await client.mergePatch(MachineConfiguration, key, patch, { signal });
    }
    const provisioningUrl = await provisioningOf(client, infrastructure, { signal });
    const written = await writer.write(
      key,
      (live) => {
        if (upstreamActs()) return undefined;
        const { managers } = reflectionOf(live);
        const managed = managers === undefined ? live.status?.managedBootImagesStatus?.machineManagers : managers;
        const skew = skewStatus({
          ...{ spec: live.spec?.bootImageSkewEnforcement, status: live.status?.bootImageSkewEnforcementStatus },
          ...{ managers: managed, infrastructure, clusterVersion, provisioningUrl },
        });
        return {
          ...live.status,
          ...(live.metadata.generation === undefined ? {} : { observedGeneration: live.metadata.generation }),
          ...(managers === undefined
            ? {}
            : { managedBootImagesStatus: { ...live.status?.managedBootImagesStatus, machineManagers: managers } }),
          ...(gates.skew ? { bootImageSkewEnforcementStatus: skew } : {}),
        };
      },
      { current, signal },
    );
    if (upstreamActs()) return options.verdict.remove({ signal });
    if (options.stamp !== undefined)
      await stampGolden(client, world.golden(), { ...options.stamp, leave: upstreamActs }, { signal });
    await options.verdict.write(
      { mc: gates.skew ? written.object : withoutSkew(written.object), clusterVersion },
      { signal },
    );
  };
}

/** With the gate off, a record that was left behind stops no upgrade. */
function withoutSkew(mc: MachineConfiguration): MachineConfiguration {
  const { bootImageSkewEnforcementStatus: _, ...status } = mc.status ?? {};
  return { ...mc, status };
}

/** Where images of a bare-metal cluster come from, which only such a cluster says. */
async function provisioningOf(
  client: Pick<Client, 'get'>,
  infrastructure: Infrastructure,
  call: CallOptions,
): Promise<string | undefined> {
  if (infrastructure.status?.platformStatus?.type !== 'BareMetal') return undefined;
  try {
    const found = await client.get(Provisioning, { name: 'provisioning-configuration' }, call);
    return found.spec?.provisioningOSDownloadURL;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    if (isForbidden(error)) return unreadProvisioning;
    throw error;
  }
}
