import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, test } from 'node:test';
import { CLASS_MEANINGS } from '@drydock/crd';
import { clusterVersionManifest, clusterVersionObject } from '@drydock/crd/testing';
import { systemClock } from '@drydock/kube';
import { httpAnswer, memoryCluster, misbehavingServer, sendJson } from '@drydock/kube/testing';
import {
  applyPayload,
  configMapInventory,
  loadPayload,
  openshiftAudience,
  readPayloadDirectory,
  select,
} from '@drydock/release';
import { signedBy, testImage, testSigner } from '@drydock/release/testing';
import { parse } from 'yaml';
import { fromJSONSchema } from 'zod';

// What is published in docs/schemas holds for what the commands print, and it has every field that they print.

const scratch = mkdtempSync(join(tmpdir(), 'drydock-schemas-'));
after(() => rmSync(scratch, { recursive: true, force: true }));

type JsonSchema = Parameters<typeof fromJSONSchema>[0] & object;

function published(name: string): JsonSchema {
  const file = new URL(`../../../../docs/schemas/${name}.json`, import.meta.url);
  return JSON.parse(readFileSync(file, 'utf8')) as JsonSchema;
}

/** The same with no field but those that it names. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== 'object' || schema === null) return schema;
  const inner = Object.fromEntries(Object.entries(schema).map(([key, of]) => [key, closed(of)]));
  return inner['type'] === 'object' ? { ...inner, additionalProperties: false } : inner;
}

/** What is wrong with a value, as sentences. */
function flaws(name: string, value: unknown): readonly string[] {
  const { error } = fromJSONSchema(closed(published(name)) as JsonSchema).safeParse(value);
  return (error?.issues ?? []).map(({ message, path }) => `${path.join('.')}: ${message}`);
}

