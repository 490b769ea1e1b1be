import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startSandbox } from '@drydock/sandbox';
import { CRDS, connectCrdServer } from './support/crd-server.ts';
import { causesOf, crdOf } from './support/crd-trap.ts';

// What a ledger and a storage migration meet on a real server.

const RBAC = '/apis/rbac.authorization.k8s.io/v1';

test('a ConfigMap holds values of 1 MiB together and not one byte more', async () => {
  await using sandbox = await startSandbox();
  await using server = connectCrdServer(sandbox);
  const make = (bytes: number) =>
    server.call({
      method: 'POST',
      path: '/api/v1/namespaces/default/configmaps?dryRun=All',
      body: { metadata: { name: 'ledger' }, data: { l: 'x'.repeat(bytes) } },
    });
  assert.equal((await make(1 << 20)).status, 201);
  assert.deepEqual(causesOf(await make((1 << 20) + 1)), ['[] FieldValueTooLong']);
});

test('trimming the stored versions of a definition needs a right to its status, and none to the definition', async () => {
  await using sandbox = await startSandbox();
  await using server = connectCrdServer(sandbox);
  const crd = crdOf('olds', {});
  await server.install(crd);
  const grant = async (name: string, resource: string): Promise<void> => {
    const rules = [{ apiGroups: ['apiextensions.k8s.io'], resources: [resource], verbs: ['patch'] }];
    const subjects = [{ kind: 'User', name, apiGroup: 'rbac.authorization.k8s.io' }];
    const roleRef = { kind: 'ClusterRole', name, apiGroup: 'rbac.authorization.k8s.io' };
    for (const [plural, body] of [
      ['clusterroles', { rules }],
      ['clusterrolebindings', { subjects, roleRef }],
    ] as const) {
      const made = await server.call({
        method: 'POST',
        path: `${RBAC}/${plural}`,
        body: { metadata: { name }, ...body },
      });
      assert.equal(made.status, 201);
    }
  };
  await grant('definitions', 'customresourcedefinitions');
  await grant('statuses', 'customresourcedefinitions/status');
  const trim = async (as: string): Promise<number> => {
    const path = `${CRDS}/${crd.name}/status`;
    const body = { status: { storedVersions: ['v1'] } };
    return (await server.call({ method: 'PATCH', path, body, as, type: 'application/merge-patch+json' })).status;
  };
  // Rights take a moment to be seen.
  const deadline = Date.now() + 10_000;
  while ((await trim('statuses')) !== 200) assert.ok(Date.now() < deadline, 'the right is not seen');
  assert.equal(await trim('definitions'), 403);
});
