import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ageOf, humanDuration } from './human-duration.ts';
import { MORE_PRINTERS } from './more-table-printers.ts';
import type { ServedResource } from './objects.ts';
import { podCells } from './pod-cells.ts';
import {
  conditionOf,
  type Fields,
  joined,
  listAt,
  numberAt,
  scalarAt,
  selectorText,
  textAt,
  valueAt,
} from './table-fields.ts';
import type { TableColumn, TablePrinter } from './table-printer.ts';

/** Cells of one object by the name of their column; `Name`, `Age` and `Created At` are the same for all kinds. */
type Cells = (object: Fields, now: number) => Readonly<Record<string, unknown>>;

const NONE = '<none>';
const UNSET = '<unset>';
const UNKNOWN = '<unknown>';

const orNone = (text: string): string => (text === '' ? NONE : text);

function containers(object: Fields, ...path: readonly string[]): Readonly<Record<string, unknown>> {
  const all = listAt(object, ...path, 'containers');
  return {
    Containers: joined(all.map((one) => textAt(one, 'name'))),
    Images: joined(all.map((one) => textAt(one, 'image'))),
  };
}

const template = (object: Fields): Readonly<Record<string, unknown>> => containers(object, 'spec', 'template', 'spec');

const replicaCells: Cells = (object) => ({
  Desired: numberAt(object, 'spec', 'replicas'),
  Current: numberAt(object, 'status', 'replicas'),
  Ready: numberAt(object, 'status', 'readyReplicas'),
  ...template(object),
  Selector: selectorText(valueAt(object, 'spec', 'selector')),
});

const readyOf = (object: Fields): string =>
  `${numberAt(object, 'status', 'readyReplicas')}/${numberAt(object, 'spec', 'replicas')}`;

function subjects(object: Fields, kind: string): string {
  const named = listAt(object, 'subjects').filter((one) => textAt(one, 'kind') === kind);
  const names = named.map((one) => {
    const namespace = textAt(one, 'namespace');
    return kind === 'ServiceAccount' ? `${namespace}/${textAt(one, 'name')}` : textAt(one, 'name');
  });
  return names.join(', ');
}

const bindingCells: Cells = (object) => ({
  Role: `${textAt(object, 'roleRef', 'kind')}/${textAt(object, 'roleRef', 'name')}`,
  Users: subjects(object, 'User'),
  Groups: subjects(object, 'Group'),
  ServiceAccounts: subjects(object, 'ServiceAccount'),
});

const webhookCells: Cells = (object) => ({ Webhooks: listAt(object, 'webhooks').length });

const policyBindingCells: Cells = (object) => {
  const [name, namespace] = [
    textAt(object, 'spec', 'paramRef', 'name'),
    textAt(object, 'spec', 'paramRef', 'namespace'),
  ];
  return {
    PolicyName: textAt(object, 'spec', 'policyName'),
    ParamRef: name === '' ? UNSET : `${namespace === '' ? '*' : namespace}/${name}`,
  };
};

const size = (value: unknown): number => (typeof value === 'object' && value !== null ? Object.keys(value).length : 0);

const eventCells: Cells = (object, now) => {
  const age = (value: unknown): string => ageOf(value, now);
  const core = 'involvedObject' in object;
  const target = core ? 'involvedObject' : 'regarding';
  const kind = textAt(object, target, 'kind').toLowerCase();
  const name = textAt(object, target, 'name');
  const first = valueAt(object, core ? 'firstTimestamp' : 'deprecatedFirstTimestamp') ?? valueAt(object, 'eventTime');
  const last = valueAt(object, core ? 'lastTimestamp' : 'deprecatedLastTimestamp') ?? first;
  const series = valueAt(object, 'series', 'lastObservedTime');
  const count = numberAt(object, core ? 'count' : 'deprecatedCount');
  const source = core ? 'source' : 'deprecatedSource';
  const component =
    textAt(object, source, 'component') ||
    textAt(object, 'reportingComponent') ||
    textAt(object, 'reportingController');
  const host = textAt(object, source, 'host') || textAt(object, 'reportingInstance');
  return {
    'Last Seen': age(series ?? last),
    Type: textAt(object, 'type'),
    Reason: textAt(object, 'reason'),
    Object: name === '' ? kind : `${kind}/${name}`,
    Subobject: textAt(object, target, 'fieldPath'),
    Source: host === '' ? component : `${component}, ${host}`,
    Message: (textAt(object, 'message') || textAt(object, 'note')).trim(),
    'First Seen': age(first),
    Count: series === undefined ? Math.max(count, 1) : numberAt(object, 'series', 'count'),
  };
};

