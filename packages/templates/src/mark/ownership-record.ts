import type { CallOptions, VCenter, VmSummary } from '@drydock/vsphere';
import type { Fingerprint } from '../fingerprint.ts';
import { readAttribute, writeAttribute } from './attribute.ts';
import { type CodeReading, checkCode, codeOf } from './code.ts';
import { type Identity, identityKey } from './identity.ts';
import type { MarkKeys } from './keys.ts';
import type { Content } from './ledger.ts';

/** The custom attribute with the ownership record. */
export const OWNERSHIP = 'drydock.ownership';

/** `imported`: its birth mark says what it is; `adopted`: made by hand; `claimed`: a swap put it away. */
export type RecordKind = 'imported' | 'adopted' | 'claimed';

/**
 * What allows a template to be pointed at: this VM (its whole identity) has this content. It says nothing that ever changes, so an older value that somebody writes back says the same as a newer one.
 * What does change (role, holders, that it may be removed) stands in the ledger, where no vCenter user can write.
 */
export interface OwnershipRecord {
  readonly kind: RecordKind;
  readonly mark: Content;
  readonly fingerprint: Fingerprint;
}

/** `torn`: a text that is not whole, or that Drydock did not write. `moved`: it is about another VM. Else what its code is worth. */
export type RecordReading =
  | { readonly kind: 'absent' | 'torn' | 'moved' }
  | { readonly kind: 'read'; readonly record: OwnershipRecord; readonly code: CodeReading };

/** How many digits of the identity key tell a record that was moved from one whose key is gone. */
const ID_DIGITS = 12;

/** Writes the record of a VM, and looks whether vCenter kept all of it. It fits one attribute value unless an adopted template has an unusually long name. */
export async function writeOwnership(
  vcenter: Pick<VCenter, 'setCustomValue' | 'vm'>,
  vm: Pick<VmSummary, 'ref' | 'name'>,
  identity: Identity,
  { kind, mark, fingerprint }: OwnershipRecord,
  keys: MarkKeys,
  call: CallOptions,
): Promise<void> {
  const { owner, release, publishes } = mark;
  const code = codeOf(keys, subjectOf(identity, { kind, mark, fingerprint }));
  const text = {
    id: identityKey(identity).slice(0, ID_DIGITS),
    kind,
    is: fingerprint,
    ...(code === undefined ? {} : { code }),
    // The birth mark says it of what was imported, and the code covers it.
    ...(kind === 'imported' ? {} : { owner, release, name: publishes }),
  };
  await writeAttribute(vcenter, vm, OWNERSHIP, text, call);
}

/** Reads the record of a VM. `birth`: what its birth mark says, for an imported one. */
export function readOwnership(
  vm: Pick<VmSummary, 'customValues'>,
  identity: Identity | undefined,
  birth: Content | undefined,
  keys: MarkKeys,
): RecordReading {
  const reading = readAttribute(vm.customValues, OWNERSHIP);
  if (reading.kind !== 'value') return reading;
  const value = (typeof reading.value === 'object' ? reading.value : undefined) as Record<string, unknown> | undefined;
  const read = (field: string): string => {
    const given = value?.[field];
    return typeof given === 'string' ? given : '';
  };
  const kind = (['imported', 'adopted', 'claimed'] as const).find((one) => one === read('kind'));
  const fingerprint = read('is');
  if (kind === undefined || fingerprint === '') return { kind: 'torn' };
  if (identity === undefined || read('id') !== identityKey(identity).slice(0, ID_DIGITS)) return { kind: 'moved' };
  const publishes = read('name');
  const said: Content = {
    ...{ owner: read('owner'), operation: '', digest: '', release: read('release') },
    ...(publishes === '' ? {} : { publishes }),
  };
  const mark = kind === 'imported' ? birth : said;
  if (mark === undefined || mark.owner === '') return { kind: 'torn' };
  const record = { kind, mark, fingerprint };
  return { kind: 'read', record, code: checkCode(keys, read('code'), subjectOf(identity, record)) };
}

function subjectOf({ vcenter, ref, created, instanceUuid }: Identity, { kind, mark, fingerprint }: OwnershipRecord) {
  const { owner, operation, digest, release, version = '', publishes = '' } = mark;
  const content = [owner, operation, digest, release, version, publishes, fingerprint];
  return ['drydock.ownership/1', vcenter, ref, created, instanceUuid, kind, ...content];
}
