import type { MoRef, VmSummary } from '@drydock/vsphere';

/** What says that a machine of vCenter is ours: owner, operation and content, in extraConfig from birth. */
export interface Mark {
  /** UID of the cluster that owns it. */
  readonly owner: string;
  readonly operation: string;
  /** SHA-256 of the OVA, lower-case hex. */
  readonly digest: string;
  readonly release: string;
  /** Identity of the Lease holder that imported it. */
  readonly holder: string;
  /** Chosen by us for the import; a clone copies the mark but has another one of its own. */
  readonly instanceUuid: string;
}

/** The keys in extraConfig. */
export const MARK_KEYS: Readonly<Record<keyof Mark, string>> = {
  owner: 'drydock.owner',
  operation: 'drydock.operation',
  digest: 'drydock.digest',
  release: 'drydock.release',
  holder: 'drydock.holder',
  instanceUuid: 'drydock.instanceUuid',
};

/** Set to the digest when every byte was acknowledged and the lease was completed: only then a template may be made of it. */
export const VERIFIED_KEY = 'drydock.verified';

/** The mark as extraConfig. */
export function markConfig(mark: Mark): ReadonlyMap<string, string> {
  return new Map(Object.entries(MARK_KEYS).map(([field, key]) => [key, mark[field as keyof Mark]]));
}

/** What a machine's mark is worth. Only `ours` may ever be touched. */
export type MarkReading =
  | { readonly kind: 'none' }
  | { readonly kind: 'invalid'; readonly mark: Mark; readonly reason: string }
  | { readonly kind: 'ours'; readonly mark: Mark; readonly verified: boolean };

/**
 * Reads the mark of a machine. **Clones inherit extraConfig**, so a mark counts only if it repeats the machine's own instance UUID, the machine sits
 * directly in the publication folder, and it is a template or powered off.
 */
export function readMark(vm: VmSummary, folder: MoRef): MarkReading {
  const mark = rawMark(vm);
  if (mark === undefined) return { kind: 'none' };
  if (vm.instanceUuid === undefined || !sameUuid(vm.instanceUuid, mark.instanceUuid)) {
    return { kind: 'invalid', mark, reason: 'its mark was copied from another machine' };
  }
  if (vm.parent === undefined || vm.parent.type !== folder.type || vm.parent.value !== folder.value) {
    return { kind: 'invalid', mark, reason: 'it is not directly in the publication folder' };
  }
  if (!vm.isTemplate && vm.powerState !== 'poweredOff') {
    return { kind: 'invalid', mark, reason: 'it is a machine that is not powered off' };
  }
  return { kind: 'ours', mark, verified: vm.extraConfig.get(VERIFIED_KEY) === mark.digest };
}

function rawMark(vm: VmSummary): Mark | undefined {
  const read = (field: keyof Mark): string => vm.extraConfig.get(MARK_KEYS[field]) ?? '';
  const mark: Mark = {
    owner: read('owner'),
    operation: read('operation'),
    digest: read('digest'),
    release: read('release'),
    holder: read('holder'),
    instanceUuid: read('instanceUuid'),
  };
  const { owner, digest, holder, instanceUuid } = mark;
  return [owner, digest, holder, instanceUuid].includes('') ? undefined : mark;
}

function sameUuid(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase();
}
