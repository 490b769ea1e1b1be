import type { MachineManager } from '@drydock/api';
import { machineApiGroup } from './selection.ts';

/** The annotation that records when a platform's default opted the cluster in. */
export const optedInAnnotation = 'machineconfiguration.openshift.io/boot-image-updates-opted-in-at';

/** What the operator half reads. Absent and empty lists differ: an empty list is the old way to opt out of everything. */
export interface ReflectInput {
  readonly spec: readonly MachineManager[] | undefined;
  readonly status: readonly MachineManager[] | undefined;
  /** `Infrastructure.status.platformStatus.type`. */
  readonly platform: string | undefined;
  readonly azureCloud?: string | undefined;
  /** Feature gate ManagedBootImagesCPMS. */
  readonly cpmsGate: boolean;
}

/** What status must say; `managers` undefined leaves the list as it is. `optIn` asks for the annotation first. */
export interface Reflection {
  readonly managers: readonly MachineManager[] | undefined;
  readonly optIn: boolean;
}

const machineSetPlatforms: ReadonlySet<string> = new Set(['GCP', 'AWS', 'Azure', 'VSphere']);
const cpmsPlatforms: ReadonlySet<string> = new Set(['GCP', 'AWS', 'Azure']);

/** The cloud of Azure in which nothing is managed (§3.1). */
export const stackHub = 'AzureStackCloud';

/** True where boot images of MachineSets are managed; on all of these the default is All (§3.1). */
export function platformSupported(platform: string | undefined, azureCloud?: string): boolean {
  return machineSetPlatforms.has(platform ?? '') && azureCloud !== stackHub;
}

/** True where the control plane's boot images can be managed; nowhere by default. */
export function controlPlanesSupported(platform: string | undefined): boolean {
  return cpmsPlatforms.has(platform ?? '');
}

/** The operator half as a function: spec and the platform's default give the effective managers (boot-images.md §7.2). */
export function reflect(input: ReflectInput): Reflection {
  const { spec, status, platform } = input;
  if (!platformSupported(platform, input.azureCloud)) return { managers: undefined, optIn: false };
  if (spec !== undefined && spec.length === 0) return { managers: [], optIn: false };

  const asked = find(spec, 'machinesets');
  const before = find(status, 'machinesets');
  const optIn = asked === undefined && (status === undefined || before?.selection.mode === 'None');
  let managers = merged(status ?? [], asked ?? manager('machinesets', 'All'));
  if (input.cpmsGate && controlPlanesSupported(platform)) {
    managers = merged(managers, find(spec, 'controlplanemachinesets') ?? manager('controlplanemachinesets', 'None'));
  }
  return { managers, optIn };
}

function find(list: readonly MachineManager[] | undefined, resource: string): MachineManager | undefined {
  return list?.find((m) => m.apiGroup === machineApiGroup && m.resource === resource);
}

function manager(resource: string, mode: 'All' | 'None'): MachineManager {
  return { resource, apiGroup: machineApiGroup, selection: { mode } };
}

function merged(list: readonly MachineManager[], entry: MachineManager): readonly MachineManager[] {
  const at = list.findIndex((m) => m.apiGroup === entry.apiGroup && m.resource === entry.resource);
  return at < 0 ? [...list, entry] : list.with(at, entry);
}