async function drydock(...args: readonly string[]): Promise<string> {
  const bin = new URL('../../bin/drydock.js', import.meta.url).pathname;
  const child = spawn(process.execPath, [bin, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  return text(child.stdout);
}

function file(name: string, content: unknown): string {
  const path = join(scratch, name);
  writeFileSync(path, JSON.stringify(content));
  return path;
}

const [F13, F14] = [file('13.json', clusterVersionManifest(13)), file('14.json', clusterVersionManifest(14))];

/** Runs a verb against a server that answers a request for a plural with these objects. */
async function against(
  answer: (plural: string | undefined, query: URLSearchParams) => readonly unknown[],
  ...args: readonly string[]
): Promise<string> {
  await using host = await misbehavingServer(({ path, query }, response) => {
    if (path === '/version') return sendJson(response, { major: '1', minor: '34' });
    if (path === '/apis') return sendJson(response, { groups: [] });
    return sendJson(response, { metadata: { resourceVersion: '9' }, items: answer(path.split('/').at(-1), query) });
  });
  const kubeconfig = file('kubeconfig', {
    clusters: [{ name: 'c', cluster: { server: host.config.server } }],
    users: [{ name: 'u', user: {} }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  });
  return await drydock(...args, '--kubeconfig', kubeconfig);
}

/** A cluster with a ClusterVersion of 4.14, and what a killed probe left. */
async function crd(...args: readonly string[]): Promise<string> {
  const shadow = { name: 'things-probe-1-0.shadow.drydock.dev', labels: { 'drydock.dev/shadow': 'probe-1' } };
  const definitions = [
    clusterVersionManifest(14),
    { metadata: { ...shadow, creationTimestamp: '2026-01-02T03:04:05Z' }, spec: {} },
  ];
  const answer = (plural: string | undefined, query: URLSearchParams): readonly unknown[] => {
    if (plural === 'clusterversions') return [clusterVersionObject(14)];
    if (plural !== 'customresourcedefinitions') return [];
    return query.has('labelSelector') ? definitions.slice(1) : definitions;
  };
  return await against(answer, 'crd', ...args);
}

test('crd check prints what its schema says, as JSON and as YAML', async () => {
  const check = JSON.parse(await drydock('crd', 'check', F13, F14, '-o', 'json')) as {
    readonly ways: readonly object[];
  };
  assert.ok(check.ways.length === 2);
  assert.deepEqual(flaws('crd-check', check), []);
  assert.deepEqual(flaws('crd-check', parse(await drydock('crd', 'check', F13, F14, '-o', 'yaml'))), []);
  // The control: a field that nobody described, one that is absent, one of another kind.
  assert.equal(flaws('crd-check', { ...check, more: 1 }).length, 1);
  assert.equal(flaws('crd-check', { ways: check.ways }).length, 3);
  assert.equal(flaws('crd-check', { ...check, ways: [{ ...check.ways[0], verdict: 'perhaps' }] }).length, 1);
});

test('RB-R41: crd preflight prints what its schema says, with findings of a definition and of an object', async () => {
  const answer = JSON.parse(await crd('preflight', '--to', F13, '--show-values', '-o', 'json')) as {
    readonly verdict: string;
    readonly findings: readonly { readonly class: string }[];
  };
  assert.deepEqual(flaws('crd-preflight', answer), []);
  assert.equal(answer.verdict, 'blocked');
  assert.deepEqual(new Set(answer.findings.map((finding) => finding.class)), new Set(['LATENT', 'UNDECIDED']));
  assert.deepEqual(flaws('crd-preflight', parse(await crd('preflight', '--to', F14, '-o', 'yaml'))), []);
});

test('the classes in the schema are those that there are', () => {
  const { $defs } = published('crd-preflight') as {
    readonly $defs: { readonly finding: { readonly properties: { readonly class: { readonly enum: unknown } } } };
  };
  assert.deepEqual($defs.finding.properties.class.enum, Object.keys(CLASS_MEANINGS));
});

test('crd doctor prints what its schema says', async () => {
  const answer = JSON.parse(await crd('doctor', '-o', 'json')) as { readonly left: readonly object[] };
  assert.deepEqual([flaws('crd-doctor', answer), answer.left.length], [[], 1]);
});

/** A folder with a payload: a definition, and an object that only the older release has. */
function payload(minor: 13 | 14): string {
  const folder = join(scratch, `payload-${minor}`);
  mkdirSync(folder, { recursive: true });
  const version = `4.${minor}.0`;
  const profile = { 'include.release.openshift.io/self-managed-high-availability': 'true' };
  const definition = clusterVersionManifest(minor) as { readonly metadata: object };
  const config = (name: string, annotations: object) => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace: 'n', annotations },
  });
  const files = {
    'release-metadata': { kind: 'cincinnati-metadata-v0', version, previous: ['4.12.9'] },
    'image-references': {
      kind: 'ImageStream',
      metadata: { name: version },
      spec: { tags: [{ name: 'cli', from: { name: 'example.com/cli' } }] },
    },
    '0000_10_a_crd.yaml': { ...definition, metadata: { ...definition.metadata, annotations: profile } },
    '0000_20_a_config.yaml': config(minor === 13 ? 'old' : 'new', profile),
    '0000_20_a_deleted.yaml': config(
      'gone',
      minor === 13 ? profile : { ...profile, 'release.openshift.io/delete': 'true' },
    ),
    '0000_30_b_other.yaml': config('other', { ...profile, 'release.openshift.io/feature-set': 'TechPreviewNoUpgrade' }),
  };
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), JSON.stringify(content));
  return folder;
}

/** The same payload as an image in a folder. */
async function layoutOf(folder: string): Promise<string> {
  const entries = readdirSync(folder).map(
    (name) => [`release-manifests/${name}`, readFileSync(join(folder, name))] as const,
  );
  const { digest, mediaType, blobs } = await testImage([entries], {
    architectures: ['amd64', 'arm64', 'ppc64le', 's390x'],
  });
  const layout = join(scratch, 'layout');
  mkdirSync(join(layout, 'blobs/sha256'), { recursive: true });
  for (const [of, { bytes }] of blobs) writeFileSync(join(layout, 'blobs/sha256', of.slice('sha256:'.length)), bytes);
  const annotations = { 'org.opencontainers.image.ref.name': '4.14.0' };
  writeFileSync(
    join(layout, 'index.json'),
    JSON.stringify({ schemaVersion: 2, manifests: [{ digest, mediaType, annotations }] }),
  );
  return layout;
}

