import { textAt, textsAt } from './object-fields.ts';
import { type Cell, type Cells, type CellsByKind, flag, phase, text, UNSET } from './table-cells.ts';

const ACCESS_MODES: Readonly<Record<string, string>> = {
  ReadWriteOnce: 'RWO',
  ReadOnlyMany: 'ROX',
  ReadWriteMany: 'RWX',
  ReadWriteOncePod: 'RWOP',
};

const accessModes =
  (path: string): Cell =>
  (object) =>
    textsAt(object, path)
      .map((mode) => ACCESS_MODES[mode] ?? mode)
      .join(',');

/** A cell of a claim that is empty until the claim is bound. */
const ifBound =
  (cell: Cell): Cell =>
  (object, now) =>
    textAt(object, 'spec.volumeName') === '' ? '' : cell(object, now);

const COMMON: Cells = {
  Status: phase,
  StorageClass: text('spec.storageClassName'),
  VolumeAttributesClass: text('spec.volumeAttributesClassName', UNSET),
  VolumeMode: text('spec.volumeMode', UNSET),
};

export const STORAGE_CELLS: CellsByKind = {
  '/persistentvolumeclaims': {
    ...COMMON,
    Volume: text('spec.volumeName'),
    Capacity: ifBound(text('status.capacity.storage')),
    'Access Modes': ifBound(accessModes('status.accessModes')),
  },
  '/persistentvolumes': {
    ...COMMON,
    Capacity: text('spec.capacity.storage'),
    'Access Modes': accessModes('spec.accessModes'),
    'Reclaim Policy': text('spec.persistentVolumeReclaimPolicy'),
    Claim: (object) => {
      const name = textAt(object, 'spec.claimRef.name');
      return name === '' ? '' : `${textAt(object, 'spec.claimRef.namespace')}/${name}`;
    },
    Reason: text('status.reason'),
  },
  'storage.k8s.io/storageclasses': {
    Provisioner: text('provisioner'),
    ReclaimPolicy: text('reclaimPolicy', 'Delete'),
    VolumeBindingMode: text('volumeBindingMode', UNSET),
    AllowVolumeExpansion: flag('allowVolumeExpansion'),
  },
};
