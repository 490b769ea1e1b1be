import type { CallOptions, MoRef, VCenter, VmSummary } from '@drydock/vsphere';
import { fingerprintOf } from '../fingerprint.ts';
import { type BornCodes, changedKeys } from '../mark/changed-keys.ts';
import type { Content, LedgerEntry } from '../mark/ledger.ts';
import { type RecordKind, writeOwnership } from '../mark/ownership-record.ts';
import type { Witnesses } from '../mark/witness.ts';
import { keyIdsOf, readMark, testimonyOf } from '../mark.ts';

/**
 * Records that a template is owned: first in the ledger, then on the VM, so that an interruption leaves nothing on the VM that the ledger does not know. False where vCenter gives the VM no identity.
 */
export async function recordOwnership(
  vcenter: Pick<VCenter, 'setCustomValue' | 'vm'>,
  vm: VmSummary,
  kind: RecordKind,
  mark: Content,
  witnesses: Witnesses,
  call: CallOptions,
  more: Pick<LedgerEntry, 'role'> = {},
): Promise<boolean> {
  const { identity, key } = testimonyOf(vm, witnesses);
  if (identity === undefined) return false;
  const fingerprint = fingerprintOf(vm);
  await witnesses.ledger.change(key, (now) => ({ ...now, ...more, stage: 'template', own: true, mark, fingerprint }));
  await writeOwnership(vcenter, vm, identity, { kind, mark, fingerprint }, witnesses.keys, call);
  return true;
}

/** Writes the record that an owned template or finished import lacks, or that an older key made. */
export async function renewRecord(
  vcenter: Pick<VCenter, 'setCustomValue' | 'vm'>,
  vm: VmSummary,
  witnesses: Witnesses,
  call: CallOptions,
): Promise<void> {
  const { identity, entry, birth, record } = testimonyOf(vm, witnesses);
  const read = record.kind === 'read' ? record.record : undefined;
  const fingerprint = entry?.fingerprint ?? read?.fingerprint;
  if (identity === undefined || fingerprint === undefined) return;
  const kind = birth !== undefined ? 'imported' : (read?.kind ?? (entry?.role === 'adopted' ? 'adopted' : 'claimed'));
  const mark = kind === 'imported' ? birth : (entry?.mark ?? read?.mark);
  if (mark !== undefined)
    await writeOwnership(vcenter, vm, identity, { kind, mark, fingerprint }, witnesses.keys, call);
}

/**
 * Gives a record by the current key to every finished template of this owner that another witness proves: an older key, or the ledger. So a key can be exchanged and a lost one be replaced, without
 * touching anything that nothing proves. Resolves to the names, and to the keys that were changed under their names.
 */
export async function proveAnew(
  vcenter: VCenter,
  folder: MoRef,
  { owner, witnesses }: { readonly owner: string; readonly witnesses: Witnesses },
  call: CallOptions,
): Promise<{ readonly proven: readonly string[]; readonly changed: ReturnType<typeof changedKeys> }> {
  const proven: string[] = [];
  const codes: BornCodes[] = [];
  for (const vm of await vcenter.children(folder, call)) {
    const reading = readMark(vm, folder, { owner, witnesses });
    const seen = { name: vm.name, keyIds: keyIdsOf(vm) };
    if (reading.kind === 'invalid' && reading.unproven === true) codes.push(seen);
    if (reading.kind !== 'ours' || reading.mark.owner !== owner) continue;
    codes.push({ ...seen, proof: reading.proof });
    if (!reading.renew || !reading.verified || reading.proof === 'none' || reading.proof === 'noted') continue;
    await renewRecord(vcenter, vm, witnesses, call);
    proven.push(vm.name);
  }
  return { proven, changed: changedKeys(witnesses.keys, codes) };
}
