import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { BootImagePolicy } from '@drydock/api';
import { ApiError, type Client, type KubeObject, type Resource } from '@drydock/kube';
import { parse } from 'yaml';
import { installationIn } from './installation.ts';
import { leftoversOf } from './leftovers.ts';
import { exporter, exportText } from './written.ts';

test('OWN-18 canaries of Cluster API are ours to take off in every namespace, in the version of the contract that is there; machines that a set has taken are not', async () => {
  const group = '0123456789ab';
  const labels = { 'drydock.dev/canary': group, 'app.kubernetes.io/managed-by': 'drydock' };
  const machine = (name: string, more: object = {}): KubeObject => ({
    metadata: { namespace: 'team-a', name, uid: name, labels, ...more },
  });
  const owner = { apiVersion: 'v1', kind: 'MachineSet', name: 's', uid: 's', controller: true };
  const there = [
    machine(`drydock-canary-${group}`, { ownerReferences: [{ ...owner, kind: 'Cluster', controller: false }] }),
    machine('drydock-canary-ba9876543210'),
    machine('drydock-canary-of-mine'),
  ];
  const taken = machine(`drydock-canary-${group}`, { namespace: 'team-b', ownerReferences: [owner] });
  for (const served of ['v1beta2', 'v1beta1']) {
    const client = {
      get: async () => {
        throw new ApiError({ code: 'NotFound', action: 'get', said: 'there is none' });
      },
      list: async function* (resource: { readonly group: string; readonly version: string; readonly kind: string }) {
        if (resource.group !== 'cluster.x-k8s.io') return;
        if (resource.version !== served)
          throw new ApiError({ code: 'NotFound', action: 'list', said: 'it is not served' });
        yield* [...there, taken];
      },
    } as unknown as Pick<Client, 'list' | 'get'>;
    const { signal } = new AbortController();
    const { canaries } = await installationIn(client, { leaseNamespace: 'drydock', signal });
    assert.deepEqual(
      canaries.map(({ resource, key, uid }) => [resource.version, key.namespace, key.name, uid]),
      [[served, 'team-a', `drydock-canary-${group}`, `drydock-canary-${group}`]],
    );
  }
});

test('OWN-18 the ownership ledger stays, and is named; the other ConfigMaps of the operator go', async () => {
  const metadata = (name: string) => ({ namespace: 'drydock', name, uid: name });
  const client = {
    get: async () => {
      throw new ApiError({ code: 'NotFound', action: 'get', said: 'there is none' });
    },
    list: async function* ({ kind }: { readonly kind: string }, where: { readonly namespace?: string }) {
      if (kind !== 'ConfigMap' || where.namespace !== 'drydock') return;
      for (const name of ['drydock-ownership-0', 'drydock-ownership-3', 'drydock-logins'])
        yield { metadata: metadata(name) };
    },
  } as unknown as Pick<Client, 'list' | 'get'>;
  const { signal } = new AbortController();
  const installation = await installationIn(client, { leaseNamespace: 'drydock', signal });
  assert.deepEqual(
    installation.records.map(({ key }) => key.name),
    ['drydock-logins'],
  );
  const images = { world: { infrastructure: () => undefined } } as unknown as Parameters<typeof leftoversOf>[1];
  const stays = await leftoversOf(installation, images, signal);
  assert.ok(
    stays.includes(
      'ConfigMaps drydock/drydock-ownership-0, drydock/drydock-ownership-3: they record which templates Drydock owns, and the next installation needs them',
    ),
    stays.join('\n'),
  );
});

test('FIND-22: what people wrote is exported as kubectl takes it, each object once, and never over another file', async () => {
  const object = {
    metadata: {
      ...{ name: 'workers', uid: 'u', resourceVersion: '7', managedFields: [{}] },
      annotations: { team: 'a', 'kubectl.kubernetes.io/last-applied-configuration': '{}' },
    },
    spec: { priority: 3 },
    status: { observedGeneration: 1 },
  };
  const resource = BootImagePolicy as Resource<KubeObject>;
  const said = {
    ...{ apiVersion: 'drydock.dev/v1alpha1', kind: 'BootImagePolicy' },
    ...{ metadata: { name: 'workers', annotations: { team: 'a' } }, spec: { priority: 3 } },
  };
  assert.deepEqual(parse(exportText([{ resource, object }])), said);
  const folder = mkdtempSync(join(tmpdir(), 'export-'));
  try {
    const file = join(folder, 'objects.yaml');
    const keep = exporter(file);
    assert.equal(await keep([]), undefined);
    assert.equal(await keep([{ resource, object }]), file);
    assert.equal(await keep([{ resource, object }]), undefined);
    const later = { ...object, spec: { priority: 4 } };
    assert.equal(await keep([{ resource, object: later }]), join(folder, 'objects.2.yaml'));
    assert.deepEqual(parse(readFileSync(file, 'utf8')), said);
    await assert.rejects(exporter(file)([{ resource, object }]), /is there already, and may be the only copy/);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
