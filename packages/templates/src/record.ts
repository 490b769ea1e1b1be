import { createHash } from 'node:crypto';
import type { CallOptions, MoRef, VCenter, VmSummary } from '@drydock/vsphere';
import { type Fingerprint, fingerprintOf } from './fingerprint.ts';

/** The custom attribute that tells what a machine has been: a conversion from template to machine and back keeps attributes. */
export const RECORD_ATTRIBUTE = 'drydock.record';

/** In extraConfig, with the last change before the machine becomes a template: what it consisted of then. */
export const CONTENT_KEY = 'drydock.content';

/**
 * What became of a finished import. `marking`: it is about to be made a template; `template`: it has been one, and who makes a machine of it means it.
 * `content`: what it consisted of then.
 */
export interface LifeRecord {
  readonly state: 'marking' | 'template';
  /** RFC 3339, by vCenter's clock. */
  readonly at: string;
  readonly content: Fingerprint;
  /** Short digest of vCenter's version of the configuration then: as long as it is the same, nothing was done to it. */
  readonly version: string;
}

/** The record of a machine. Clones may inherit attributes, so it counts only if it repeats the machine's own instance UUID. */
export function readRecord(vm: VmSummary): LifeRecord | undefined {
  const [uuid, state, at, content, version = ''] = (vm.customValues.get(RECORD_ATTRIBUTE) ?? '').split(' ');
  if (uuid === undefined || uuid === '' || uuid.toLowerCase() !== vm.instanceUuid?.toLowerCase()) return undefined;
  if ((state !== 'marking' && state !== 'template') || at === undefined || content === undefined) return undefined;
  return { state, at, content, version };
}

/** The value of {@link RECORD_ATTRIBUTE}: always far below the 255 characters that an attribute may hold. */
export function recordValue(instanceUuid: string, { state, at, content, version }: LifeRecord): string {
  return [instanceUuid, state, at, content, version].join(' ');
}

/**
 * Whether a machine that is no template has been one. One that was about to become one, by its record, and has another version of its configuration now, became one: nothing else
 * was to be done to it.
 */
export function hasBeenTemplate(vm: VmSummary): boolean {
  const record = readRecord(vm);
  if (record === undefined || vm.unreadable !== undefined) return false;
  return record.state === 'template' || record.version !== versionOf(vm);
}

/**
 * Since when a machine is about to be made a template (ms since 1970), where vCenter's version of its configuration says that nothing was done to it since, so that it never became one; undefined where that cannot be told.
 */
export function markingSince(vm: VmSummary): number | undefined {
  const record = readRecord(vm);
  if (record?.state !== 'marking' || vm.isTemplate || vm.unreadable !== undefined) return undefined;
  const version = versionOf(vm);
  const since = Date.parse(record.at);
  return version === '' || record.version !== version || Number.isNaN(since) ? undefined : since;
}

function versionOf({ changeVersion }: VmSummary): string {
  return changeVersion === undefined ? '' : createHash('sha256').update(changeVersion).digest('hex').slice(0, 16);
}

/** Records what a machine is at this moment. One without an instance UUID cannot be told from its clones: it has no record. */
export async function writeRecord(
  vcenter: VCenter,
  vm: VmSummary,
  state: LifeRecord['state'],
  call: CallOptions,
  content: Fingerprint = fingerprintOf(vm),
): Promise<void> {
  if (vm.instanceUuid === undefined || vm.unreadable !== undefined) return;
  const at = (await vcenter.currentTime(call)).toISOString();
  await vcenter.setCustomValue(
    vm.ref,
    RECORD_ATTRIBUTE,
    recordValue(vm.instanceUuid, { state, at, content, version: versionOf(vm) }),
    call,
  );
}

/** In extraConfig from birth: the importer leaves a {@link HEARTBEAT_ATTRIBUTE} as long as it lives. */
export const HEARTBEAT_KEY = 'drydock.heartbeat';

/** The custom attribute in which an importer says that it lives: instance UUID and RFC 3339 time by vCenter's clock. */
export const HEARTBEAT_ATTRIBUTE = 'drydock.heartbeat';

/** Says that the import of a machine is alive. */
export async function beat(vcenter: VCenter, vm: MoRef, instanceUuid: string, call: CallOptions): Promise<void> {
  const at = (await vcenter.currentTime(call)).toISOString();
  await vcenter.setCustomValue(vm, HEARTBEAT_ATTRIBUTE, `${instanceUuid} ${at}`, call);
}

/** When the importer last said that it lives, in ms since 1970; undefined: never. */
export function lastBeat(vm: VmSummary): number | undefined {
  const [uuid, at] = (vm.customValues.get(HEARTBEAT_ATTRIBUTE) ?? '').split(' ');
  if (uuid === undefined || uuid.toLowerCase() !== vm.instanceUuid?.toLowerCase()) return undefined;
  const time = Date.parse(at ?? '');
  return Number.isNaN(time) ? undefined : time;
}
