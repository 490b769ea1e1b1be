import { readFileSync } from 'node:fs';
import { after, before, suite, test } from 'node:test';
import {
  connectSwitchboard,
  startEmbeddedVCenter,
  startSandbox,
  type VCenterEndpoint,
  withoutRealServers,
} from '@drydock/sandbox';
import { connectVCenter, type VCenter } from '@drydock/vsphere';
import { type ScenarioPlaces, VCENTER_SCENARIOS } from '@drydock/vsphere/testing';
import { Agent, request } from 'undici';
import { type LibraryKeeper, libraryKeeper } from './support/content-library.ts';

/** Where the simulator's own model has things. */
const PLACES: Omit<ScenarioPlaces, 'denyPrivileges' | 'addLibraryItem' | 'convertToMachine'> = {
  folder: '/DC0/vm',
  cluster: '/DC0/host/DC0_C0',
  resourcePool: '/DC0/host/DC0_C0/Resources',
  datastore: '/DC0/datastore/LocalDS_0',
  network: '/DC0/network/VM Network',
  tagName: 'infra-scenarios',
};

/** Makes the tag as an installer does: category, then tag. */
async function makeTag(endpoint: VCenterEndpoint, ca: string): Promise<void> {
  const dispatcher = new Agent({ connect: { ca } });
  const origin = new URL(endpoint.url).origin;
  const post = async (path: string, headers: Record<string, string>, body: unknown): Promise<string> => {
    const response = await request(`${origin}/rest/com/vmware/cis/${path}`, {
      dispatcher,
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
    const answer = (await response.body.json()) as { readonly value: string };
    return answer.value;
  };
  try {
    const basic = Buffer.from(`${endpoint.user}:${endpoint.password}`).toString('base64');
    const id = await post('session', { authorization: `Basic ${basic}`, 'vmware-use-header-authn': 'true' }, {});
    const session = { 'vmware-api-session-id': id };
    const category = { name: 'openshift-scenarios', description: '', cardinality: 'SINGLE', associable_types: [] };
    const categoryId = await post('tagging/category', session, { create_spec: category });
    const tag = { name: PLACES.tagName, description: '', category_id: categoryId };
    await post('tagging/tag', session, { create_spec: tag });
  } finally {
    await dispatcher.close();
  }
}

/** What answers: the embedded vCenter, and govmomi's simulator, which needs Go once. */
const BACKENDS: Readonly<Record<string, () => Promise<{ readonly vcenter: VCenterEndpoint } & AsyncDisposable>>> = {
  embedded: async () => {
    const vcenter = await startEmbeddedVCenter();
    return { vcenter, [Symbol.asyncDispose]: () => vcenter[Symbol.asyncDispose]() };
  },
  real: () => startSandbox({ backend: 'real', vcenter: true, kubernetes: false }),
};

for (const [backend, start] of Object.entries(BACKENDS)) {
  const skip =
    backend === 'real' && withoutRealServers("it asks govmomi's simulator; the embedded vCenter passes the same suite");
  suite(`vCenter scenarios against the ${backend} vCenter`, { skip }, () => {
    let sandbox: { readonly vcenter: VCenterEndpoint } & AsyncDisposable;
    let vcenter: VCenter;
    let libraries: LibraryKeeper;
    before(async () => {
      sandbox = await start();
      const endpoint = sandbox.vcenter;
      const ca = readFileSync(endpoint.ca, 'utf8');
      await makeTag(endpoint, ca);
      vcenter = connectVCenter({
        url: endpoint.url,
        credentials: async () => ({ user: endpoint.user, password: endpoint.password }),
        tls: { ca },
      });
      const datastore = (await vcenter.findByPath(PLACES.datastore))?.value ?? '';
      libraries = await libraryKeeper(endpoint, datastore);
    });
    after(async () => {
      await libraries?.[Symbol.asyncDispose]();
      await vcenter?.[Symbol.asyncDispose]();
      await sandbox?.[Symbol.asyncDispose]();
    });
    for (const scenario of VCENTER_SCENARIOS) {
      test(scenario.name, () => {
        const switchboard = connectSwitchboard(sandbox.vcenter.switchboard);
        return scenario.run(vcenter, {
          ...PLACES,
          addLibraryItem: (library, name, files) => libraries.add(library, name, files),
          denyPrivileges: (names) => switchboard.denyPrivileges(names),
          convertToMachine: ({ value }) => switchboard.convertVm(value, 'machine'),
        });
      });
    }
  });
}
