import { humanDuration } from './human-duration.ts';
import { conditionOf, type Fields, listAt, numberAt, textAt, valueAt } from './object-fields.ts';
import {
  age,
  type Cell,
  type Cells,
  type CellsByKind,
  count,
  labels,
  NONE,
  number,
  scalar,
  selector,
  text,
  UNSET,
} from './table-cells.ts';

const joined =
  (list: string, field: string): Cell =>
  (object) =>
    listAt(object, list)
      .map((one) => textAt(one, field))
      .join(',');

const podSpec = (path: string): Cells => ({
  Containers: joined(`${path}.containers`, 'name'),
  Images: joined(`${path}.containers`, 'image'),
});
const TEMPLATE: Cells = { ...podSpec('spec.template.spec'), Selector: selector('spec.selector') };
const REPLICAS: Cells = {
  Desired: number('spec.replicas'),
  Current: number('status.replicas'),
  Ready: number('status.readyReplicas'),
  ...TEMPLATE,
};

const readyReplicas: Cell = (object) =>
  `${numberAt(object, 'status.readyReplicas')}/${numberAt(object, 'spec.replicas')}`;

const jobStatus: Cell = (object) => {
  const has = (type: string): boolean => conditionOf(object, type) === 'True';
  const ended = ['Complete', 'Failed'].find(has);
  if (ended !== undefined) return ended;
  if (valueAt(object, 'metadata.deletionTimestamp') !== undefined) return 'Terminating';
  return ['Suspended', 'FailureTarget', 'SuccessCriteriaMet'].find(has) ?? 'Running';
};

const completions: Cell = (object) => {
  const done = numberAt(object, 'status.succeeded');
  const wanted = valueAt(object, 'spec.completions');
  if (wanted !== undefined) return `${done}/${Number(wanted)}`;
  const parallelism = numberAt(object, 'spec.parallelism');
  return parallelism > 1 ? `${done}/1 of ${parallelism}` : `${done}/1`;
};

const jobDuration: Cell = (object, now) => {
  const start = Date.parse(textAt(object, 'status.startTime'));
  const end = Date.parse(textAt(object, 'status.completionTime'));
  return Number.isNaN(start) ? '' : humanDuration((Number.isNaN(end) ? now : end) - start);
};

function controllerName(object: Fields): string {
  const owner = listAt(object, 'metadata.ownerReferences').find(({ controller }) => controller === true);
  if (owner === undefined) return NONE;
  const [group, version] = textAt(owner, 'apiVersion').split('/');
  const kind = textAt(owner, 'kind').toLowerCase();
  return `${kind}${version === undefined ? '' : `.${group}`}/${textAt(owner, 'name')}`;
}

export const WORKLOAD_CELLS: CellsByKind = {
  '/replicationcontrollers': { ...REPLICAS, Selector: labels('spec.selector') },
  'apps/replicasets': REPLICAS,
  'apps/statefulsets': { Ready: readyReplicas, ...podSpec('spec.template.spec') },
  'apps/deployments': {
    Ready: readyReplicas,
    'Up-to-date': number('status.updatedReplicas'),
    Available: number('status.availableReplicas'),
    ...TEMPLATE,
  },
  'apps/daemonsets': {
    Desired: number('status.desiredNumberScheduled'),
    Current: number('status.currentNumberScheduled'),
    Ready: number('status.numberReady'),
    'Up-to-date': number('status.updatedNumberScheduled'),
    Available: number('status.numberAvailable'),
    'Node Selector': labels('spec.template.spec.nodeSelector'),
    ...TEMPLATE,
  },
  'apps/controllerrevisions': { Controller: controllerName, Revision: number('revision') },
  'batch/jobs': { Status: jobStatus, Completions: completions, Duration: jobDuration, ...TEMPLATE },
  'batch/cronjobs': {
    Schedule: text('spec.schedule'),
    Timezone: text('spec.timeZone', NONE),
    Suspend: (object) => (valueAt(object, 'spec.suspend') === true ? 'True' : 'False'),
    Active: count('status.active'),
    'Last Schedule': age('status.lastScheduleTime', NONE),
    ...podSpec('spec.jobTemplate.spec.template.spec'),
    Selector: selector('spec.jobTemplate.spec.selector'),
  },
  'autoscaling/horizontalpodautoscalers': {
    Reference: (object) =>
      `${textAt(object, 'spec.scaleTargetRef.kind')}/${textAt(object, 'spec.scaleTargetRef.name')}`,
    Targets: () => NONE,
    MinPods: scalar('spec.minReplicas', UNSET),
    MaxPods: number('spec.maxReplicas'),
    Replicas: number('status.currentReplicas'),
  },
  'policy/poddisruptionbudgets': {
    'Min Available': scalar('spec.minAvailable', 'N/A'),
    'Max Unavailable': scalar('spec.maxUnavailable', 'N/A'),
    'Allowed Disruptions': number('status.disruptionsAllowed'),
  },
};
