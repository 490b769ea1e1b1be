import { ageOf } from './human-duration.ts';
import { conditionOf, entriesAt, type Fields, listAt, numberAt, textAt, valueAt } from './object-fields.ts';
import { type Cell, type Cells, type CellsByKind, condition, count, orNone, text } from './table-cells.ts';

const nodeStatus: Cell = (node) => {
  const ready = conditionOf(node, 'Ready');
  const status = ready === undefined ? 'Unknown' : ready === 'True' ? 'Ready' : 'NotReady';
  return valueAt(node, 'spec.unschedulable') === true ? `${status},SchedulingDisabled` : status;
};

const nodeRoles: Cell = (node) => {
  const roles = entriesAt(node, 'metadata.labels').map(([key, value]) =>
    key === 'kubernetes.io/role' ? value : (/^node-role\.kubernetes\.io\/(.+)$/.exec(key)?.[1] ?? ''),
  );
  return orNone([...new Set(roles.filter((role) => role !== ''))].sort().join(','));
};

const nodeAddress =
  (type: string): Cell =>
  (node) =>
    orNone(
      textAt(
        listAt(node, 'status.addresses').find((one) => textAt(one, 'type') === type),
        'address',
      ),
    );

const nodeInfo = (field: string): Cell => text(`status.nodeInfo.${field}`, '<unknown>');

/** The fields of an event that the two forms call by different names. */
interface EventForm {
  readonly object: string;
  readonly first: string;
  readonly last: string;
  readonly count: string;
  readonly source: string;
}

function eventCells(form: EventForm): Cells {
  const first = (event: Fields): unknown => valueAt(event, form.first) ?? valueAt(event, 'eventTime');
  return {
    'Last Seen': (event, now) =>
      ageOf(valueAt(event, 'series.lastObservedTime') ?? valueAt(event, form.last) ?? first(event), now),
    'First Seen': (event, now) => ageOf(first(event), now),
    Count: (event) =>
      valueAt(event, 'series.lastObservedTime') === undefined
        ? Math.max(numberAt(event, form.count), 1)
        : numberAt(event, 'series.count'),
    Type: text('type'),
    Reason: text('reason'),
    Object: (event) => {
      const [kind, name] = [textAt(event, `${form.object}.kind`), textAt(event, `${form.object}.name`)];
      return `${kind.toLowerCase()}${name === '' ? '' : `/${name}`}`;
    },
    Subobject: text(`${form.object}.fieldPath`),
    Source: (event) => {
      const component = ['reportingComponent', 'reportingController'].map((field) => textAt(event, field));
      const host = textAt(event, `${form.source}.host`) || textAt(event, 'reportingInstance');
      const source = [textAt(event, `${form.source}.component`), ...component].find((one) => one !== '') ?? '';
      return host === '' ? source : `${source}, ${host}`;
    },
    Message: (event) => (textAt(event, 'message') || textAt(event, 'note')).trim(),
  };
}

const size = (object: Fields, path: string): number => entriesAt(object, path).length;

const quotas =
  (isShown: (resource: string) => boolean): Cell =>
  (object) => {
    const used = new Map(entriesAt(object, 'status.used'));
    return entriesAt(object, 'status.hard')
      .filter(([resource]) => isShown(resource))
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([resource, hard]) => `${resource}: ${used.get(resource) ?? ''}/${hard}`)
      .join(', ');
  };

export const CORE_CELLS: CellsByKind = {
  '/nodes': {
    Status: nodeStatus,
    Roles: nodeRoles,
    Version: text('status.nodeInfo.kubeletVersion'),
    'Internal-IP': nodeAddress('InternalIP'),
    'External-IP': nodeAddress('ExternalIP'),
    'OS-Image': nodeInfo('osImage'),
    'Kernel-Version': nodeInfo('kernelVersion'),
    'Container-Runtime': nodeInfo('containerRuntimeVersion'),
  },
  '/events': eventCells({
    ...{ object: 'involvedObject', first: 'firstTimestamp', last: 'lastTimestamp', count: 'count', source: 'source' },
  }),
  'events.k8s.io/events': eventCells({
    object: 'regarding',
    first: 'deprecatedFirstTimestamp',
    last: 'deprecatedLastTimestamp',
    count: 'deprecatedCount',
    source: 'deprecatedSource',
  }),
  '/namespaces': { Status: text('status.phase') },
  '/configmaps': { Data: (object) => size(object, 'data') + size(object, 'binaryData') },
  '/secrets': { Type: text('type'), Data: (object) => size(object, 'data') },
  '/serviceaccounts': { Secrets: count('secrets') },
  '/resourcequotas': {
    Request: quotas((resource) => !resource.startsWith('limits')),
    Limit: quotas((resource) => resource.startsWith('limits')),
  },
  'coordination.k8s.io/leases': { Holder: text('spec.holderIdentity') },
  'node.k8s.io/runtimeclasses': { Handler: text('handler') },
  'apiregistration.k8s.io/apiservices': {
    Service: (object) =>
      valueAt(object, 'spec.service') === undefined
        ? 'Local'
        : `${textAt(object, 'spec.service.namespace')}/${textAt(object, 'spec.service.name')}`,
    Available: condition('Available', 'Unknown'),
  },
};
