import type { CallOptions, MoRef, VCenter } from '@drydock/vsphere';
import { TemplateError } from '../errors.ts';

/** Fails with a retriable `OBSTRUCTED` where vCenter would refuse the method on the machine now, or could not do it. */
export async function expectFree(
  vcenter: VCenter,
  { ref, name }: { readonly ref: MoRef; readonly name: string },
  method: 'Rename_Task' | 'Destroy_Task',
  call: CallOptions,
): Promise<void> {
  const obstacle = await vcenter.obstacle(ref, [method], call);
  if (obstacle === undefined) return;
  const doing = method === 'Rename_Task' ? 'rename' : 'remove';
  const message = `failed to ${doing} ${name} (${ref.value}): ${obstacle}`;
  throw new TemplateError({ code: 'OBSTRUCTED', message, retriable: true });
}
