import { humanDuration } from './human-duration.ts';
import { conditionOf, type Fields, listAt, numberAt, textAt, valueAt } from './object-fields.ts';
import { type Cells, NONE, orNone, text } from './table-cells.ts';

/** What a pod's containers add up to. */
interface Progress {
  ready: number;
  restarts: number;
  /** The time of the last restart (ms since 1970); 0 if there was none. */
  restarted: number;
  reason: string;
}

/** The reason is that of the container that keeps the pod from running. */
function progressOf(pod: Fields): Progress {
  const gated = listAt(pod, 'status.conditions').some(
    (one) => textAt(one, 'type') === 'PodScheduled' && textAt(one, 'reason') === 'SchedulingGated',
  );
  const reason = gated ? 'SchedulingGated' : textAt(pod, 'status.reason') || textAt(pod, 'status.phase');
  const sidecars = new Set(sidecarsOf(pod).map((one) => textAt(one, 'name')));
  const { progress, sidecar, initializing } = initProgress(pod, reason, sidecars);
  const isInitialized = !initializing || conditionOf(pod, 'Initialized') === 'True';
  return isInitialized ? mainProgress(pod, { ...sidecar, reason }) : progress;
}

/** Init containers that keep running. */
function sidecarsOf(pod: Fields): readonly Fields[] {
  return listAt(pod, 'spec.initContainers').filter((one) => textAt(one, 'restartPolicy') === 'Always');
}

export const POD_CELLS: Cells = {
  Ready: (pod) => `${progressOf(pod).ready}/${listAt(pod, 'spec.containers').length + sidecarsOf(pod).length}`,
  Status: (pod) => deletedStatus(pod) ?? progressOf(pod).reason,
  Restarts: (pod, now) => {
    const { restarts, restarted } = progressOf(pod);
    return restarts > 0 && restarted > 0 ? `${restarts} (${humanDuration(now - restarted)} ago)` : `${restarts}`;
  },
  IP: (pod) => orNone(textAt(listAt(pod, 'status.podIPs')[0], 'ip')),
  Node: text('spec.nodeName', NONE),
  'Nominated Node': text('status.nominatedNodeName', NONE),
  'Readiness Gates': (pod) => {
    const gates = listAt(pod, 'spec.readinessGates');
    if (gates.length === 0) return NONE;
    const open = gates.filter((gate) => conditionOf(pod, textAt(gate, 'conditionType')) === 'True');
    return `${open.length}/${gates.length}`;
  },
};

function deletedStatus(pod: Fields): string | undefined {
  if (valueAt(pod, 'metadata.deletionTimestamp') === undefined) return undefined;
  if (textAt(pod, 'status.reason') === 'NodeLost') return 'Unknown';
  return ['Succeeded', 'Failed'].includes(textAt(pod, 'status.phase')) ? undefined : 'Terminating';
}

const ended = (status: Fields, which = 'state'): unknown => valueAt(status, `${which}.terminated`);

function count(progress: Progress, status: Fields): void {
  progress.restarts += numberAt(status, 'restartCount');
  const at = Date.parse(textAt(ended(status, 'lastState'), 'finishedAt'));
  if (!Number.isNaN(at)) progress.restarted = Math.max(progress.restarted, at);
}

/** The progress of all init containers, and of the sidecars among them. */
function initProgress(
  pod: Fields,
  reason: string,
  sidecars: ReadonlySet<string>,
): { readonly progress: Progress; readonly sidecar: Progress; readonly initializing: boolean } {
  const progress: Progress = { ready: 0, restarts: 0, restarted: 0, reason };
  const sidecar: Progress = { ...progress };
  const all = listAt(pod, 'spec.initContainers').length;
  for (const [at, status] of listAt(pod, 'status.initContainerStatuses').entries()) {
    const stays = sidecars.has(textAt(status, 'name'));
    count(progress, status);
    if (stays) count(sidecar, status);
    const end = ended(status);
    const waiting = textAt(status, 'state.waiting.reason');
    if (end !== undefined && numberAt(end, 'exitCode') === 0) continue;
    if (stays && valueAt(status, 'started') === true) {
      if (valueAt(status, 'ready') === true) {
        progress.ready += 1;
        sidecar.ready += 1;
      }
      continue;
    }
    if (end !== undefined) progress.reason = `Init:${endReason(end)}`;
    else if (waiting !== '' && waiting !== 'PodInitializing') progress.reason = `Init:${waiting}`;
    else progress.reason = `Init:${at}/${all}`;
    return { progress, sidecar, initializing: true };
  }
  return { progress, sidecar, initializing: false };
}

function endReason(end: unknown): string {
  const reason = textAt(end, 'reason');
  if (reason !== '') return reason;
  const signal = numberAt(end, 'signal');
  return signal === 0 ? `ExitCode:${numberAt(end, 'exitCode')}` : `Signal:${signal}`;
}

function mainProgress(pod: Fields, progress: Progress): Progress {
  let running = false;
  for (const status of listAt(pod, 'status.containerStatuses').toReversed()) {
    count(progress, status);
    const end = ended(status);
    const waiting = textAt(status, 'state.waiting.reason');
    if (waiting !== '') progress.reason = waiting;
    else if (end !== undefined) progress.reason = endReason(end);
    else if (valueAt(status, 'ready') === true && valueAt(status, 'state.running') !== undefined) {
      running = true;
      progress.ready += 1;
    }
  }
  if (progress.reason === 'Completed' && running)
    progress.reason = conditionOf(pod, 'Ready') === 'True' ? 'Running' : 'NotReady';
  return progress;
}