const nodeCells: Cells = (object) => {
  const ready = conditionOf(object, 'Ready');
  const status = ready === undefined ? 'Unknown' : ready === 'True' ? 'Ready' : 'NotReady';
  const labels = Object.entries((valueAt(object, 'metadata', 'labels') ?? {}) as Readonly<Record<string, string>>);
  const roles = labels.flatMap(([key, value]) => {
    const [, role] = /^node-role\.kubernetes\.io\/(.+)$/.exec(key) ?? [];
    if (role !== undefined) return [role];
    return key === 'kubernetes.io/role' && value !== '' ? [value] : [];
  });
  const address = (type: string): string =>
    textAt(listAt(object, 'status', 'addresses').find((one) => textAt(one, 'type') === type) ?? {}, 'address');
  const info = (field: string): string => textAt(object, 'status', 'nodeInfo', field);
  return {
    Status: valueAt(object, 'spec', 'unschedulable') === true ? `${status},SchedulingDisabled` : status,
    Roles: orNone([...new Set(roles)].sort().join(',')),
    Version: info('kubeletVersion'),
    'Internal-IP': orNone(address('InternalIP')),
    'External-IP': orNone(address('ExternalIP')),
    'OS-Image': info('osImage') || UNKNOWN,
    'Kernel-Version': info('kernelVersion') || UNKNOWN,
    'Container-Runtime': info('containerRuntimeVersion') || UNKNOWN,
  };
};

const serviceCells: Cells = (object) => {
  const type = textAt(object, 'spec', 'type');
  const external = (listAt(object, 'spec', 'externalIPs') as readonly unknown[]).map(String);
  const balancer = listAt(object, 'status', 'loadBalancer', 'ingress').map(
    (one) => textAt(one, 'ip') || textAt(one, 'hostname'),
  );
  const all = type === 'LoadBalancer' ? [...balancer, ...external] : external;
  const none = type === 'LoadBalancer' ? '<pending>' : NONE;
  const ports = listAt(object, 'spec', 'ports').map((port) => {
    const node = numberAt(port, 'nodePort');
    return `${numberAt(port, 'port')}${node === 0 ? '' : `:${node}`}/${textAt(port, 'protocol')}`;
  });
  const [address] = (valueAt(object, 'spec', 'clusterIPs') ?? []) as readonly string[];
  const selector = Object.entries((valueAt(object, 'spec', 'selector') ?? {}) as Readonly<Record<string, string>>);
  return {
    Type: type,
    'Cluster-IP': address ?? NONE,
    'External-IP':
      type === 'ExternalName' ? textAt(object, 'spec', 'externalName') : all.length === 0 ? none : all.join(','),
    'Port(s)': orNone(ports.join(',')),
    Selector: orNone(
      selector
        .map(([key, value]) => `${key}=${value}`)
        .sort()
        .join(','),
    ),
  };
};

