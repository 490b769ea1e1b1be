import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { after, before, test } from 'node:test';
import { ConfigMap, CustomResourceDefinition, Event, Lease, Payload } from '@drydock/api';
import {
  createClient,
  isForbidden,
  isInvalid,
  isNotFound,
  type KubeClient,
  loadKubeconfig,
  readStatusNote,
} from '@drydock/kube';
import { firstSeed, generator, repetitions } from '@drydock/model';
import type { TestSigner } from '@drydock/release/testing';
import { fromJSONSchema } from 'zod';
import type { ApiCall } from './support/audit-log.ts';
import { runCommand } from './support/image-cli.ts';
import { eventually } from './support/kube-kinds.ts';
import { superfluous, uncovered } from './support/rbac-coverage.ts';
import { accountNamespace, grantsTo } from './support/rbac-manifests.ts';
import type { ReleaseRegistry } from './support/release-registry.ts';
import { type ReleaseOperator, type ReleaseRig, startReleaseRig } from './support/release-rig.ts';

// The release manager as it is deployed: with the rights of its role alone, on a real API server, against a registry with signatures.

const root = resolve(import.meta.dirname, '../..');
const shop = 'shop';
const account = { namespace: accountNamespace, name: 'drydock-payloads' };
const RBAC = '/apis/rbac.authorization.k8s.io/v1';

let rig: ReleaseRig;
let client: KubeClient;
let registry: ReleaseRegistry;
let signer: TestSigner;

before(async () => {
  rig = await startReleaseRig({ kustomizations: ['release'], namespaces: [shop] });
  ({ client, registry, signer } = rig);
  await grant('shop', [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'create', 'update', 'delete'] }]);
});
after(async () => {
  await rig?.[Symbol.asyncDispose]();
});

/** Gives the account of the Payloads more rights in the namespace of what they apply. */
const grant = (name: string, rules: readonly object[]): Promise<void> =>
  rig.grant(name, rules, { namespace: shop, account });
const operator = (identity?: string): Promise<ReleaseOperator> => rig.operator(identity);

const configMap = (name: string, data: object = {}) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: shop },
  data,
});
const payload = (name: string, image: string, more: object = {}): Payload => ({
  metadata: { name },
  spec: {
    image,
    serviceAccount: account,
    verify: { keyRings: [{ name: 'ours', keys: signer.publicKey }], stores: [registry.store] },
    ...more,
  },
});
const conditionOf = async (name: string, type: string): Promise<string> => {
  const { status } = await client.get(Payload, { name });
  const found = status?.conditions?.find((one) => one.type === type);
  return found === undefined ? '' : `${found.status} ${found.reason}: ${found.message}`;
};
const headOf = async (name: string): Promise<string> => {
  const [head] = (await client.get(Payload, { name })).status?.history ?? [];
  return `${head?.version} ${head?.state}`;
};
const completed = (name: string, version: string): Promise<void> =>
  eventually(`${name} ${version}`, async () => (await headOf(name)) === `${version} Completed`);