test('release load and diff print what their schemas say, and tables that name what stops the way back', async () => {
  const [old, now] = [payload(13), payload(14)];
  const loaded = JSON.parse(await drydock('release', 'load', now, '-o', 'json')) as {
    readonly applied: readonly object[];
  };
  assert.deepEqual([flaws('release-load', loaded), loaded.applied.length], [[], 3]);
  const layout = await layoutOf(now);
  const fromImage = JSON.parse(
    await drydock('release', 'load', `oci:${layout}:4.14.0`, '-o', 'json'),
  ) as typeof loaded & { readonly digest: string };
  assert.deepEqual(
    [flaws('release-load', fromImage), fromImage.applied, /^sha256:[0-9a-f]{64}$/.test(fromImage.digest)],
    [[], loaded.applied, true],
  );
  const diff = JSON.parse(await drydock('release', 'diff', old, now, '-o', 'json')) as Readonly<
    Record<string, readonly object[]>
  >;
  assert.deepEqual(flaws('release-diff', diff), []);
  const [added, removed, changed, deleted, definitions] = ['added', 'removed', 'changed', 'deleted', 'definitions'].map(
    (key) => diff[key]?.length,
  );
  assert.deepEqual([added, removed, changed, deleted, definitions], [1, 1, 1, 1, 1]);
  const table = await drydock('release', 'diff', old, now, '-o', 'wide');
  assert.match(table, /^4\.13\.0 → 4\.14\.0: 1 new, 1 changed, 1 no longer there, 1 deleted\.$/m);
  assert.match(
    table,
    /^Going back to 4\.13\.0 refuses or loses something in 1 definition: clusterversions\.config\.openshift\.io\.$/m,
  );
  assert.match(table, /^adds +ConfigMap n\/new +stays behind when going back to 4\.13\.0$/m);
  assert.match(table, /^deletes +ConfigMap n\/gone +deleted; going back makes it again$/m);
  const left = await drydock('release', 'load', now);
  assert.match(
    left,
    /^Release 4\.14\.0, from 1 version, 1 image: 3 objects in 2 nodes would be applied, 1 left out\.$/m,
  );
  assert.match(left, /^1 object +it is for the feature set TechPreviewNoUpgrade$/m);
});

test('tree prints what its schema says: a set with all that can be said of one, and policies', async () => {
  const namespace = 'team-a';
  const image = {
    metadata: { name: 'capi-md-w', namespace, resourceVersion: '1' },
    spec: {
      machineSet: { apiGroup: 'cluster.x-k8s.io', kind: 'MachineDeployment', name: 'w' },
      pin: { release: '1', image: 'i', digest: 'd', reason: 'r', by: 'b', since: '2026-01-02T03:04:05Z' },
    },
    status: {
      ...{ set: 'capi-md/w', platform: 'vsphere', phase: 'Blocked', progress: 'blocked: X', reason: 'X', message: 'm' },
      ...{ nextStep: 'n', since: '2026-01-02T03:04:05Z', revertTo: '0', policy: 'gold', target: '2', current: '1' },
      canary: { group: 'g', machine: 'c', image: 'i', verdict: 'Failed', message: 'm' },
      template: { name: 't', release: '1' },
      history: [{ id: '1', place: 'vc1 /dc/vm/folder' }],
    },
  };
  const accepted = { type: 'Accepted', status: 'True', reason: 'Accepted', message: 'm' };
  const policy = {
    metadata: { name: 'gold', generation: 1 },
    spec: {},
    status: { observedGeneration: 1, selected: 1, conditions: [accepted] },
  };
  const answer = (plural: string | undefined): readonly unknown[] => {
    if (plural === 'bootimages') return [image];
    return plural === 'bootimagepolicies' ? [policy] : [];
  };
  const text = await against(answer, 'tree', '-o', 'json');
  const tree = JSON.parse(text) as { readonly clusters: readonly object[] };
  assert.deepEqual(flaws('tree', tree), []);
  assert.match(text, /"kind": "vCenter",\s+"region": "vc1"/);
  // Everything that the schema names of a set is in it, but for the end of a pin.
  const { $defs } = published('tree') as { readonly $defs: { readonly set: { readonly properties: object } } };
  for (const name of Object.keys($defs.set.properties)) assert.match(text, new RegExp(`"${name}":`), name);
  assert.deepEqual(flaws('tree', parse(await against(answer, 'tree', '-o', 'yaml'))), []);
  // The control.
  assert.equal(flaws('tree', { ...tree, more: 1 }).length, 1);
  assert.match(await against(() => [], 'tree', '-o', 'json'), /"clusters": \[\]/);
});