const jobCells: Cells = (object, now) => {
  const has = (type: string): boolean => conditionOf(object, type) === 'True';
  const order = ['Suspended', 'FailureTarget', 'SuccessCriteriaMet'].find(has);
  const going = valueAt(object, 'metadata', 'deletionTimestamp') === undefined ? (order ?? 'Running') : 'Terminating';
  const done = numberAt(object, 'status', 'succeeded');
  const wanted = valueAt(object, 'spec', 'completions');
  const parallel = numberAt(object, 'spec', 'parallelism');
  const open = parallel > 1 ? `${done}/1 of ${parallel}` : `${done}/1`;
  const start = Date.parse(textAt(object, 'status', 'startTime'));
  const end = Date.parse(textAt(object, 'status', 'completionTime'));
  return {
    Status: has('Complete') ? 'Complete' : has('Failed') ? 'Failed' : going,
    Completions: wanted === undefined ? open : `${done}/${Number(wanted)}`,
    Duration: Number.isNaN(start) ? '' : humanDuration((Number.isNaN(end) ? now : end) - start),
    ...template(object),
    Selector: selectorText(valueAt(object, 'spec', 'selector')),
  };
};

const ACCESS_MODES: Readonly<Record<string, string>> = {
  ReadWriteOnce: 'RWO',
  ReadOnlyMany: 'ROX',
  ReadWriteMany: 'RWX',
  ReadWriteOncePod: 'RWOP',
};

const accessModes = (object: Fields, half: string): string =>
  joined(((valueAt(object, half, 'accessModes') ?? []) as readonly string[]).map((mode) => ACCESS_MODES[mode] ?? mode));

const claimCells: Cells = (object) => {
  const volume = textAt(object, 'spec', 'volumeName');
  const deleted = valueAt(object, 'metadata', 'deletionTimestamp') !== undefined;
  return {
    Status: deleted ? 'Terminating' : textAt(object, 'status', 'phase'),
    Volume: volume,
    Capacity: volume === '' ? '' : textAt(object, 'status', 'capacity', 'storage'),
    'Access Modes': volume === '' ? '' : accessModes(object, 'status'),
    StorageClass: textAt(object, 'spec', 'storageClassName'),
    VolumeAttributesClass: textAt(object, 'spec', 'volumeAttributesClassName') || UNSET,
    VolumeMode: textAt(object, 'spec', 'volumeMode') || UNSET,
  };
};

const volumeCells: Cells = (object) => {
  const [namespace, name] = [
    textAt(object, 'spec', 'claimRef', 'namespace'),
    textAt(object, 'spec', 'claimRef', 'name'),
  ];
  const deleted = valueAt(object, 'metadata', 'deletionTimestamp') !== undefined;
  return {
    Capacity: textAt(object, 'spec', 'capacity', 'storage'),
    'Access Modes': accessModes(object, 'spec'),
    'Reclaim Policy': textAt(object, 'spec', 'persistentVolumeReclaimPolicy'),
    Status: deleted ? 'Terminating' : textAt(object, 'status', 'phase'),
    Claim: name === '' ? '' : `${namespace}/${name}`,
    StorageClass: textAt(object, 'spec', 'storageClassName'),
    VolumeAttributesClass: textAt(object, 'spec', 'volumeAttributesClassName') || UNSET,
    Reason: textAt(object, 'status', 'reason'),
    VolumeMode: textAt(object, 'spec', 'volumeMode') || UNSET,
  };
};

/** Three entries, then how many more there are. */
function some(entries: readonly string[]): string {
  if (entries.length <= 3) return orNone(entries.join(','));
  return `${entries.slice(0, 3).join(',')} + ${entries.length - 3} more...`;
}

const endpointCells: Cells = (object) => ({
  Endpoints: some(
    listAt(object, 'subsets').flatMap((subset) => {
      const addresses = listAt(subset, 'addresses').map((one) => textAt(one, 'ip'));
      const ports = listAt(subset, 'ports');
      if (ports.length === 0) return addresses;
      return ports.flatMap((port) => addresses.map((address) => `${address}:${numberAt(port, 'port')}`));
    }),
  ),
});

const sliceCells: Cells = (object) => {
  const ports = listAt(object, 'ports');
  const addresses = listAt(object, 'endpoints').flatMap(
    (one) => (valueAt(one, 'addresses') ?? []) as readonly string[],
  );
  return {
    AddressType: textAt(object, 'addressType'),
    Ports: ports.length === 0 ? UNSET : some(ports.map((port) => scalarAt(port, '*', 'port'))),
    Endpoints: addresses.length === 0 ? UNSET : some(addresses),
  };
};

