import { type JsonObject, jsonEqual, listOf, objectOf, type StatusCause } from '@drydock/kube/testing/api-server';
import { textOf } from './draft.ts';
import { checkNotNegative, checkSupported, duplicate, forbidden, invalidValue, required } from './field-errors.ts';
import { labelSelector, qualifiedName, subdomain, unchanged } from './name-checks.ts';
import { parseQuantity } from './resource-quantity.ts';

// What the server refuses in the kinds of storage.k8s.io.

type Check = (object: JsonObject, old: JsonObject | undefined) => readonly StatusCause[];

/** A driver by name: any case. */
function driver(field: string, value: unknown): readonly StatusCause[] {
  const name = textOf(value);
  return name === '' ? [required(field)] : qualifiedName(field, name.toLowerCase());
}

const storageClass: Check = (object, old) => {
  if (old !== undefined) {
    const said = (field: string): string => `updates to ${field} are forbidden.`;
    const kept = ['parameters', 'provisioner', 'reclaimPolicy'].flatMap((field) =>
      jsonEqual(object[field] ?? {}, old[field] ?? {}) ? [] : [forbidden(field, said(field))],
    );
    return [...kept, ...unchanged('volumeBindingMode', object['volumeBindingMode'], old['volumeBindingMode'])];
  }
  const { reclaimPolicy: policy, volumeBindingMode: mode } = object;
  return [
    ...driver('provisioner', object['provisioner']),
    ...parameters('parameters', object['parameters'], true),
    ...(textOf(policy) === '' ? [] : checkSupported('reclaimPolicy', policy, ['Delete', 'Retain'])),
    ...checkSupported('volumeBindingMode', mode, ['Immediate', 'WaitForFirstConsumer']),
  ];
};

function parameters(field: string, value: unknown, empty: boolean): readonly StatusCause[] {
  const keys = Object.keys(objectOf(value));
  return [
    ...keys.filter((key) => key === '').map((key) => invalidValue(field, key, 'field can not be empty.')),
    ...(empty || keys.length > 0 ? [] : [required(field, 'must contain at least one key/value pair')]),
  ];
}

const csiDriver: Check = (object, old) => {
  const spec = objectOf(object['spec']);
  const modes = listOf(spec['volumeLifecycleModes']);
  const requests = listOf(spec['tokenRequests']).map((one) => textOf(objectOf(one)['audience']));
  const period = spec['nodeAllocatableUpdatePeriodSeconds'];
  const { fsGroupPolicy } = spec;
  const before = objectOf(old?.['spec']);
  return [
    ...(spec['attachRequired'] === undefined ? [required('spec.attachedRequired')] : []),
    ...(spec['podInfoOnMount'] === undefined ? [required('spec.podInfoOnMount')] : []),
    ...(spec['storageCapacity'] === undefined ? [required('spec.storageCapacity')] : []),
    ...(fsGroupPolicy === undefined
      ? []
      : checkSupported('spec.fsGroupPolicy', fsGroupPolicy, ['File', 'None', 'ReadWriteOnceWithFSType'])),
    ...requests.flatMap((audience, at) =>
      requests.indexOf(audience) < at ? [duplicate(`spec.tokenRequests[${at}].audience`, audience)] : [],
    ),
    ...modes.flatMap((mode) => checkSupported('spec.volumeLifecycleModes', mode, ['Ephemeral', 'Persistent'])),
    ...(typeof period === 'number' && period < 10
      ? [invalidValue('spec.nodeAllocatableUpdatePeriodSeconds', period, 'must be greater than or equal to 10 seconds')]
      : []),
    ...(old === undefined
      ? []
      : [
          ...unchanged('spec.attachedRequired', spec['attachRequired'], before['attachRequired']),
          ...unchanged('spec.volumeLifecycleModes', spec['volumeLifecycleModes'], before['volumeLifecycleModes']),
        ]),
  ];
};

