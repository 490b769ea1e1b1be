import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CORE, INFRASTRUCTURE, servedKinds } from './kinds.ts';

/** An API server that serves these kinds, by group and version. */
function serving(groups: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>) {
  const raw = async ({ path }: { readonly path: string }): Promise<unknown> => {
    if (path === '/apis')
      return {
        groups: Object.entries(groups).map(([name, versions]) => ({
          name,
          versions: Object.keys(versions).map((version) => ({ version })),
          preferredVersion: { version: Object.keys(versions)[0] },
        })),
      };
    const [, , group = '', version = ''] = path.split('/');
    const kinds = groups[group]?.[version] ?? [];
    return {
      resources: kinds.flatMap((kind) => {
        const name = `${kind.toLowerCase()}s`;
        return [
          { name, kind, namespaced: kind !== 'Zone' },
          { name: `${name}/status`, kind, namespaced: true },
        ];
      }),
    };
  };
  return servedKinds({ raw });
}

test('the newest contract version that is served counts, and of a provider the one that it prefers', async () => {
  const both = await serving({
    [CORE]: { v1beta1: ['Cluster', 'MachineDeployment'], v1beta2: ['Cluster', 'MachineDeployment'] },
    [INFRASTRUCTURE]: { v1beta1: ['VSphereMachineTemplate', 'Zone'] },
  });
  assert.equal(both.of(CORE, 'MachineDeployment')?.version, 'v1beta2');
  assert.deepEqual(both.of(INFRASTRUCTURE, 'VSphereMachineTemplate'), {
    ...{ group: INFRASTRUCTURE, version: 'v1beta1', kind: 'VSphereMachineTemplate' },
    ...{ plural: 'vspheremachinetemplates', scope: 'Namespaced' },
  });
  assert.equal(both.of(INFRASTRUCTURE, 'Zone')?.scope, 'Cluster');
  assert.equal(both.openshift, false);
  const older = await serving({ [CORE]: { v1beta1: ['MachineDeployment'] } });
  assert.equal(older.of(CORE, 'MachineDeployment')?.version, 'v1beta1');
  assert.notEqual(older.fingerprint, both.fingerprint);
});

test('versions that are not spoken, and clusters without Cluster API, have no kinds', async () => {
  const old = await serving({ [CORE]: { v1alpha4: ['MachineDeployment'] } });
  assert.equal(old.of(CORE, 'MachineDeployment'), undefined);
  const openshift = await serving({ 'machine.openshift.io': { v1beta1: [] }, 'config.openshift.io': { v1: [] } });
  assert.deepEqual([openshift.of(CORE, 'Cluster'), openshift.openshift], [undefined, true]);
});