const priorityLevelCells: Cells = (object) => {
  const limited = (...path: readonly string[]): unknown => valueAt(object, 'spec', 'limited', ...path) ?? NONE;
  return {
    Type: textAt(object, 'spec', 'type'),
    NominalConcurrencyShares: limited('nominalConcurrencyShares'),
    Queues: limited('limitResponse', 'queuing', 'queues'),
    HandSize: limited('limitResponse', 'queuing', 'handSize'),
    QueueLengthLimit: limited('limitResponse', 'queuing', 'queueLengthLimit'),
  };
};

const daemonSetCells: Cells = (object) => {
  const nodes = Object.entries(
    (valueAt(object, 'spec', 'template', 'spec', 'nodeSelector') ?? {}) as Readonly<Record<string, string>>,
  );
  return {
    Desired: numberAt(object, 'status', 'desiredNumberScheduled'),
    Current: numberAt(object, 'status', 'currentNumberScheduled'),
    Ready: numberAt(object, 'status', 'numberReady'),
    'Up-to-date': numberAt(object, 'status', 'updatedNumberScheduled'),
    Available: numberAt(object, 'status', 'numberAvailable'),
    'Node Selector': orNone(
      nodes
        .map(([key, value]) => `${key}=${value}`)
        .sort()
        .join(','),
    ),
    ...template(object),
    Selector: selectorText(valueAt(object, 'spec', 'selector')),
  };
};

const apiServiceCells: Cells = (object) => {
  const service = valueAt(object, 'spec', 'service');
  const names = [textAt(object, 'spec', 'service', 'namespace'), textAt(object, 'spec', 'service', 'name')];
  return {
    Service: service === undefined || service === null ? 'Local' : names.join('/'),
    Available: conditionOf(object, 'Available') ?? 'Unknown',
  };
};

const ingressCells: Cells = (object) => {
  const hosts = listAt(object, 'spec', 'rules')
    .map((rule) => textAt(rule, 'host'))
    .filter((host) => host !== '');
  const addresses = listAt(object, 'status', 'loadBalancer', 'ingress').map(
    (one) => textAt(one, 'ip') || textAt(one, 'hostname'),
  );
  return {
    Class: textAt(object, 'spec', 'ingressClassName') || NONE,
    Hosts: hosts.length === 0 ? '*' : some(hosts),
    Address: addresses.join(','),
    Ports: listAt(object, 'spec', 'tls').length === 0 ? '80' : '80, 443',
  };
};

