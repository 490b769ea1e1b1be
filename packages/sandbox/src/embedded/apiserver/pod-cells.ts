import { humanDuration } from './human-duration.ts';
import { conditionOf, type Fields, listAt, numberAt, textAt, valueAt } from './table-fields.ts';

/** What a pod's row says of its containers. */
interface Progress {
  ready: number;
  restarts: number;
  /** Of the newest restart (ms since 1970); 0 where there was none. */
  restarted: number;
  reason: string;
}

/** The cells of a pod: its reason is that of the container that holds it up. */
export function podCells(pod: Fields, now: number): Readonly<Record<string, unknown>> {
  const phase = textAt(pod, 'status', 'phase');
  const gated = listAt(pod, 'status', 'conditions').some(
    (one) => textAt(one, 'type') === 'PodScheduled' && textAt(one, 'reason') === 'SchedulingGated',
  );
  const sidecars = listAt(pod, 'spec', 'initContainers').filter((one) => textAt(one, 'restartPolicy') === 'Always');
  const names = new Set(sidecars.map((one) => textAt(one, 'name')));
  const begun = gated ? 'SchedulingGated' : textAt(pod, 'status', 'reason') || phase;
  const { progress, sidecar, initializing } = initProgress(pod, begun, names);
  let found = progress;
  if (!initializing || conditionOf(pod, 'Initialized') === 'True')
    found = mainProgress(pod, { ...sidecar, reason: begun });
  const { ready, restarts, restarted } = found;
  const total = listAt(pod, 'spec', 'containers').length + sidecars.length;
  const ago = restarts > 0 && restarted > 0 ? ` (${humanDuration(now - restarted)} ago)` : '';
  const [address] = listAt(pod, 'status', 'podIPs');
  return {
    Ready: `${ready}/${total}`,
    Status: deleted(pod, phase) ?? found.reason,
    Restarts: `${restarts}${ago}`,
    IP: textAt(address ?? {}, 'ip') || '<none>',
    Node: textAt(pod, 'spec', 'nodeName') || '<none>',
    'Nominated Node': textAt(pod, 'status', 'nominatedNodeName') || '<none>',
    'Readiness Gates': gates(pod),
  };
}

function deleted(pod: Fields, phase: string): string | undefined {
  if (valueAt(pod, 'metadata', 'deletionTimestamp') === undefined) return undefined;
  if (textAt(pod, 'status', 'reason') === 'NodeLost') return 'Unknown';
  return phase === 'Succeeded' || phase === 'Failed' ? undefined : 'Terminating';
}

function gates(pod: Fields): string {
  const all = listAt(pod, 'spec', 'readinessGates');
  if (all.length === 0) return '<none>';
  const open = all.filter((gate) => conditionOf(pod, textAt(gate, 'conditionType')) === 'True');
  return `${open.length}/${all.length}`;
}

const ended = (status: Fields, which = 'state'): unknown => valueAt(status, which, 'terminated');

function count(progress: Progress, status: Fields): void {
  progress.restarts += numberAt(status, 'restartCount');
  const at = Date.parse(textAt(ended(status, 'lastState') ?? {}, 'finishedAt'));
  if (!Number.isNaN(at)) progress.restarted = Math.max(progress.restarted, at);
}

/** Of the containers that come first, and of those among them that stay. */
function initProgress(
  pod: Fields,
  reason: string,
  sidecars: ReadonlySet<string>,
): { readonly progress: Progress; readonly sidecar: Progress; readonly initializing: boolean } {
  const progress: Progress = { ready: 0, restarts: 0, restarted: 0, reason };
  const sidecar: Progress = { ...progress };
  const all = listAt(pod, 'spec', 'initContainers').length;
  for (const [at, status] of listAt(pod, 'status', 'initContainerStatuses').entries()) {
    const stays = sidecars.has(textAt(status, 'name'));
    count(progress, status);
    if (stays) count(sidecar, status);
    const end = ended(status);
    const waiting = textAt(status, 'state', 'waiting', 'reason');
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
  for (const status of listAt(pod, 'status', 'containerStatuses').toReversed()) {
    count(progress, status);
    const end = ended(status);
    const waiting = textAt(status, 'state', 'waiting', 'reason');
    if (waiting !== '') progress.reason = waiting;
    else if (end !== undefined) progress.reason = endReason(end);
    else if (valueAt(status, 'ready') === true && valueAt(status, 'state', 'running') !== undefined) {
      running = true;
      progress.ready += 1;
    }
  }
  if (progress.reason === 'Completed' && running)
    progress.reason = conditionOf(pod, 'Ready') === 'True' ? 'Running' : 'NotReady';
  return progress;
}
