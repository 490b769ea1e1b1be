import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { MoRef, VCenter } from '@drydock/vsphere';
import { ovfText } from '@drydock/vsphere/testing';
import { makeRequest, type RequestWithDisk } from './support/import-request.ts';
import { connectReader, startVoyage } from './support/voyage.ts';

async function imported(vcenter: VCenter, { source, ...request }: RequestWithDisk): Promise<MoRef> {
  await using lease = await vcenter.startImport(request);
  const [file] = lease.files;
  if (file !== undefined) await lease.upload(file, source);
  await lease.complete();
  return lease.vm;
}

for (const keyed of [true, false])
  test(`KEEP-10 the operator beside a neighbour who replays a removed template, ${keyed ? 'a key' : 'no key'}, ledger: cluster: 0 adopted, 0 that are not owned destroyed, 0 owned lost`, async () => {
    await using voyage = await startVoyage({ keyed });
    const { switchboard } = voyage;
    const folder = await voyage.folder('replay');
    await voyage.createSet({ name: 'first', folder });
    const [one, two] = [await voyage.image('9.8.20260802-0'), await voyage.image('9.9.20260903-0')];
    await voyage.release(one);
    await voyage.current('first', one.release);
    const name = await voyage.template('first');
    const copied = (await voyage.inventory(folder)).get(name) ?? assert.fail();
    await voyage.release(two);
    await voyage.current('first', two.release);
    const used = (await voyage.inventory(folder)).get(await voyage.template('first')) ?? assert.fail();

    // Nothing uses it, and an administrator removes it: the ledger still has it. The neighbour imports a disk of their own with all that can be read of it.
    await switchboard.destroyVm(copied.moref);
    const { instanceUuid, extraConfig, productVersion } = copied;
    await using vcenter = await connectReader(voyage.sandbox);
    const request = await makeRequest(vcenter, name);
    const parent = (await vcenter.findByPath(folder)) ?? assert.fail();
    const theirs = await imported(vcenter, {
      ...{ ...request, folder: parent, instanceUuid, extraConfig: new Map(Object.entries(extraConfig)) },
      descriptor: ovfText({ version: productVersion, product: 'rhcos', size: request.source.size, secureBoot: false }),
    });
    for (const [field, value] of Object.entries(copied.customValues))
      await switchboard.setCustomValue(theirs.value, field, value);
    await switchboard.convertVm(theirs.value, 'template');
    const copy = (await voyage.inventory(folder)).get(name);
    assert.deepEqual([copy?.moref, copy?.instanceUuid, copy?.isTemplate], [theirs.value, instanceUuid, true]);

    // The same image is needed again.
    await voyage.release(one);
    await switchboard.resetUploads();
    await voyage.createSet({ name: 'second', folder });
    await voyage.current('second', one.release);
    assert.ok((await switchboard.uploads()).count > 0);
    const is = await voyage.inventory(folder);
    const own = is.get(await voyage.template('second')) ?? assert.fail();
    assert.notEqual(own.moref, theirs.value);
    assert.deepEqual(is.get(name), copy);
    assert.equal(is.get(used.name)?.moref, used.moref);
  });