const PRINTERS: ReadonlyMap<string, Cells> = new Map<string, Cells>([
  ['/pods', podCells],
  ['/nodes', nodeCells],
  ['/services', serviceCells],
  ['/events', eventCells],
  ['events.k8s.io/events', eventCells],
  ['/namespaces', (object) => ({ Status: textAt(object, 'status', 'phase') })],
  ['/configmaps', (object) => ({ Data: size(object['data']) + size(object['binaryData']) })],
  ['/secrets', (object) => ({ Type: textAt(object, 'type'), Data: size(object['data']) })],
  ['/serviceaccounts', (object) => ({ Secrets: listAt(object, 'secrets').length })],
  ['/persistentvolumeclaims', claimCells],
  ['/persistentvolumes', volumeCells],
  ['/endpoints', endpointCells],
  [
    '/replicationcontrollers',
    (object, now) => ({ ...replicaCells(object, now), Selector: labelsText(valueAt(object, 'spec', 'selector')) }),
  ],
  [
    '/resourcequotas',
    (object) => {
      const hard = Object.entries((valueAt(object, 'status', 'hard') ?? {}) as Readonly<Record<string, string>>).sort(
        ([a], [b]) => (a < b ? -1 : 1),
      );
      const used = (name: string): string => textAt(object, 'status', 'used', name);
      const limits = (name: string): boolean => name.startsWith('limits');
      const text = (of: typeof hard): string => of.map(([name, value]) => `${name}: ${used(name)}/${value}`).join(', ');
      return {
        Request: text(hard.filter(([name]) => !limits(name))),
        Limit: text(hard.filter(([name]) => limits(name))),
      };
    },
  ],
  ['discovery.k8s.io/endpointslices', sliceCells],
  ['apps/replicasets', replicaCells],
  ['apps/daemonsets', daemonSetCells],
  ['apps/statefulsets', (object) => ({ Ready: readyOf(object), ...template(object) })],
  [
    'apps/deployments',
    (object) => ({
      Ready: readyOf(object),
      'Up-to-date': numberAt(object, 'status', 'updatedReplicas'),
      Available: numberAt(object, 'status', 'availableReplicas'),
      ...template(object),
      Selector: selectorText(valueAt(object, 'spec', 'selector')),
    }),
  ],
  ['batch/jobs', jobCells],
  [
    'batch/cronjobs',
    (object, now) => ({
      Schedule: textAt(object, 'spec', 'schedule'),
      Timezone: textAt(object, 'spec', 'timeZone') || NONE,
      Suspend: valueAt(object, 'spec', 'suspend') === true ? 'True' : 'False',
      Active: listAt(object, 'status', 'active').length,
      'Last Schedule':
        valueAt(object, 'status', 'lastScheduleTime') === undefined
          ? NONE
          : ageOf(valueAt(object, 'status', 'lastScheduleTime'), now),
      ...containers(object, 'spec', 'jobTemplate', 'spec', 'template', 'spec'),
      Selector: selectorText(valueAt(object, 'spec', 'jobTemplate', 'spec', 'selector')),
    }),
  ],
  ['coordination.k8s.io/leases', (object) => ({ Holder: textAt(object, 'spec', 'holderIdentity') })],
  [
    'policy/poddisruptionbudgets',
    (object) => ({
      'Min Available': scalarAt(object, 'N/A', 'spec', 'minAvailable'),
      'Max Unavailable': scalarAt(object, 'N/A', 'spec', 'maxUnavailable'),
      'Allowed Disruptions': numberAt(object, 'status', 'disruptionsAllowed'),
    }),
  ],
  ['rbac.authorization.k8s.io/rolebindings', bindingCells],
  ['rbac.authorization.k8s.io/clusterrolebindings', bindingCells],
  ['admissionregistration.k8s.io/validatingwebhookconfigurations', webhookCells],
  ['admissionregistration.k8s.io/mutatingwebhookconfigurations', webhookCells],
  [
    'admissionregistration.k8s.io/validatingadmissionpolicies',
    (object) => {
      const kind = textAt(object, 'spec', 'paramKind', 'kind');
      const version = textAt(object, 'spec', 'paramKind', 'apiVersion');
      return {
        Validations: listAt(object, 'spec', 'validations').length,
        ParamKind: kind === '' ? UNSET : `${version}/${kind}`,
      };
    },
  ],
  ['admissionregistration.k8s.io/validatingadmissionpolicybindings', policyBindingCells],
  [
    'networking.k8s.io/networkpolicies',
    (object) => ({ 'Pod-Selector': selectorText(valueAt(object, 'spec', 'podSelector')) }),
  ],
  ['networking.k8s.io/ingresses', ingressCells],
  [
    'networking.k8s.io/ingressclasses',
    (object) => ({
      Controller: textAt(object, 'spec', 'controller'),
      Parameters: textAt(object, 'spec', 'parameters', 'name') || NONE,
    }),
  ],
  [
    'networking.k8s.io/servicecidrs',
    (object) => ({ CIDRs: ((valueAt(object, 'spec', 'cidrs') ?? []) as readonly string[]).join(',') }),
  ],
  [
    'scheduling.k8s.io/priorityclasses',
    (object) => ({
      Value: numberAt(object, 'value'),
      'Global-Default': valueAt(object, 'globalDefault') === true,
      PreemptionPolicy: textAt(object, 'preemptionPolicy'),
    }),
  ],
  [
    'storage.k8s.io/storageclasses',
    (object) => ({
      Provisioner: textAt(object, 'provisioner'),
      ReclaimPolicy: textAt(object, 'reclaimPolicy') || 'Delete',
      VolumeBindingMode: textAt(object, 'volumeBindingMode') || UNSET,
      AllowVolumeExpansion: valueAt(object, 'allowVolumeExpansion') === true,
    }),
  ],
  ['node.k8s.io/runtimeclasses', (object) => ({ Handler: textAt(object, 'handler') })],
  [
    'apps/controllerrevisions',
    (object) => {
      const owner = listAt(object, 'metadata', 'ownerReferences').find((one) => valueAt(one, 'controller') === true);
      const group = textAt(owner ?? {}, 'apiVersion').split('/');
      const kind = `${textAt(owner ?? {}, 'kind').toLowerCase()}${group.length > 1 ? `.${group[0]}` : ''}`;
      return {
        Controller: owner === undefined ? NONE : `${kind}/${textAt(owner, 'name')}`,
        Revision: numberAt(object, 'revision'),
      };
    },
  ],
  ['apiregistration.k8s.io/apiservices', apiServiceCells],
  ['flowcontrol.apiserver.k8s.io/prioritylevelconfigurations', priorityLevelCells],
  [
    'flowcontrol.apiserver.k8s.io/flowschemas',
    (object) => ({
      PriorityLevel: textAt(object, 'spec', 'priorityLevelConfiguration', 'name'),
      MatchingPrecedence: numberAt(object, 'spec', 'matchingPrecedence'),
      DistinguisherMethod: textAt(object, 'spec', 'distinguisherMethod', 'type') || NONE,
      MissingPL: conditionOf(object, 'Dangling') ?? '?',
    }),
  ],
]);