const csiNode: Check = (object, old) => {
  const drivers = listOf(objectOf(object['spec'])['drivers']).map(objectOf);
  const before = listOf(objectOf(old?.['spec'])['drivers']).map(objectOf);
  const names = drivers.map(({ name }) => textOf(name));
  const own = drivers.flatMap((one, at): readonly StatusCause[] => {
    const field = `spec.drivers[${at}]`;
    const id = textOf(one['nodeID']);
    const keys = listOf(one['topologyKeys']).map(String);
    return [
      ...subdomain(`${field}.name`, textOf(one['name'])),
      ...(id === '' ? [required(`${field}.nodeID`)] : []),
      ...(id.length > 256 ? [invalidValue(`${field}.nodeID`, id, 'must be 256 characters or less')] : []),
      ...checkNotNegative(`${field}.allocatable.count`, objectOf(one['allocatable'])['count']),
      ...(names.indexOf(names[at] ?? '') < at ? [duplicate(`${field}.name`, one['name'])] : []),
      ...keys.flatMap((key, index) => [
        ...(key === '' ? [required(field)] : []),
        ...(keys.indexOf(key) < index ? [duplicate(field, key)] : []),
        ...qualifiedName(field, key),
      ]),
    ];
  });
  const changed = before.flatMap((was) =>
    drivers
      .filter(({ name }) => name === was['name'])
      .flatMap((now) => unchanged('spec.drivers', asGo(now, DRIVER), asGo(was, DRIVER))),
  );
  return [...own, ...changed];
};

const DRIVER = ['name', 'nodeID', 'topologyKeys', 'allocatable', 'count'];
const ATTACHMENT = ['attacher', 'source', 'nodeName'];

/** Fields as the server prints those of its own types: all of them, in their order. */
function asGo(value: unknown, order: readonly string[]): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value ?? null;
  const fields = Object.entries(value).toSorted(([a], [b]) => order.indexOf(a) - order.indexOf(b));
  return Object.fromEntries(
    fields.map(([key, one]) => [`${key.charAt(0).toUpperCase()}${key.slice(1)}`, asGo(one, order)]),
  );
}

function attachment(spec: JsonObject): unknown {
  const { persistentVolumeName = null, inlineVolumeSpec = null } = objectOf(spec['source']);
  const source = { persistentVolumeName, inlineVolumeSpec };
  return asGo({ ...spec, source }, [...ATTACHMENT, 'persistentVolumeName', 'inlineVolumeSpec']);
}

const storageCapacity: Check = (object, old) => {
  const capacity = object['capacity'];
  const quantity = typeof capacity === 'string' ? parseQuantity(capacity) : undefined;
  return [
    ...labelSelector('nodeTopology', object['nodeTopology']),
    ...subdomain('storageClassName', textOf(object['storageClassName'])),
    ...(quantity !== undefined && quantity.nanos < 0n
      ? [invalidValue('capacity', capacity, 'must be greater than or equal to 0')]
      : []),
    ...(old === undefined
      ? []
      : ['nodeTopology', 'storageClassName'].flatMap((field) => unchanged(field, object[field], old[field]))),
  ];
};

const volumeAttachment: Check = (object, old) => {
  const spec = objectOf(object['spec']);
  const source = objectOf(spec['source']);
  const volume = source['persistentVolumeName'];
  const inline = source['inlineVolumeSpec'];
  const exactly = 'must specify exactly one of inlineVolumeSpec and persistentVolumeName';
  const name = textOf(spec['attacher']);
  return [
    ...(name === '' ? [required('spec.attacher')] : []),
    ...(volume === undefined && inline === undefined ? [required('spec.source', exactly)] : []),
    ...(volume !== undefined && inline !== undefined ? [forbidden('spec.source', exactly)] : []),
    ...(volume === '' ? [required('spec.source.persistentVolumeName')] : []),
    ...subdomain('spec.nodeName', textOf(spec['nodeName'])),
    ...(old === undefined
      ? [
          ...subdomain('spec.attacher', name),
          ...(typeof volume === 'string' ? subdomain('spec.source.persistentVolumeName', volume) : []),
        ]
      : unchanged('spec', attachment(spec), attachment(objectOf(old['spec'])))),
  ];
};

const attributesClass: Check = (object, old) =>
  old === undefined
    ? [...driver('driverName', object['driverName']), ...parameters('parameters', object['parameters'], false)]
    : ['driverName', 'parameters'].flatMap((field) =>
        jsonEqual(object[field] ?? {}, old[field] ?? {})
          ? []
          : [forbidden(field, `updates to ${field} are forbidden.`)],
      );

/** By `group/Kind`. */
export const STORAGE_CHECKS: Readonly<Record<string, Check>> = {
  'storage.k8s.io/StorageClass': storageClass,
  'storage.k8s.io/CSIDriver': csiDriver,
  'storage.k8s.io/CSINode': csiNode,
  'storage.k8s.io/CSIStorageCapacity': storageCapacity,
  'storage.k8s.io/VolumeAttachment': volumeAttachment,
  'storage.k8s.io/VolumeAttributesClass': attributesClass,
};