const dataOf = async (name: string): Promise<object | undefined> => {
  try {
    return (await client.get(ConfigMap, { namespace: shop, name })).data;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
};
const ran = (...args: readonly string[]): Promise<string> => rig.ran(...args);
const fits = (schema: string, value: unknown): void => {
  const read = fromJSONSchema(JSON.parse(readFileSync(join(root, `docs/schemas/${schema}.json`), 'utf8')) as never);
  assert.deepEqual(read.safeParse(value).error?.issues ?? [], []);
};
const callsOf = (name: string): readonly ApiCall[] => rig.callsOf(name);

test('a Payload is applied in the name of its account, goes on, and back by its version without a store of signatures', async () => {
  await using running = await operator();
  const first = await registry.release('1.0.0', { '0000_10_a_1.yaml': configMap('a', { version: '1' }) }, signer);
  const second = await registry.release(
    '1.0.1',
    { '0000_10_a_1.yaml': configMap('a', { version: '2' }), '0000_20_a_1.yaml': configMap('b') },
    signer,
  );
  await client.create(Payload, payload('tools', first));
  await completed('tools', '1.0.0');
  assert.deepEqual(await dataOf('a'), { version: '1' });
  await client.mergePatch(Payload, { name: 'tools' }, { spec: { image: second } });
  await completed('tools', '1.0.1');
  assert.deepEqual(await dataOf('a'), { version: '2' });
  registry.forgetSignatures();
  await client.mergePatch(Payload, { name: 'tools' }, { spec: { image: null, version: '1.0.0' } });
  await completed('tools', '1.0.0');
  assert.deepEqual(await dataOf('a'), { version: '1' });
  await eventually(
    'the way back is judged',
    async () => !(await conditionOf('tools', 'Rollbackable')).includes('NoReleaseBefore'),
  );
  // Writes of objects bear the name of the account; what the role does itself is what its rules say.
  const own = callsOf('drydock-release');
  assert.ok(own.length > 20, `${own.length} calls`);
  assert.match(await running.served('metrics'), /payload_status_write_age_seconds\{resource="payloads",name="tools"\}/);

  const status = JSON.parse(await ran('release', 'status', '-o', 'json')) as {
    readonly releases: readonly { readonly name: string; readonly version: string }[];
  };
  fits('release-status', status);
  assert.deepEqual(
    status.releases.map(({ name, version }) => `${name} ${version}`),
    ['Payload tools 1.0.0'],
  );
  const history = JSON.parse(await ran('release', 'history', 'tools', '-o', 'json')) as {
    readonly history: readonly { readonly version: string; readonly verified: boolean }[];
  };
  fits('release-history', history);
  assert.deepEqual(
    history.history.map(({ version, verified }) => `${version} ${verified}`),
    ['1.0.0 true', '1.0.1 true', '1.0.0 true'],
  );
  assert.match(await ran('release', 'status'), /^Payload tools +1\.0\.0 +- +False +True/m);
  // REL-11: who leads is said first, and what nobody has seen is not told as if it were so.
  assert.match(
    await ran('release', 'status', '--check', '--lease-namespace', accountNamespace),
    /^\S+ leads releases since \d+s\n/,
  );
  await running.crash();
  await client.mergePatch(Payload, { name: 'tools' }, { spec: { image: second } });
  const { code, out } = await runCommand(rig.sandbox, [
    'release',
    'status',
    '--check',
    '--lease-namespace',
    accountNamespace,
  ]);
  assert.equal(code, 5, out);
  assert.match(out, /^(nobody leads releases|one leads releases) since /);
  assert.match(out, /^Payload tools +1\.0\.0 +not seen yet/m);
  await client.mergePatch(Payload, { name: 'tools' }, { spec: { image: null } });
});

test('an account that may not be impersonated applies nothing, and who may not act in the name of an account makes no Payload for it', async () => {
  await using running = await operator();
  const image = await registry.release('3.0.0', { '0000_10_a_1.yaml': configMap('stolen') }, signer);
  await client.create(Payload, payload('thief', image, { serviceAccount: { namespace: 'default', name: 'default' } }));
  await eventually('it fails', async () => (await conditionOf('thief', 'Failing')).startsWith('True'));
  assert.match(await conditionOf('thief', 'Failing'), /impersonate/);
  assert.equal(await dataOf('stolen'), undefined);
  await client.delete(Payload, { name: 'thief' });

  // Somebody who may write Payloads, and nothing else.
  const author = `${RBAC}/clusterroles`;
  await client.raw({
    method: 'POST',
    path: author,
    body: {
      metadata: { name: 'author' },
      rules: [{ apiGroups: ['drydock.dev'], resources: ['payloads'], verbs: ['create', 'patch', 'get', 'delete'] }],
    },
  });
  const subjects = [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'ann' }];
  await client.raw({
    method: 'POST',
    path: `${RBAC}/clusterrolebindings`,
    body: {
      metadata: { name: 'author' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'author' },
      subjects,
    },
  });
  await using ann = createClient({
    ...(await loadKubeconfig({ kubeconfig: rig.sandbox.kubeconfig })),
    impersonate: { user: 'ann', groups: ['system:authenticated'] },
  });
  const refused = async (): Promise<string> => {
    try {
      await ann.create(Payload, payload('anns', image));
      return '';
    } catch (error) {
      if (isForbidden(error) || isInvalid(error)) return (error as Error).message;
      throw error;
    }
  };
  await eventually('the policy holds', async () =>
    (await refused()).includes('may not impersonate ServiceAccount drydock/drydock-payloads'),
  );
  await client.raw({
    method: 'POST',
    path: `${RBAC}/namespaces/${accountNamespace}/roles`,
    body: {
      metadata: { name: 'ann' },
      rules: [
        { apiGroups: [''], resources: ['serviceaccounts'], resourceNames: [account.name], verbs: ['impersonate'] },
      ],
    },
  });
  await client.raw({
    method: 'POST',
    path: `${RBAC}/namespaces/${accountNamespace}/rolebindings`,
    body: {
      metadata: { name: 'ann' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'ann' },
      subjects,
    },
  });
  await eventually('she may', async () => (await refused()) === '');
  await client.delete(Payload, { name: 'anns' });
  assert.doesNotMatch(running.log(), /BEGIN PGP/);
});

