import type { Zone } from '@drydock/api';
import type { MoRef } from '@drydock/vsphere';

/** Keeps a Zone until its folder is no longer watched for it. */
export const ZONE_FINALIZER = 'vmoperator.vmware.com/zone-finalizer';

/** What vm-operator put there before November 2024, and never cleaned up. */
export const LEGACY_FINALIZER = 'vmoperator.vmware.com/finalizer';

/** Names the vCenter of a Zone or a VirtualMachine where there are several; the kinds themselves have no field for it. */
export const VCENTER_ANNOTATION = 'drydock.dev/vcenter';

/** What a Zone asks for. Pure decisions, so that a test can show all of them. */
export type ZoneStep =
  /** Its finalizer first: a watch that nobody would end must not begin. */
  | { readonly kind: 'guard'; readonly finalizers: readonly string[] }
  | { readonly kind: 'watch'; readonly folder: MoRef | undefined }
  /** Nothing is watched for it any more, then the finalizer goes; `undefined` where it has none of ours. */
  | { readonly kind: 'release'; readonly finalizers: readonly string[] | undefined };

/** The next step for a Zone that exists. `cleanLegacy`: the old finalizer goes as well. */
export function zoneStep(zone: Zone, cleanLegacy = false): ZoneStep {
  const { finalizers = [], deletionTimestamp } = zone.metadata;
  const stale = (name: string): boolean => cleanLegacy && name === LEGACY_FINALIZER;
  if (deletionTimestamp !== undefined) {
    const rest = finalizers.filter((name) => name !== ZONE_FINALIZER && !stale(name));
    return { kind: 'release', finalizers: rest.length === finalizers.length ? undefined : rest };
  }
  if (!finalizers.includes(ZONE_FINALIZER) || finalizers.some(stale)) {
    const kept = finalizers.filter((name) => name !== ZONE_FINALIZER && !stale(name));
    return { kind: 'guard', finalizers: [...kept, ZONE_FINALIZER] };
  }
  return { kind: 'watch', folder: folderOf(zone) };
}

/**
 * What is watched for a Zone as soon as the process leads, before its controller looks at it: the folder of one that is guarded. One that is being deleted is still watched, since its
 * finalizer says that nobody has let go of it; one without the finalizer is not.
 */
export function watchedAtStart(zone: Zone): MoRef | undefined {
  return zone.metadata.finalizers?.includes(ZONE_FINALIZER) === true ? folderOf(zone) : undefined;
}

/** `<namespace>/<name>`: on whose behalf its folder is watched. */
export function zoneId({ namespace, name }: { readonly namespace?: string; readonly name: string }): string {
  return `${namespace ?? ''}/${name}`;
}

/** The folder that a Zone names. */
export function folderOf(zone: Zone): MoRef | undefined {
  const value = zone.spec?.managedVMs?.folderMoID ?? '';
  return value === '' ? undefined : { type: 'Folder', value };
}