function labelsText(labels: unknown): string {
  const entries = Object.entries((labels ?? {}) as Readonly<Record<string, string>>);
  return orNone(
    entries
      .map(([key, value]) => `${key}=${value}`)
      .sort()
      .join(','),
  );
}

interface RecordedColumns {
  readonly descriptions: readonly string[];
  readonly columns: Readonly<Record<string, readonly (readonly [string, string, string, number, number])[]>>;
}

let recorded: RecordedColumns | undefined;

/** The columns that the real server has for a resource, which `src/recording/record-server-objects.ts` records. */
export function recordedColumns(resource: string): readonly TableColumn[] | undefined {
  recorded ??= JSON.parse(
    readFileSync(join(import.meta.dirname, 'recorded/table-columns.json'), 'utf8'),
  ) as RecordedColumns;
  const { descriptions } = recorded;
  return recorded.columns[resource]?.map(([name, type, format, description, priority]) => ({
    ...{ name, type, format, priority },
    description: descriptions[description] ?? '',
  }));
}

/** The printer of a built-in kind; undefined for one whose columns were not recorded. */
export function builtInTable({ group, version, plural }: ServedResource): TablePrinter | undefined {
  const columns = recordedColumns(`${group}/${version}/${plural}`);
  if (columns === undefined) return undefined;
  const of = PRINTERS.get(`${group}/${plural}`) ?? MORE_PRINTERS.get(`${group}/${plural}`);
  const precedence = (object: Fields): number => numberAt(object, 'spec', 'matchingPrecedence');
  return {
    columns,
    ...(columns.at(-1)?.name === 'Created At' ? { plain: true } : {}),
    ...(plural === 'flowschemas' ? { order: (a: Fields, b: Fields) => precedence(a) - precedence(b) } : {}),
    cells: (object, now) => {
      const cells = of?.(object, now) ?? {};
      const created = valueAt(object, 'metadata', 'creationTimestamp');
      return columns.map(({ name }) => {
        if (name in cells) return cells[name];
        if (name === 'Name') return textAt(object, 'metadata', 'name');
        if (name === 'Age') return ageOf(created, now);
        return name === 'Created At' ? created : NONE;
      });
    },
  };
}