test('of two Payloads with one object the later one is refused before anything of it is applied', async () => {
  await using _running = await operator();
  const image = await registry.release(
    '2.0.0',
    { '0000_10_a_1.yaml': configMap('a', { version: 'theirs' }), '0000_20_a_1.yaml': configMap('theirs') },
    signer,
  );
  await client.create(Payload, payload('second', image));
  await eventually('it is refused', async () =>
    (await conditionOf('second', 'ReleaseAccepted')).startsWith('False PreconditionChecks'),
  );
  assert.match(await conditionOf('second', 'ReleaseAccepted'), /ConfigMap shop\/a belongs to Payload tools/);
  assert.deepEqual([await dataOf('a'), await dataOf('theirs')], [{ version: '1' }, undefined]);
  await client.delete(Payload, { name: 'second' });
});

test('RB-R29 a second process waits while the first applies; SIGTERM ends that with a last status and the Lease given back', async () => {
  const first = await operator('first');
  const holder = async (): Promise<string> =>
    (await client.get(Lease, { namespace: accountNamespace, name: 'drydock-release' })).spec?.holderIdentity ?? '';
  await eventually('the first leads', async () => (await holder()) === 'first');
  // It has no right to Secrets yet, so that it tries for a while.
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's', namespace: shop }, stringData: { a: 'b' } };
  const image = await registry.release(
    '1.1.0',
    { '0000_10_a_1.yaml': configMap('a', { version: '3' }), '0000_20_a_1.yaml': secret },
    signer,
  );
  await client.mergePatch(Payload, { name: 'tools' }, { spec: { image, version: null } });
  await eventually('it is being applied', async () => (await headOf('tools')) === '1.1.0 Partial');
  await using second = await operator('second');
  await eventually(
    'the second waits',
    async () => (await second.served('readyz')).startsWith('ok') || /"port"/.test(second.log()),
  );
  assert.equal(await holder(), 'first');
  await first[Symbol.asyncDispose]();
  assert.match(await conditionOf('tools', 'Progressing'), /^True \w+: Working towards 1\.1\.0: \d of 2 done/);
  await eventually('the second leads', async () => (await holder()) === 'second');
  await grant('secrets', [{ apiGroups: [''], resources: ['secrets'], verbs: ['get', 'create', 'update'] }]);
  await completed('tools', '1.1.0');
  assert.deepEqual(
    (await client.get(Payload, { name: 'tools' })).status?.history?.map(({ id, version }) => `${id} ${version}`),
    ['4 1.1.0', '3 1.0.0', '2 1.0.1', '1 1.0.0'],
  );
});

test('RB-R86 a status that the server refuses is told by metric, Event and Lease, the payload goes on, and it is written when the definition is whole', async () => {
  await using running = await operator('third');
  const name = 'payloads.drydock.dev';
  const { spec } = await client.get(CustomResourceDefinition, { name });
  const put = async (next: CustomResourceDefinition['spec']): Promise<void> => {
    await client.replace(CustomResourceDefinition, {
      ...(await client.get(CustomResourceDefinition, { name })),
      spec: next,
    });
  };
  const sealed = structuredClone(spec) as unknown as {
    versions: {
      schema: {
        openAPIV3Schema: { properties: { status: { required?: string[]; properties: Record<string, object> } } };
      };
    }[];
  };
  const status = sealed.versions[0]?.schema.openAPIV3Schema.properties.status ?? assert.fail('there is a status');
  status.required = ['seal'];
  status.properties['seal'] = { type: 'string', pattern: '^[0-9a-f]{64}$' };
  await completed('tools', '1.1.0');
  await put(sealed as never);
  const image = await registry.release('1.2.0', { '0000_10_a_1.yaml': configMap('a', { version: '4' }) }, signer);
  await client.mergePatch(Payload, { name: 'tools' }, { spec: { image } });
  await eventually(
    'the payload goes on',
    async () => JSON.stringify(await dataOf('a')) === JSON.stringify({ version: '4' }),
  );
  await eventually('the metric', async () =>
    /payload_status_write_blocked\{group="drydock\.dev",resource="payloads",name="tools",field="status\.seal"\} 1/.test(
      await running.served('metrics'),
    ),
  );
  await eventually('the Event', async () =>
    (await Array.fromAsync(client.list(Event, { namespace: 'default' }))).some(
      ({ reason, regarding }) => reason === 'StatusWriteBlocked' && regarding?.name === 'tools',
    ),
  );
  const note = async (): Promise<number> =>
    readStatusNote(
      (await client.get(Lease, { namespace: accountNamespace, name: 'drydock-release' })).metadata.annotations,
    )?.blocked ?? 0;
  await eventually('the Lease', async () => (await note()) === 1);
  assert.equal(await headOf('tools'), '1.1.0 Completed', 'nothing of it is stored');
  await put(spec);
  await completed('tools', '1.2.0');
  await eventually('the Lease is quiet', async () => (await note()) === 0);
});

