import type { CallOptions, MoRef, VCenter, VmSummary } from '@drydock/vsphere';
import { fingerprintOf } from '../fingerprint.ts';
import type { ClusterRecords, Witnesses } from '../mark/witness.ts';
import { contentOf, testimonyOf } from '../mark.ts';
import { recordOwnership } from './prove.ts';

/**
 * Records ownership of templates that version 0.1.0 made. Its code alone proves nothing, because it can be replayed: vCenter must have created the VM before this installation first looked, the cluster
 * must refer to its name, and the template must be what 0.1.0 recorded. Everything else stays as it is until a person adopts it. Resolves to the names.
 */
export async function takeOver(
  vcenter: VCenter,
  folder: MoRef,
  { owner, witnesses }: { readonly owner: string; readonly witnesses: Witnesses },
  cluster: ClusterRecords,
  call: CallOptions,
): Promise<readonly string[]> {
  const taken: string[] = [];
  const since = await witnesses.ledger.firstLook(witnesses.vcenter, await vcenter.currentTime(call));
  for (const vm of await vcenter.children(folder, call)) {
    const { birth, entry, record } = testimonyOf(vm, witnesses);
    const due = birth?.legacy === true && birth.owner === owner && entry === undefined && record.kind === 'absent';
    if (!due || !vm.isTemplate || !isAsRecorded(vm, birth.digest)) continue;
    if (!(Date.parse(vm.createDate ?? '') < since)) continue;
    const announced = cluster.recorded(birth.operation, birth.instanceUuid);
    const signed = birth.code === 'current' || birth.code === 'older';
    const named = cluster.refers(vm.name) || cluster.retired(vm.name);
    if (!named || !(announced || signed)) continue;
    if (await recordOwnership(vcenter, vm, 'imported', contentOf(birth), witnesses, call)) taken.push(vm.name);
  }
  return taken;
}

/** Version 0.1.0 kept `<instance UUID> <state> <time> <fingerprint> <version>` in this attribute. */
function isAsRecorded(vm: VmSummary, digest: string): boolean {
  const [uuid, state, , fingerprint] = (vm.customValues.get('drydock.record') ?? '').split(' ');
  const finished = vm.extraConfig.get('drydock.verified') === digest && state === 'template';
  return finished && uuid?.toLowerCase() === vm.instanceUuid?.toLowerCase() && fingerprint === fingerprintOf(vm);
}
