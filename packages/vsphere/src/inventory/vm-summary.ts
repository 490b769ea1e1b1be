import type { ObjectContent } from '../soap/call.ts';
import { arrayOf, type Decode, flag, many, number, object, one, oneOf, ref, text } from '../soap/decode.ts';
import { unescapeName } from '../soap/names.ts';
import { refKey } from '../soap/soap.ts';
import type { ActiveTask, DiskSummary, MoRef, VmSummary } from '../vcenter.ts';
import { child, childText, type XmlElement } from '../xml/xml.ts';

/** What a {@link VmSummary} is read from. */
export const VM_PATHS: readonly string[] = [
  'config.bootOptions',
  'config.createDate',
  'config.extraConfig',
  'config.hardware.device',
  'config.instanceUuid',
  'config.template',
  'config.vAppConfig',
  'customValue',
  'name',
  'parent',
  'recentTask',
  'runtime.powerState',
  'summary.config.product',
];

const bootOptions = object({ efiSecureBootEnabled: one(flag) });
const product = object({ version: one(text) });
const vAppConfig = object({ product: many(product) });
const option = object({ key: one(text), value: one(text) });
const customValue = object({ key: one(number), value: one(text) });
const backing = object({ fileName: one(text), thinProvisioned: one(flag), eagerlyScrub: one(flag) });
/** A virtual disk among the devices of a machine. */
export const disk: Decode<DiskSummary> = (from) => {
  if (from.type?.local !== 'VirtualDisk') return undefined;
  const element = child(from, 'backing');
  const read = element === undefined ? undefined : backing(element);
  if (read?.fileName === undefined) return undefined;
  return {
    file: read.fileName,
    ...(read.thinProvisioned === undefined ? {} : { thin: read.thinProvisioned }),
    ...(read.eagerlyScrub === undefined ? {} : { eagerlyScrub: read.eagerlyScrub }),
    parents: parentFiles(element),
  };
};

function parentFiles(from: XmlElement | undefined): readonly string[] {
  const files: string[] = [];
  for (let parent = child(from, 'parent'); parent !== undefined; parent = child(parent, 'parent')) {
    const file = childText(parent, 'fileName');
    if (file !== undefined) files.push(file);
  }
  return files;
}

/** References to the tasks that ran lately on a machine, whatever their state. */
export function recentTasks(content: ObjectContent): readonly MoRef[] {
  return read(content, 'recentTask', arrayOf(ref)) ?? [];
}

/** Reads a task's `info.state` and `info.descriptionId`; undefined when it is over. */
export function activeTask(content: ObjectContent): ActiveTask | undefined {
  const state = read(content, 'info.state', oneOf('queued', 'running'));
  return state === undefined
    ? undefined
    : { ref: content.ref, descriptionId: read(content, 'info.descriptionId', text) ?? '', state };
}

/** Puts a summary together. `fieldNames`: custom attribute key → name. `active`: by reference key. */
export function vmSummary(
  content: ObjectContent,
  fieldNames: ReadonlyMap<number, string>,
  active: ReadonlyMap<string, ActiveTask>,
): VmSummary {
  const parent = read(content, 'parent', ref);
  const instanceUuid = read(content, 'config.instanceUuid', text);
  const powerState = read(content, 'runtime.powerState', oneOf('poweredOn', 'poweredOff', 'suspended'));
  const createDate = read(content, 'config.createDate', text);
  const secureBoot = read(content, 'config.bootOptions', bootOptions)?.efiSecureBootEnabled;
  const productVersion =
    filled(read(content, 'summary.config.product', product)?.version) ??
    filled(read(content, 'config.vAppConfig', vAppConfig)?.product[0]?.version);
  const extraConfig = new Map<string, string>();
  for (const { key, value } of read(content, 'config.extraConfig', arrayOf(option)) ?? []) {
    if (key !== undefined) extraConfig.set(key, value ?? '');
  }
  const customValues = new Map<string, string>();
  for (const { key, value } of read(content, 'customValue', arrayOf(customValue)) ?? []) {
    const name = key === undefined ? undefined : fieldNames.get(key);
    if (name !== undefined) customValues.set(name, value ?? '');
  }
  return {
    ref: content.ref,
    name: unescapeName(read(content, 'name', text) ?? ''),
    ...(parent === undefined ? {} : { parent }),
    ...(filled(instanceUuid) === undefined || instanceUuid === undefined ? {} : { instanceUuid }),
    isTemplate: read(content, 'config.template', flag) ?? false,
    ...(powerState === undefined ? {} : { powerState }),
    ...(productVersion === undefined ? {} : { productVersion }),
    ...(createDate === undefined ? {} : { createDate }),
    ...(secureBoot === undefined ? {} : { secureBoot }),
    extraConfig,
    customValues,
    disks: read(content, 'config.hardware.device', arrayOf(disk)) ?? [],
    activeTasks: recentTasks(content)
      .map((task) => active.get(refKey(task)))
      .filter((task) => task !== undefined),
  };
}

/** Keys of custom attributes that a machine bears. */
export function customKeys(content: ObjectContent): readonly number[] {
  return (read(content, 'customValue', arrayOf(customValue)) ?? [])
    .map(({ key }) => key)
    .filter((key) => key !== undefined);
}

/** A property of an object by its descriptor; undefined when unset. */
export function read<T>(content: ObjectContent, path: string, decode: Decode<T>): T | undefined {
  const value = content.values.get(path);
  return value === undefined ? undefined : decode(value);
}

function filled(value: string | undefined): string | undefined {
  return value === '' ? undefined : value;
}