test('a pass that changes nothing asks at most once for ten objects where the account may watch them, and for each where it may not', async () => {
  const many = Object.fromEntries(
    Array.from({ length: 120 }, (_, at) => [
      `0000_10_a_${`${at}`.padStart(3, '0')}.yaml`,
      configMap(`shelf-${at}`, { at: `${at}` }),
    ]),
  );
  const image = await registry.release('4.0.0', many, signer);
  await client.create(Payload, payload('shelf', image));
  /** What one more pass asks for, in a new process. */
  const asked = async (identity: string, risk: string): Promise<readonly ApiCall[]> => {
    await using running = await operator(identity);
    const passes = (): Promise<number> => running.passes('payloads');
    const all = (await Array.fromAsync(client.list(Payload))).length;
    await eventually('each Payload was looked at', async () => (await passes()) >= all);
    await completed('shelf', '4.0.0');
    const [before, ended] = [rig.audit.calls().length, await passes()];
    await client.mergePatch(Payload, { name: 'shelf' }, { spec: { acceptedRisks: [risk] } });
    await eventually('a pass has ended', async () => (await passes()) > ended);
    const { status, metadata } = await client.get(Payload, { name: 'shelf' });
    assert.equal(status?.observedGeneration, metadata.generation);
    return rig.audit
      .calls()
      .slice(before)
      .filter(({ resource, user }) => resource !== 'leases' && /drydock-(release|payloads)$/.test(user));
  };
  const one = await asked('blind', 'GiantHop');
  assert.ok(one.filter(({ verb, resource }) => verb === 'get' && resource === 'configmaps').length >= 120);
  await grant('watches', [{ apiGroups: [''], resources: ['configmaps'], verbs: ['list', 'watch'] }]);
  const calls = await asked('seeing', 'Upgradeable');
  assert.ok(
    calls.length > 0 && calls.length <= 12,
    `${calls.length} requests: ${calls.map(({ verb, resource, name }) => `${verb} ${resource} ${name}`).join(', ')}`,
  );
  await client.delete(Payload, { name: 'shelf' });
});

test('RB-R72 what a newer release deletes of an older one is told object by object before somebody goes back; claims end with the Payload', async () => {
  await using _running = await operator();
  const rules = [
    { apiGroups: ['apiextensions.k8s.io'], resources: ['customresourcedefinitions'], verbs: ['*'] },
    { apiGroups: ['shop.example.com'], resources: ['widgets'], verbs: ['list'] },
  ];
  await rig.grant('widgets', rules, { account });
  const name = 'widgets.shop.example.com';
  const schema = { openAPIV3Schema: { type: 'object' } };
  const definition = (annotations: object = {}): object => ({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name, annotations },
    spec: {
      ...{ group: 'shop.example.com', scope: 'Namespaced', names: { kind: 'Widget', plural: 'widgets' } },
      versions: [{ name: 'v1', served: true, storage: true, schema }],
    },
  });
  const first = await registry.release('5.0.0', { '0000_10_a_1.yaml': definition() }, signer);
  const gone = definition({ 'release.openshift.io/delete': 'true' });
  const second = await registry.release('5.1.0', { '0000_10_a_1.yaml': gone }, signer);
  await client.create(Payload, payload('widgets', first));
  await completed('widgets', '5.0.0');
  const path = `/apis/shop.example.com/v1/namespaces/${shop}/widgets`;
  for (const widget of ['a', 'b', 'c']) {
    const body = { apiVersion: 'shop.example.com/v1', kind: 'Widget', metadata: { name: widget } };
    await client.raw({ method: 'POST', path, body });
  }
  await client.mergePatch(Payload, { name: 'widgets' }, { spec: { image: second } });
  await completed('widgets', '5.1.0');
  await client.mergePatch(Payload, { name: 'widgets' }, { spec: { image: null, version: '5.0.0' } });
  await eventually('it is refused', async () =>
    (await conditionOf('widgets', 'ReleaseAccepted')).startsWith('False PreconditionChecks'),
  );
  const said = await conditionOf('widgets', 'ReleaseAccepted');
  for (const widget of ['a', 'b', 'c'])
    assert.ok(said.includes(`${shop}/${widget} of ${name} was deleted, and comes back empty`), said);
  await client.mergePatch(Payload, { name: 'widgets' }, { spec: { acceptedRisks: [`Rollback/DELETED_DATA:${name}`] } });
  await completed('widgets', '5.0.0');

  const inventories = async (): Promise<readonly string[]> => {
    const labels = 'app.kubernetes.io/component=release-inventory';
    const all = await Array.fromAsync(client.list(ConfigMap, { namespace: accountNamespace, labels }));
    return all.flatMap(({ data }) => data?.['owner'] ?? []);
  };
  assert.ok((await inventories()).includes('Payload widgets'));
  await client.delete(Payload, { name: 'widgets' });
  await eventually('its claims have ended', async () => !(await inventories()).includes('Payload widgets'));
  await client.get(CustomResourceDefinition, { name });
  assert.deepEqual(
    [...new Set(await inventories())],
    ['Payload tools'],
    'those of the Payloads before it have ended, too',
  );
});

