import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { ConfigMap, Secret } from '@drydock/api';
import { goldenName, goldenNamespace } from '@drydock/boot-images';
import { createClient, loadKubeconfig } from '@drydock/kube';
import { connectVCenter, type MoRef } from '@drydock/vsphere';
import { ovfText } from '@drydock/vsphere/testing';
import { credentials, installerTemplate, place, serverName } from './voyage-cluster.ts';

// A publisher as many pipelines have one: it destroys the template of a name, and imports the new one under that name.
const [, , kubeconfig = '', url = '', ca = '', folder = ''] = process.argv;
if (kubeconfig === '--version') process.exit();
const client = createClient(await loadKubeconfig({ kubeconfig }));
const { data } = await client.get(Secret, credentials);
const secret = (key: string): string => Buffer.from(data?.[`${serverName}.${key}`] ?? '', 'base64').toString();
const vcenter = connectVCenter({
  url,
  credentials: async () => ({ user: secret('username'), password: secret('password') }),
  tls: { ca: await readFile(ca, 'utf8') },
  env: {},
});

async function at(path: string): Promise<MoRef> {
  const ref = await vcenter.findByPath(path);
  if (ref === undefined) throw new Error(`there is no ${path}`);
  return ref;
}

async function wantedRelease(): Promise<string> {
  const golden = await client.get(ConfigMap, { namespace: goldenNamespace, name: goldenName });
  const stream = JSON.parse(golden.data?.['stream'] ?? '{}') as Record<string, Record<string, Stream>>;
  return stream['architectures']?.['x86_64']?.artifacts.vmware.release ?? '';
}

interface Stream {
  readonly artifacts: { readonly vmware: { readonly release: string } };
}

async function publish(release: string): Promise<void> {
  const parent = await at(folder);
  const old = await vcenter.findChild(parent, installerTemplate);
  if (old !== undefined && (await vcenter.vm(old))?.productVersion === release) return;
  if (old !== undefined) await vcenter.destroy(old);
  const [host] = await vcenter.hosts(await at(place.computeCluster));
  if (host === undefined) throw new Error('there is no host');
  const disk = Buffer.alloc(2 ** 20, 7);
  await using lease = await vcenter.startImport({
    descriptor: ovfText({ size: disk.length, version: release }),
    name: installerTemplate,
    resourcePool: await at(place.resourcePool),
    datastore: await at(place.datastore),
    folder: parent,
    host: host.ref,
    networks: new Map([['VM Network', await at('/DC0/network/VM Network')]]),
    diskProvisioning: 'thin',
    instanceUuid: randomUUID(),
    extraConfig: new Map(),
  });
  for (const file of lease.files) await lease.upload(file, { size: disk.length, open: () => Readable.from([disk]) });
  await lease.complete();
  await vcenter.markAsTemplate(lease.vm);
}

for (;;) {
  await publish(await wantedRelease());
  await sleep(50);
}
