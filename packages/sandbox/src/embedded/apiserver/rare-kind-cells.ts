import { listAt, scalarAt, textAt, textsAt, valueAt } from './object-fields.ts';
import {
  type Cell,
  type CellsByKind,
  count,
  flag,
  labels,
  NONE,
  number,
  orNone,
  scalar,
  text,
  UNSET,
} from './table-cells.ts';

const UNKNOWN = '<unknown>';

/** What an autoscaler aims at, and the current value. */
const targets: Cell = (object) => {
  const current = listAt(object, 'status.currentMetrics');
  const texts = listAt(object, 'spec.metrics').map((metric, at) => {
    const source = textAt(metric, 'type');
    const key = `${source.charAt(0).toLowerCase()}${source.slice(1)}`;
    const [wanted, now] = [valueAt(metric, `${key}.target`), valueAt(current[at], `${key}.current`)];
    const average = valueAt(wanted, 'averageUtilization');
    if (key === 'resource' || key === 'containerResource') {
      const name = textAt(metric, `${key}.name`);
      if (typeof average !== 'number') return `${name}: ${ratio(now, wanted, 'averageValue')}`;
      const used = scalarAt(now, 'averageUtilization');
      return `${name}: ${used === undefined ? UNKNOWN : `${used}%`}/${average}%`;
    }
    if (valueAt(wanted, 'averageValue') === undefined) return ratio(now, wanted, 'value');
    return `${ratio(now, wanted, 'averageValue')}${key === 'pods' ? '' : ' (avg)'}`;
  });
  const more = texts.length > 2 ? ` + ${texts.length - 2} more...` : '';
  return orNone(texts.slice(0, 2).join(', ') + more);
};

function ratio(now: unknown, wanted: unknown, field: string): string {
  return `${scalarAt(now, field) ?? UNKNOWN}/${scalarAt(wanted, field) ?? ''}`;
}

const UNITS = [
  [86_400, 'd'],
  [3600, 'h'],
  [60, 'm'],
] as const;

const requestedDuration: Cell = (object) => {
  const seconds = valueAt(object, 'spec.expirationSeconds');
  if (typeof seconds !== 'number') return NONE;
  const [size, unit] = UNITS.find(([least]) => seconds >= 2 * least) ?? [1, 's'];
  return `${Math.floor(seconds / size)}${unit}`;
};

const requestState: Cell = (object) => {
  const types = listAt(object, 'status.conditions').map((one) => textAt(one, 'type'));
  const decision = ['Denied', 'Approved'].find((type) => types.includes(type)) ?? 'Pending';
  const isIssued = textAt(object, 'status.certificate') !== '';
  return [decision, ...(types.includes('Failed') ? ['Failed'] : []), ...(isIssued ? ['Issued'] : [])].join(',');
};

const claimState: Cell = (object) => {
  const states = [
    ...(valueAt(object, 'metadata.deletionTimestamp') === undefined ? [] : ['deleted']),
    ...(valueAt(object, 'status.allocation') === undefined ? [] : ['allocated']),
    ...(listAt(object, 'status.reservedFor').length === 0 ? [] : ['reserved']),
  ];
  return states.join(',') || 'pending';
};

/** A field of the items of a list. */
const each =
  (path: string, field: string): Cell =>
  (object) =>
    listAt(object, path)
      .map((one) => textAt(one, field))
      .join(',');

export const RARE_KIND_CELLS: CellsByKind = {
  '/podtemplates': {
    Containers: each('template.spec.containers', 'name'),
    Images: each('template.spec.containers', 'image'),
    'Pod Labels': labels('template.metadata.labels'),
  },
  'autoscaling/horizontalpodautoscalers': {
    Reference: (object) =>
      `${textAt(object, 'spec.scaleTargetRef.kind')}/${textAt(object, 'spec.scaleTargetRef.name')}`,
    Targets: targets,
    MinPods: scalar('spec.minReplicas', UNSET),
    MaxPods: number('spec.maxReplicas'),
    Replicas: number('status.currentReplicas'),
  },
  'certificates.k8s.io/certificatesigningrequests': {
    SignerName: text('spec.signerName', NONE),
    Requestor: text('spec.username'),
    RequestedDuration: requestedDuration,
    Condition: requestState,
  },
  'storage.k8s.io/csidrivers': {
    AttachRequired: (object) => valueAt(object, 'spec.attachRequired') !== false,
    PodInfoOnMount: flag('spec.podInfoOnMount'),
    StorageCapacity: flag('spec.storageCapacity'),
    TokenRequests: (object, now) =>
      valueAt(object, 'spec.tokenRequests') === undefined ? UNSET : each('spec.tokenRequests', 'audience')(object, now),
    RequiresRepublish: flag('spec.requiresRepublish'),
    Modes: (object) => orNone(textsAt(object, 'spec.volumeLifecycleModes').join(',')),
  },
  'storage.k8s.io/csinodes': { Drivers: count('spec.drivers') },
  'storage.k8s.io/volumeattachments': {
    Attacher: text('spec.attacher'),
    PV: text('spec.source.persistentVolumeName'),
    Node: text('spec.nodeName'),
    Attached: flag('status.attached'),
  },
  'storage.k8s.io/volumeattributesclasses': { DriverName: text('driverName') },
  'resource.k8s.io/resourceclaims': { State: claimState },
  'resource.k8s.io/resourceslices': {
    Node: text('spec.nodeName'),
    Driver: text('spec.driver'),
    Pool: text('spec.pool.name'),
  },
};