test('killed by SIGKILL at seeded instants while a release goes forward and back, it ends as if nobody had been killed', async () => {
  const name = 'killed';
  const data = (version: string): Record<string, object> =>
    Object.fromEntries(
      Array.from({ length: 8 }, (_, at) => [
        `0000_10_a_${at}.yaml`,
        configMap(`killed-${at}`, { version, ...(version === '7.0.0' ? { [`only-${at}`]: 'x' } : {}) }),
      ]),
    );
  const images = [
    await registry.release('7.0.0', data('7.0.0'), signer),
    await registry.release('7.0.1', data('7.0.1'), signer),
  ];
  await client.create(Payload, payload(name, images[0] ?? ''));
  const seed = firstSeed();
  const random = generator(seed);
  const kills = repetitions(4, 20, 'kills');
  for (let round = 0; round < kills; round += 1) {
    const running = await operator(`kill-${round}`);
    const before = rig.audit.calls().length;
    const calls = 20 + Math.floor(random() * 60);
    const wanted = `7.0.${round % 2} Completed`;
    await eventually(
      `it has asked ${calls} times`,
      async () => rig.audit.calls().length - before >= calls || (await headOf(name)) === wanted,
    );
    await running.crash();
    // Nobody gives the Lease back; whoever waits for its end waits for nothing that is looked at here.
    const lease = { namespace: accountNamespace, name: 'drydock-release' };
    await client.mergePatch(Lease, lease, { spec: { holderIdentity: '' } });
    await client.mergePatch(Payload, { name }, { spec: { image: images[(round + 1) % 2] ?? '' } });
  }
  await using _running = await operator('last');
  const version = `7.0.${kills % 2}`;
  await completed(name, version);
  for (let at = 0; at < 8; at += 1) {
    const wanted = { version, ...(version === '7.0.0' ? { [`only-${at}`]: 'x' } : {}) };
    assert.deepEqual(await dataOf(`killed-${at}`), wanted, `seed ${seed}`);
  }
  const history = (await client.get(Payload, { name })).status?.history ?? [];
  for (const [at, entry] of history.entries())
    assert.notEqual(entry.version, history[at + 1]?.version, `an entry is there twice; seed ${seed}`);
  const labels = 'app.kubernetes.io/component=release-inventory';
  const inventories = await Array.fromAsync(client.list(ConfigMap, { namespace: accountNamespace, labels }));
  const entries = inventories.flatMap(({ data: kept }) =>
    kept?.['owner'] === `Payload ${name}` ? (kept['entries'] ?? '').split('\n') : [],
  );
  assert.equal(entries.length, 8);
  await eventually('nothing is about to be written', async () => {
    const now = await Array.fromAsync(client.list(ConfigMap, { namespace: accountNamespace, labels }));
    return now.every(
      ({ data: kept }) => kept?.['owner'] !== `Payload ${name}` || !/"intent"/.test(kept['entries'] ?? ''),
    );
  });
  await client.delete(Payload, { name });
});

test('each call of the role is permitted by its rules, and each rule is needed', () => {
  const calls = callsOf('drydock-release').filter(({ resource }) => resource !== 'serviceaccounts');
  const grants = grantsTo('drydock-release', rig.manifests).filter(({ rule }) => !rule.verbs.includes('impersonate'));
  assert.deepEqual(
    uncovered(
      calls.filter(({ code }) => code !== 403),
      grants,
    ),
    [],
  );
  assert.deepEqual(superfluous(calls, grants), []);
});
