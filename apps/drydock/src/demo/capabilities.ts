import { ClusterVersion, type CustomResourceDefinition } from '@drydock/api';
import type { CallOptions, Client } from '@drydock/kube';

/** What a status of ClusterVersion says in the demo, beyond what Drydock itself reads. */
export type VersionStatus = NonNullable<ClusterVersion['status']> & {
  readonly capabilities?: {
    readonly enabledCapabilities?: readonly string[];
    readonly knownCapabilities?: readonly string[];
  };
};

interface Node {
  readonly properties?: Readonly<Record<string, Node>>;
  readonly items?: Node;
  readonly enum?: readonly string[];
}

const STEP = 'registry.example/step@sha256:';

/** The capabilities that a definition of ClusterVersion takes in a status. */
export function capabilitiesIn({ spec }: Pick<CustomResourceDefinition, 'spec'>): readonly string[] {
  const root: Node = spec.versions[0]?.schema?.openAPIV3Schema ?? {};
  const capabilities = root.properties?.['status']?.properties?.['capabilities']?.properties;
  return capabilities?.['enabledCapabilities']?.items?.enum?.toSorted() ?? [];
}

/** What is enabled. */
export function enabledIn(status: VersionStatus): readonly string[] {
  return status.capabilities?.enabledCapabilities ?? [];
}

/** Puts the cluster where one is that has all capabilities of its release, and all but one of them enabled. */
export async function giveCapabilities(
  client: Client,
  known: readonly string[],
  spare: string,
  options: CallOptions,
): Promise<void> {
  const now = await client.get(ClusterVersion, { name: 'version' }, options);
  const capabilities = { enabledCapabilities: known.filter((name) => name !== spare), knownCapabilities: known };
  await client.replaceStatus(ClusterVersion, { ...now, status: { ...now.status, capabilities } } as ClusterVersion);
}

/** What a writer means next: a capability more, unless it is there, and one entry more in the history. */
export function nextStatus(status: VersionStatus, capability: string): VersionStatus {
  const { capabilities, history = [], desired } = status;
  const enabled = enabledIn(status);
  const step = history.filter(({ image }) => image?.startsWith(STEP)).length + 1;
  const entry = {
    state: 'Completed',
    version: desired?.version ?? '',
    image: `${STEP}${step}`,
    startedTime: '2026-11-01T10:00:00Z',
    completionTime: '2026-11-01T10:00:00Z',
    verified: true,
  };
  return {
    ...status,
    capabilities: {
      ...capabilities,
      enabledCapabilities: enabled.includes(capability) ? enabled : [...enabled, capability],
    },
    history: [entry, ...history],
  };
}

/** What should be in a status, and is not. */
export function missingAfter(status: VersionStatus, known: readonly string[], steps: number): readonly string[] {
  const { enabledCapabilities = [], knownCapabilities = [] } = status.capabilities ?? {};
  const taken = status.history?.filter(({ image }) => image?.startsWith(STEP)).length ?? 0;
  return [
    ...known.filter((name) => !enabledCapabilities.includes(name)).map((name) => `enabled ${name}`),
    ...known.filter((name) => !knownCapabilities.includes(name)).map((name) => `known ${name}`),
    ...(taken === steps ? [] : [`${steps - taken} of ${steps} steps of the history`]),
  ];
}
