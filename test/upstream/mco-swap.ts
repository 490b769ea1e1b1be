import { randomUUID } from 'node:crypto';
import { upstreamNames } from '@drydock/templates';
import { memoryOva } from '@drydock/templates/testing';
import { type MoRef, readOvf, type VmSummary } from '@drydock/vsphere';
import type { MemoryClient, MemoryInventory } from '@drydock/vsphere/testing';

/**
 * How openshift/machine-config-operator keeps a vSphere template current, as its public sources describe it (pkg/controller/bootimage, vSphere part, at
 * commit 7ff337a; the swap is pull request 6117). Re-enacted from the behaviour, rule by rule, to show that our tests catch what it does wrong. It is a
 * negative control: nothing of it is used.
 */
export interface UpstreamSite {
  readonly inventory: MemoryInventory;
  readonly client: MemoryClient;
  /** workspace.folder of the machine set. */
  readonly folder: string;
  /** providerSpec.template: a bare name. */
  readonly template: string;
  /** `<infrastructure name>-rhcos-<failure domain>`. */
  readonly computed: string;
  /** The release that the stream names. */
  readonly release: string;
  /** Tag named after the infrastructure. */
  readonly tagName: string;
}

/** Finder by bare name over the whole datacenter: several matches are an error. */
async function find(site: UpstreamSite, name: string): Promise<VmSummary | undefined> {
  const found = [...site.inventory.state.machines.values()].filter((machine) => machine.name === name);
  if (found.length > 1) throw new Error(`finder had error: path '${name}' resolves to multiple vms`);
  const [one] = found;
  return one === undefined ? undefined : site.client.vm(one.ref);
}

async function inFolder(site: UpstreamSite, name: string): Promise<VmSummary | undefined> {
  const ref = await site.client.findChild(site.inventory.at(site.folder), name);
  return ref === undefined ? undefined : site.client.vm(ref);
}

/** One sync of one machine set; returns the name that providerSpec.template is patched to. */
export async function mcoSync(site: UpstreamSite): Promise<string> {
  const { template, computed, release } = site;
  // An existing template: the configured one if it is in the folder; else the computed one, found without a scope; else the rollback copy, of the computed
  // name only.
  const folder = site.inventory.at(site.folder);
  let existing = template === computed ? undefined : await inFolder(site, template);
  let name = template;
  if (existing === undefined) {
    name = computed;
    const anywhere = await find(site, computed);
    existing = anywhere?.parent?.value === folder.value ? anywhere : undefined;
  }
  if (existing === undefined) {
    const rollback = await find(site, upstreamNames(computed).old);
    if (rollback !== undefined) {
      await site.client.rename(rollback.ref, computed);
      existing = await find(site, computed);
    }
  }
  // Any difference of versions is a reason, and equality is none: also no reason to look for leftovers.
  if (existing !== undefined && existing.productVersion === undefined)
    throw new Error(`unable to determine RHCOS version of virtual machine: ${template}`);
  if (existing?.productVersion === release) return name;
  await createAndSwap(site, name, existing?.ref);
  return name;
}

async function createAndSwap(site: UpstreamSite, name: string, existing: MoRef | undefined): Promise<void> {
  const { client, inventory } = site;
  const { temp, old } = upstreamNames(name);
  // Leftovers of both fixed names go first, wherever they are and whoever made them.
  await destroyIfPresent(site, temp);
  await destroyIfPresent(site, old);
  const hosts = (await client.hosts(inventory.at('/DC0/host/C0'))).filter((host) => !host.inMaintenanceMode);
  const [host] = hosts;
  if (host === undefined) throw new Error('failed to find available host system: all hosts unavailable');
  await using ova = await memoryOva({ version: site.release }).open({ release: '', location: '', sha256: '' }, {});
  const descriptor = readOvf(ova.descriptor);
  const lease = await client.startImport({
    descriptor: ova.descriptor,
    name: temp,
    resourcePool: inventory.at('/DC0/host/C0/Resources'),
    datastore: inventory.at('/DC0/datastore/DS0'),
    folder: inventory.at(site.folder),
    host: host.ref,
    networks: new Map([[descriptor.networks[0] ?? '', inventory.at('/DC0/network/VM Network')]]),
    diskProvisioning: '',
    instanceUuid: randomUUID(),
    extraConfig: new Map(),
  });
  for (const file of lease.files) {
    const source = ova.source(file.path);
    // An upload that fails leaves its lease as it is.
    if (source !== undefined) await lease.upload(file, source);
  }
  await lease.complete();
  if (descriptor.secureBoot === true) await client.reconfigure(lease.vm, { secureBoot: false });
  await client.markAsTemplate(lease.vm);
  // Tags come after the upload, and by name.
  const [tag] = await client.tags.named(site.tagName);
  if (tag === undefined) throw new Error('failed to attach tag: unable to attach tag: not found');
  await client.tags.attach(lease.vm, [tag.id]);
  if (existing === undefined) return client.rename(lease.vm, name);
  // No look at what bears the name: not whether it is a template, nor whether it runs.
  await client.rename(existing, old);
  await client.rename(lease.vm, name);
  await client.destroy(existing);
}

async function destroyIfPresent(site: UpstreamSite, name: string): Promise<void> {
  const vm = await find(site, name);
  if (vm !== undefined) await site.client.destroy(vm.ref);
}
