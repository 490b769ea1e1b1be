import type { CallOptions, VCenter } from '@drydock/vsphere';
import { type BornCodes, changedKeys } from '../mark/changed-keys.ts';
import { renewProof } from '../mark/statement.ts';
import type { Witnesses } from '../mark/witness.ts';
import { keyIdsOf, readMark } from '../mark.ts';
import type { Scope } from '../observe/observe.ts';

/**
 * Gives a code of the current key to whatever of this owner another witness proves: an older key, or the cluster. So a key can be exchanged, a lost one be
 * replaced, and what was made before there was a key be taken over, without touching anything that nobody proves. Resolves to the names, and to the keys that were
 * changed under their names, see {@link changedKeys}.
 */
export async function proveAnew(
  vcenter: VCenter,
  { folder }: Scope,
  { owner, witnesses }: { readonly owner: string; readonly witnesses: Witnesses },
  call: CallOptions,
): Promise<{ readonly proven: readonly string[]; readonly changed: ReturnType<typeof changedKeys> }> {
  if (witnesses.keys.current === undefined) return { proven: [], changed: new Map() };
  const proven: string[] = [];
  const codes: BornCodes[] = [];
  for (const vm of await vcenter.children(folder, call)) {
    const reading = readMark(vm, folder, { owner, witnesses });
    const seen = { name: vm.name, keyIds: keyIdsOf(vm) };
    if (reading.kind === 'invalid' && reading.unproven === true) codes.push(seen);
    if (reading.kind === 'ours' && reading.mark.owner === owner) codes.push({ ...seen, proof: reading.proof });
    if (reading.kind !== 'ours' || reading.mark.owner !== owner || !reading.renew) continue;
    // One that is being imported gets its code with its birth, or is proven when it is whole.
    if (!reading.verified) continue;
    if (await renewProof(vcenter, vm, reading.mark, witnesses.keys, call)) proven.push(vm.name);
  }
  return { proven, changed: changedKeys(witnesses.keys, codes) };
}
