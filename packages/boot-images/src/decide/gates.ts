import type { ClusterVersion, MachineConfiguration } from '@drydock/api';

/** How long a MachineConfiguration may lag behind its spec before that is reported. */
export const readyDeadlineMs = 120_000;
/** How often an unready MachineConfiguration is looked at again; upstream polls at this pace inside its only worker. */
export const readyRetryMs = 5_000;
/** How often after the deadline: upstream's pace once its fifteen quick retries are used up (§2.9). */
export const readySlowRetryMs = 60_000;

/** Whether status may be acted upon. `degrade` tells that the wait has lasted too long and must be reported. */
export type Readiness =
  | { readonly kind: 'ready' }
  | { readonly kind: 'waiting'; readonly message: string; readonly degrade: boolean; readonly after: number };

/**
 * The first gate (§1.5): MachineConfiguration exists and its status has caught up with its spec. Nothing blocks: an unready
 * object is looked at again after five seconds, and reported after two minutes. Times are milliseconds of one clock.
 */
export function readiness(
  mc: MachineConfiguration | undefined,
  waitingSince: number | undefined,
  now: number,
): Readiness {
  const problem =
    mc === undefined
      ? 'machineconfigurations.operator.openshift.io "cluster" not found'
      : mc.metadata.generation === mc.status?.observedGeneration
        ? undefined
        : 'MachineConfiguration.Status is not up to date';
  if (problem === undefined) return { kind: 'ready' };
  const degrade = now - (waitingSince ?? now) >= readyDeadlineMs;
  return {
    kind: 'waiting',
    message: `MachineConfiguration was not ready: ${problem}`,
    degrade,
    after: degrade ? readySlowRetryMs : readyRetryMs,
  };
}

/** The second gate: no upgrade is in flight, that is, the newest history entry is Completed. */
export function clusterStable(version: ClusterVersion): boolean {
  return version.status?.history?.[0]?.state === 'Completed';
}
