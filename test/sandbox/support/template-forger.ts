import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import type { VmView } from '@drydock/sandbox';
import { CONTENT_KEY, OWNERSHIP } from '@drydock/templates';
import { connectVCenter } from '@drydock/vsphere';
import { fingerprintOf } from '../../../packages/templates/src/fingerprint.ts';
import { identityKey, identityOf } from '../../../packages/templates/src/mark/identity.ts';
import { folder, type TemplateCli } from './template-cli.ts';

/** What another vCenter user makes of a copy. */
export interface Forgery {
  readonly template: boolean;
  /** Default: the name of what is copied. */
  readonly name?: string;
  /** The sign of a finished import, and an ownership record about this very VM by the public formulas, with a code that was copied; absent: both are as they were copied. */
  readonly record?: { readonly code: string | undefined };
}

/** A VM as another vCenter user makes it: the instance UUID, the keys and the attributes of `copied`, and what follows from public formulas. Returns its moref. */
export async function forge(
  { switchboard, env }: TemplateCli,
  copied: VmView,
  { template, name = copied.name, record }: Forgery,
): Promise<string> {
  const { instanceUuid, extraConfig, productVersion } = copied;
  const { moref } = await switchboard.createVm({ folder, name, instanceUuid, extraConfig, productVersion, disks: 1 });
  for (const [field, value] of Object.entries(copied.customValues))
    await switchboard.setCustomValue(moref, field, value);
  if (record !== undefined) {
    await using vcenter = connectVCenter({
      url: env['GOVC_URL'] ?? '',
      credentials: async () => ({ user: env['GOVC_USERNAME'] ?? '', password: env['GOVC_PASSWORD'] ?? '' }),
      tls: { ca: await readFile(env['GOVC_TLS_CA_CERTS'] ?? '', 'utf8') },
      env: {},
    });
    const made = (await vcenter.vm({ type: 'VirtualMachine', value: moref })) ?? assert.fail();
    const identity = identityOf(await vcenter.instanceUuid(), made) ?? assert.fail();
    const is = fingerprintOf(made);
    await switchboard.editVm(moref, { extraConfig: { [CONTENT_KEY]: is } });
    const text = { id: identityKey(identity).slice(0, 12), kind: 'imported', is, code: record.code };
    await switchboard.setCustomValue(moref, OWNERSHIP, JSON.stringify(text));
  }
  if (template) await switchboard.convertVm(moref, 'template');
  const now = (await switchboard.vms({ folder })).find((vm) => vm.moref === moref) ?? assert.fail();
  assert.deepEqual([now.instanceUuid, now.isTemplate], [instanceUuid, template]);
  return moref;
}
