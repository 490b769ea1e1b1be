import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import type { ImportRequest, MoRef, UploadSource, VCenter } from '@drydock/vsphere';
import { ovfText } from '@drydock/vsphere/testing';

/** An import with its one disk. */
export type RequestWithDisk = ImportRequest & { readonly source: UploadSource };

/** An import of a small machine into the simulator's own model; the disk has 1 MiB. */
export async function makeRequest(vcenter: VCenter, name: string): Promise<RequestWithDisk> {
  const at = async (path: string): Promise<MoRef> =>
    (await vcenter.findByPath(path)) ?? assert.fail(`there is no ${path}`);
  const [host] = await vcenter.hosts(await at('/DC0/host/DC0_C0'));
  assert.ok(host);
  const disk = Buffer.alloc(2 ** 20, 7);
  return {
    descriptor: ovfText({ size: disk.length }),
    name,
    resourcePool: await at('/DC0/host/DC0_C0/Resources'),
    datastore: await at('/DC0/datastore/LocalDS_0'),
    folder: await at('/DC0/vm'),
    host: host.ref,
    networks: new Map([['VM Network', await at('/DC0/network/VM Network')]]),
    diskProvisioning: 'thin',
    instanceUuid: randomUUID(),
    extraConfig: new Map([['drydock.test', '<1>']]),
    source: { size: disk.length, open: () => Readable.from([disk]) },
  };
}
