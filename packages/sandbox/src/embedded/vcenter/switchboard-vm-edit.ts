import type { Machine, VCenterWorld } from '@drydock/vsphere/testing/server';
import type { Ref, VmEdit } from '../../switchboard-types.ts';
import { findMachine, keyOf, toRef } from './switchboard-lookup.ts';

type EditField = keyof VmEdit;

/** How a field of an edit changes a machine, and the properties that change. */
interface FieldEdit<Field extends EditField> {
  readonly apply: (machine: Machine, value: NonNullable<VmEdit[Field]>) => void;
  readonly paths: readonly string[];
}

type Edits = { readonly [Field in EditField]: FieldEdit<Field> };

const EDITS: Edits = {
  extraConfig: {
    apply: ({ extraConfig }, entries) => {
      for (const [key, value] of Object.entries(entries)) {
        if (value === '') extraConfig.delete(key);
        else extraConfig.set(key, value);
      }
    },
    paths: ['config.extraConfig'],
  },
  annotation: {
    apply: (machine, annotation) => {
      machine.annotation = annotation;
    },
    paths: ['config.annotation', 'summary.config'],
  },
  instanceUuid: {
    apply: (machine, uuid) => {
      machine.instanceUuid = uuid;
    },
    paths: ['config.instanceUuid', 'summary.config'],
  },
  productVersion: {
    apply: (machine, version) => {
      machine.productVersion = version === '' ? undefined : version;
    },
    paths: ['config.vAppConfig', 'summary.config'],
  },
  template: {
    apply: (machine, template) => {
      machine.isTemplate = template;
    },
    paths: ['config.template', 'summary.config'],
  },
  numCPU: {
    apply: ({ hardware }, count) => void hardware.set('config.hardware.numCPU', String(count)),
    paths: ['config.hardware.numCPU', 'summary.config'],
  },
  diskDirectory: {
    apply: (machine, directory) => {
      const moved = (file: string): string => `${directory}/${file.slice(file.lastIndexOf('/') + 1)}`;
      machine.disks = machine.disks.map((disk) => ({ ...disk, file: moved(disk.file) }));
    },
    paths: ['config.hardware.device', 'datastore'],
  },
  connectionState: {
    apply: (machine, state) => {
      machine.connectionState = state;
    },
    paths: ['runtime', 'summary.runtime'],
  },
  disabledMethods: {
    apply: ({ disabledMethods }, methods) => {
      disabledMethods.clear();
      for (const method of methods) disabledMethods.add(method);
    },
    paths: ['disabledMethod'],
  },
  unreadable: {
    apply: (machine, unreadable) => {
      machine.readable = !unreadable;
    },
    paths: ['config'],
  },
};

export const VM_EDIT_FIELDS: readonly string[] = Object.keys(EDITS);

/** Edits a VM or a template. */
export function editVm(world: VCenterWorld, where: string | undefined, change: VmEdit): Ref {
  const machine = findMachine(world, where);
  const paths = new Set(['config.changeVersion']);
  const edit = <Field extends EditField>(field: Field): void => {
    const value = change[field];
    if (value === undefined) return;
    const { apply, paths: changed }: FieldEdit<Field> = EDITS[field];
    apply(machine, value);
    for (const path of changed) paths.add(path);
  };
  for (const field of VM_EDIT_FIELDS) edit(field as EditField);
  machine.changes += 1;
  world.touch(keyOf(machine.ref), ...paths);
  return toRef(machine.ref);
}
