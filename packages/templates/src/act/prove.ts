import type { CallOptions, VCenter } from '@drydock/vsphere';
import { renewProof } from '../mark/statement.ts';
import type { Witnesses } from '../mark/witness.ts';
import { readMark } from '../mark.ts';
import type { Scope } from '../observe/observe.ts';

/**
 * Gives a code of the current key to whatever of this owner another witness proves: an older key, or the cluster. So a key can be exchanged, a lost one be
 * replaced, and what was made before there was a key be taken over, without touching anything that nobody proves. Resolves to the names.
 */
export async function proveAnew(
  vcenter: VCenter,
  { folder }: Scope,
  { owner, witnesses }: { readonly owner: string; readonly witnesses: Witnesses },
  call: CallOptions,
): Promise<readonly string[]> {
  if (witnesses.keys.current === undefined) return [];
  const proven: string[] = [];
  for (const vm of await vcenter.children(folder, call)) {
    const reading = readMark(vm, folder, { owner, witnesses });
    if (reading.kind !== 'ours' || reading.mark.owner !== owner || !reading.renew) continue;
    // One that is being imported gets its code with its birth, or is proven when it is whole.
    if (!reading.verified) continue;
    if (await renewProof(vcenter, vm, reading.mark, witnesses.keys, call)) proven.push(vm.name);
  }
  return proven;
}
