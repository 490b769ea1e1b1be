import type { ObjectContent } from '../soap/call.ts';
import { arrayOf, type Decode, flag, label, many, number, object, one, oneOf, ref, text } from '../soap/decode.ts';
import { unescapeName } from '../soap/names.ts';
import { refKey } from '../soap/soap.ts';
import type { ActiveTask, DiskSummary, MoRef, VmSummary } from '../vcenter.ts';
import { child, childText, type XmlElement } from '../xml/xml.ts';

/** What a {@link VmSummary} is read from. */
export const VM_PATHS: readonly string[] = [
  'config.bootOptions',
  'config.changeVersion',
  'config.createDate',
  'config.extraConfig',
  'config.firmware',
  'config.guestId',
  'config.hardware.device',
  'config.hardware.memoryMB',
  'config.hardware.numCPU',
  'config.instanceUuid',
  'config.template',
  'config.vAppConfig',
  'customValue',
  'name',
  'parent',
  'recentTask',
  'runtime.connectionState',
  'runtime.powerState',
  'summary.config.instanceUuid',
  'summary.config.product',
  'summary.config.template',
];

const bootOptions = object({ efiSecureBootEnabled: one(flag) });
const product = object({ version: one(label) });
const property = object({ id: one(text), value: one(text) });
const vAppConfig = object({ product: many(product), property: many(property) });
const option = object({ key: one(text), value: one(text) });
const customValue = object({ key: one(number), value: one(text) });
const backing = object({ fileName: one(label), uuid: one(label), thinProvisioned: one(flag), eagerlyScrub: one(flag) });
/** A virtual disk among the devices of a machine. */
export const disk: Decode<DiskSummary> = (from) => {
  if (from.type?.local !== 'VirtualDisk') return undefined;
  const element = child(from, 'backing');
  const read = element === undefined ? undefined : backing(element);
  if (read?.fileName === undefined) return undefined;
  const capacityKB = Number(childText(from, 'capacityInKB') ?? Number.NaN);
  return {
    file: read.fileName,
    ...(filled(read.uuid) === undefined || read.uuid === undefined ? {} : { uuid: read.uuid }),
    ...(Number.isSafeInteger(capacityKB) ? { capacityKB } : {}),
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
    : { ref: content.ref, descriptionId: read(content, 'info.descriptionId', label) ?? '', state };
}

/** What one machine says, before names of attributes and states of tasks are asked for. Nothing of it keeps the answer alive. */
export interface VmFacts {
  readonly summary: Omit<VmSummary, 'customValues' | 'activeTasks'>;
  readonly custom: readonly { readonly key: number; readonly value: string }[];
  readonly tasks: readonly MoRef[];
}

/** Reads a machine. */
export function vmFacts(content: ObjectContent): VmFacts {
  const parent = read(content, 'parent', ref);
  // An inaccessible machine has no `config`; of its summary vCenter keeps what it knew last.
  const instanceUuid =
    read(content, 'config.instanceUuid', label) ?? read(content, 'summary.config.instanceUuid', label);
  const unreadable = whyUnreadable(content);
  const changeVersion = read(content, 'config.changeVersion', text);
  const powerState = read(content, 'runtime.powerState', oneOf('poweredOn', 'poweredOff', 'suspended'));
  const createDate = read(content, 'config.createDate', label);
  const secureBoot = read(content, 'config.bootOptions', bootOptions)?.efiSecureBootEnabled;
  const productVersion =
    filled(read(content, 'summary.config.product', product)?.version) ??
    filled(read(content, 'config.vAppConfig', vAppConfig)?.product[0]?.version);
  const extraConfig = new Map<string, string>();
  for (const { key, value } of read(content, 'config.extraConfig', arrayOf(option)) ?? []) {
    if (key !== undefined) extraConfig.set(key, value ?? '');
  }
  const custom: { readonly key: number; readonly value: string }[] = [];
  for (const { key, value } of read(content, 'customValue', arrayOf(customValue)) ?? [])
    if (key !== undefined) custom.push({ key, value: value ?? '' });
  const summary = {
    ref: content.ref,
    name: unescapeName(read(content, 'name', label) ?? ''),
    ...(parent === undefined ? {} : { parent }),
    ...(filled(instanceUuid) === undefined || instanceUuid === undefined ? {} : { instanceUuid }),
    isTemplate: read(content, 'config.template', flag) ?? read(content, 'summary.config.template', flag) ?? false,
    ...(powerState === undefined ? {} : { powerState }),
    ...(productVersion === undefined ? {} : { productVersion }),
    ...(createDate === undefined ? {} : { createDate }),
    ...(secureBoot === undefined ? {} : { secureBoot }),
    ...(unreadable === undefined ? {} : { unreadable }),
    extraConfig,
    hardware: hardwareOf(content),
    ...(changeVersion === undefined ? {} : { changeVersion }),
    disks: read(content, 'config.hardware.device', arrayOf(disk)) ?? [],
  };
  return { summary, custom, tasks: recentTasks(content) };
}

/** Puts a summary together. `fieldNames`: custom attribute key → name. `active`: by reference key. */
export function vmSummary(
  { summary, custom, tasks }: VmFacts,
  fieldNames: ReadonlyMap<number, string>,
  active: ReadonlyMap<string, ActiveTask>,
): VmSummary {
  const customValues = new Map<string, string>();
  for (const { key, value } of custom) {
    const name = fieldNames.get(key);
    if (name !== undefined) customValues.set(name, value);
  }
  const activeTasks = tasks.map((task) => active.get(refKey(task))).filter((task) => task !== undefined);
  return { ...summary, customValues, activeTasks };
}

/** Every machine whose configuration can be read has devices. */
export function whyUnreadable(content: ObjectContent): string | undefined {
  if (content.values.has('config.hardware.device')) return undefined;
  const fault = content.missing.find(({ path }) => path.startsWith('config.'))?.fault?.name;
  const state = read(content, 'runtime.connectionState', text) ?? 'connected';
  if (fault !== undefined) return `its configuration cannot be read (${fault})`;
  return state === 'connected' ? 'its configuration is unset' : `its configuration is unset, and it is ${state}`;
}

const HARDWARE = ['config.firmware', 'config.guestId', 'config.hardware.memoryMB', 'config.hardware.numCPU'] as const;

function hardwareOf(content: ObjectContent): ReadonlyMap<string, string> {
  const hardware = new Map<string, string>();
  for (const path of HARDWARE) {
    const value = read(content, path, text);
    if (value !== undefined) hardware.set(path, value);
  }
  for (const { id, value } of read(content, 'config.vAppConfig', vAppConfig)?.property ?? [])
    if (id !== undefined && value !== undefined && value !== '')
      hardware.set(`config.vAppConfig.property.${id}`, value);
  return hardware;
}

/** A property of an object by its descriptor; undefined when unset. */
export function read<T>(content: ObjectContent, path: string, decode: Decode<T>): T | undefined {
  const value = content.values.get(path);
  return value === undefined ? undefined : decode(value);
}

function filled(value: string | undefined): string | undefined {
  return value === '' ? undefined : value;
}
