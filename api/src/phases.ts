/** The closed list behind `BootImage.status.phase`, in the order in which an update passes through it. The schema keeps it a free string. */
export const bootImagePhases = [
  'Pending',
  'Downloading',
  'Uploading',
  'Publishing',
  'Switching',
  'Current',
  'Skipped',
  'Blocked',
  'Failed',
] as const;

/** One word of `bootImagePhases`. */
export type BootImagePhase = (typeof bootImagePhases)[number];

/** Short form of a machine set's kind, as columns and object names have it. */
export type MachineSetShortKind = 'ms' | 'cpms' | 'capi-ms' | 'capi-md' | 'capi-mp' | 'capi-kcp';

/** Name of the BootImage of a set: `ms-worker-a`. The short kind comes first, so two kinds never share a name. */
export function bootImageName(kind: MachineSetShortKind, set: string): string {
  return `${kind}-${set}`;
}