test('release verify says whether an image was signed, and by whom it was not', async () => {
  const layout = await layoutOf(payload(14));
  const [signer, stranger] = [await testSigner('ours'), await testSigner('stranger')];
  const { digest } = JSON.parse(await drydock('release', 'load', `oci:${layout}:4.14.0`, '-o', 'json')) as {
    readonly digest: string;
  };
  const store = join(scratch, 'signatures');
  mkdirSync(join(store, digest.replace(':', '=')), { recursive: true });
  writeFileSync(join(store, digest.replace(':', '='), 'signature-1'), await signedBy(signer, digest));
  const [keys, others] = [join(scratch, 'ours.asc'), join(scratch, 'others.asc')];
  writeFileSync(keys, signer.publicKey);
  writeFileSync(others, stranger.publicKey);
  const verify = (...more: readonly string[]) =>
    drydock('release', 'verify', `oci:${layout}:4.14.0`, '--store', store, ...more);
  const verified = JSON.parse(await verify('--keyring', keys, '-o', 'json')) as object;
  assert.deepEqual(
    [flaws('release-verify', verified), verified],
    [[], { image: `oci:${layout}:4.14.0`, digest, verified: true, keyRings: [keys] }],
  );
  // Without a network: the name has the digest.
  assert.match(
    await drydock('release', 'verify', `registry.invalid/release@${digest}`, '--store', store, '--keyring', keys),
    /is verified: sha256:/,
  );
  const refused = await verify('--keyring', keys, '--keyring', others);
  assert.match(refused, /is not verified: for the key ring .*others\.asc of 1 signatures none is valid/);
});

test('release plan prints what its schema says: what changes, what goes, what stays behind; it changes nothing, and its exit code says whether anything is pending', async () => {
  const [old, now] = [payload(13), payload(14)];
  const cluster = memoryCluster({ namespaces: ['n'] });
  const { manifests } = loadPayload(await readPayloadDirectory(old));
  await using client = cluster.client();
  const owner = { name: 'Payload tools' };
  const outcome = await applyPayload(
    {
      payload: { version: '4.13.0', image: 'i', hash: 'h' },
      ...{
        manifests: select(manifests, { audience: openshiftAudience }).included,
        mode: 'initializing',
        attempt: 0,
        owner,
      },
    },
    {
      ...{ client, clock: systemClock, signal: new AbortController().signal, onProgress: () => undefined },
      inventory: configMapInventory({ client, namespace: 'default' }),
    },
  );
  assert.deepEqual([outcome.complete, outcome.errors], [true, []]);
  await using host = await misbehavingServer(httpAnswer(cluster.wire()));
  const kubeconfig = file('kubeconfig-plan', {
    clusters: [{ name: 'c', cluster: { server: host.config.server } }],
    users: [{ name: 'u', user: {} }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  });
  const before = cluster.version;
  const plan = async (folder: string, ...more: readonly string[]) => {
    const flags = ['--kubeconfig', kubeconfig, '--owner', owner.name, '--lease-namespace', 'default', ...more];
    const bin = new URL('../../bin/drydock.js', import.meta.url).pathname;
    const child = spawn(process.execPath, [bin, 'release', 'plan', folder, ...flags], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const closed = once(child, 'close');
    const said = await text(child.stdout);
    const [code] = (await closed) as [number];
    return { said, code };
  };
  const pending = await plan(now, '-o', 'json');
  const planned = JSON.parse(pending.said) as { readonly counts: object; readonly orphans: readonly object[] };
  assert.deepEqual([flaws('release-plan', planned), pending.code], [[], 6]);
  assert.deepEqual(planned.counts, { create: 1, update: 1, delete: 1, wait: 0, nothing: 0, refuse: 0 });
  assert.equal(planned.orphans.length, 1);
  const { said } = await plan(now, '-o', 'wide');
  for (const told of [
    /1 +update +CustomResourceDefinition\S* clusterversions/,
    /2 +create +ConfigMap n\/new/,
    /2 +delete +ConfigMap n\/gone/,
    /waits +Custom/,
    /leaves +ConfigMap n\/old +made by 4\.13\.0/,
  ])
    assert.match(said, told);
  const same = await plan(old);
  assert.deepEqual(
    [same.code, same.said.split('\n')[0]],
    [
      0,
      'Release 4.13.0 for Payload tools: 3 objects in 2 phases: 0 to create, 0 to update, 0 to delete, 3 with nothing to do.',
    ],
  );
  const others = await plan(old, '--owner', 'Payload other');
  assert.deepEqual(
    [others.code, /refuse +ConfigMap n\/old +Payload tools brings it already/.test(others.said)],
    [3, true],
  );
  assert.equal(cluster.version, before);
});
