import { type Fields, joined, listAt, numberAt, scalarAt, textAt, valueAt } from './table-fields.ts';

// Cells of built-in kinds that few people list.

type Cells = (object: Fields, now: number) => Readonly<Record<string, unknown>>;

const UNSET = '<unset>';
const NONE = '<none>';
const UNKNOWN = '<unknown>';

/** What an autoscaler aims at, and what it is now. */
function targets(object: Fields): string {
  const current = listAt(object, 'status', 'currentMetrics');
  const texts = listAt(object, 'spec', 'metrics').map((metric, at) => {
    const source = textAt(metric, 'type');
    const key = `${source.charAt(0).toLowerCase()}${source.slice(1)}`;
    const [wanted, now] = [valueAt(metric, key, 'target'), valueAt(current[at], key, 'current')];
    const name = textAt(metric, key, 'name');
    const average = valueAt(wanted, 'averageUtilization');
    if (key === 'resource' || key === 'containerResource') {
      const isNow = valueAt(now, 'averageUtilization');
      if (typeof average === 'number')
        return `${name}: ${isNow === undefined ? UNKNOWN : `${String(isNow)}%`}/${average}%`;
      return `${name}: ${scalarAt(now, UNKNOWN, 'averageValue')}/${scalarAt(wanted, '', 'averageValue')}`;
    }
    const value = valueAt(wanted, 'averageValue') === undefined ? 'value' : 'averageValue';
    const said = `${scalarAt(now, UNKNOWN, value)}/${scalarAt(wanted, '', value)}`;
    return value === 'averageValue' && key !== 'pods' ? `${said} (avg)` : said;
  });
  if (texts.length === 0) return NONE;
  return texts.length > 2 ? `${texts.slice(0, 2).join(', ')} + ${texts.length - 2} more...` : texts.join(', ');
}

const SECONDS = [
  [86_400, 'd'],
  [3600, 'h'],
  [60, 'm'],
] as const;

function requestedDuration(seconds: unknown): string {
  if (typeof seconds !== 'number') return NONE;
  const [size, unit] = SECONDS.find(([of]) => seconds >= 2 * of) ?? [1, 's'];
  return `${Math.floor(seconds / size)}${unit}`;
}

function requestState(object: Fields): string {
  const types = listAt(object, 'status', 'conditions').map((one) => textAt(one, 'type'));
  const decided = types.includes('Denied') ? 'Denied' : types.includes('Approved') ? 'Approved' : 'Pending';
  return [
    decided,
    ...(types.includes('Failed') ? ['Failed'] : []),
    ...(textAt(object, 'status', 'certificate') === '' ? [] : ['Issued']),
  ].join(',');
}

function claimState(object: Fields): string {
  const states = [
    ...(valueAt(object, 'metadata', 'deletionTimestamp') === undefined ? [] : ['deleted']),
    ...(valueAt(object, 'status', 'allocation') === undefined ? [] : ['allocated']),
    ...(listAt(object, 'status', 'reservedFor').length === 0 ? [] : ['reserved']),
  ];
  return states.length === 0 ? 'pending' : states.join(',');
}

function labelsOf(labels: unknown): string {
  const texts = Object.entries((labels ?? {}) as Readonly<Record<string, string>>).map(
    ([key, value]) => `${key}=${value}`,
  );
  return texts.length === 0 ? NONE : texts.toSorted().join(',');
}

/** By `group/plural`. */
export const MORE_PRINTERS: ReadonlyMap<string, Cells> = new Map<string, Cells>([
  [
    '/podtemplates',
    (object) => {
      const containers = listAt(object, 'template', 'spec', 'containers');
      return {
        Containers: joined(containers.map((one) => textAt(one, 'name'))),
        Images: joined(containers.map((one) => textAt(one, 'image'))),
        'Pod Labels': labelsOf(valueAt(object, 'template', 'metadata', 'labels')),
      };
    },
  ],
  [
    'autoscaling/horizontalpodautoscalers',
    (object) => ({
      Reference: `${textAt(object, 'spec', 'scaleTargetRef', 'kind')}/${textAt(object, 'spec', 'scaleTargetRef', 'name')}`,
      Targets: targets(object),
      MinPods: scalarAt(object, UNSET, 'spec', 'minReplicas'),
      MaxPods: numberAt(object, 'spec', 'maxReplicas'),
      Replicas: numberAt(object, 'status', 'currentReplicas'),
    }),
  ],
  [
    'certificates.k8s.io/certificatesigningrequests',
    (object) => ({
      SignerName: textAt(object, 'spec', 'signerName') || NONE,
      Requestor: textAt(object, 'spec', 'username'),
      RequestedDuration: requestedDuration(valueAt(object, 'spec', 'expirationSeconds')),
      Condition: requestState(object),
    }),
  ],
  [
    'storage.k8s.io/csidrivers',
    (object) => ({
      AttachRequired: valueAt(object, 'spec', 'attachRequired') !== false,
      PodInfoOnMount: valueAt(object, 'spec', 'podInfoOnMount') === true,
      StorageCapacity: valueAt(object, 'spec', 'storageCapacity') === true,
      TokenRequests:
        valueAt(object, 'spec', 'tokenRequests') === undefined
          ? UNSET
          : joined(listAt(object, 'spec', 'tokenRequests').map((one) => textAt(one, 'audience'))),
      RequiresRepublish: valueAt(object, 'spec', 'requiresRepublish') === true,
      Modes: joined((valueAt(object, 'spec', 'volumeLifecycleModes') ?? []) as readonly string[]) || NONE,
    }),
  ],
  ['storage.k8s.io/csinodes', (object) => ({ Drivers: listAt(object, 'spec', 'drivers').length })],
  [
    'storage.k8s.io/volumeattachments',
    (object) => ({
      Attacher: textAt(object, 'spec', 'attacher'),
      PV: textAt(object, 'spec', 'source', 'persistentVolumeName'),
      Node: textAt(object, 'spec', 'nodeName'),
      Attached: valueAt(object, 'status', 'attached') === true,
    }),
  ],
  ['storage.k8s.io/volumeattributesclasses', (object) => ({ DriverName: textAt(object, 'driverName') })],
  ['resource.k8s.io/resourceclaims', (object) => ({ State: claimState(object) })],
  [
    'resource.k8s.io/resourceslices',
    (object) => ({
      Node: textAt(object, 'spec', 'nodeName'),
      Driver: textAt(object, 'spec', 'driver'),
      Pool: textAt(object, 'spec', 'pool', 'name'),
    }),
  ],
]);
