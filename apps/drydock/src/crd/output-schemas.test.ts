import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, test } from 'node:test';
import { CLASS_MEANINGS } from '@drydock/crd';
import { clusterVersionManifest, clusterVersionObject } from '@drydock/crd/testing';
import { misbehavingServer, sendJson } from '@drydock/kube/testing';
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
  const child = spawn(process.execPath, [bin, 'crd', ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  return text(child.stdout);
}

function file(name: string, content: unknown): string {
  const path = join(scratch, name);
  writeFileSync(path, JSON.stringify(content));
  return path;
}

const [F13, F14] = [file('13.json', clusterVersionManifest(13)), file('14.json', clusterVersionManifest(14))];

/** Runs a verb against a cluster with a ClusterVersion of 4.14, and what a killed probe left. */
async function against(...args: readonly string[]): Promise<string> {
  const shadow = { name: 'things-probe-1-0.shadow.drydock.dev', labels: { 'drydock.dev/shadow': 'probe-1' } };
  const definitions = [
    clusterVersionManifest(14),
    { metadata: { ...shadow, creationTimestamp: '2026-01-02T03:04:05Z' }, spec: {} },
  ];
  await using host = await misbehavingServer(({ path, query }, response) => {
    const plural = path.split('/').at(-1);
    if (path === '/version') return sendJson(response, { major: '1', minor: '34' });
    const all = query.has('labelSelector') ? definitions.slice(1) : definitions;
    const items =
      plural === 'customresourcedefinitions' ? all : plural === 'clusterversions' ? [clusterVersionObject(14)] : [];
    return sendJson(response, { metadata: { resourceVersion: '9' }, items });
  });
  const kubeconfig = file('kubeconfig', {
    clusters: [{ name: 'c', cluster: { server: host.config.server } }],
    users: [{ name: 'u', user: {} }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  });
  return await drydock(...args, '--kubeconfig', kubeconfig);
}

test('crd check prints what its schema says, as JSON and as YAML', async () => {
  const check = JSON.parse(await drydock('check', F13, F14, '-o', 'json')) as { readonly ways: readonly object[] };
  assert.ok(check.ways.length === 2);
  assert.deepEqual(flaws('crd-check', check), []);
  assert.deepEqual(flaws('crd-check', parse(await drydock('check', F13, F14, '-o', 'yaml'))), []);
  // The control: a field that nobody described, one that is absent, one of another kind.
  assert.equal(flaws('crd-check', { ...check, more: 1 }).length, 1);
  assert.equal(flaws('crd-check', { ways: check.ways }).length, 3);
  assert.equal(flaws('crd-check', { ...check, ways: [{ ...check.ways[0], verdict: 'perhaps' }] }).length, 1);
});

test('RB-R41: crd preflight prints what its schema says, with findings of a definition and of an object', async () => {
  const answer = JSON.parse(await against('preflight', '--to', F13, '--show-values', '-o', 'json')) as {
    readonly verdict: string;
    readonly findings: readonly { readonly class: string }[];
  };
  assert.deepEqual(flaws('crd-preflight', answer), []);
  assert.equal(answer.verdict, 'blocked');
  assert.deepEqual(new Set(answer.findings.map((finding) => finding.class)), new Set(['LATENT', 'UNDECIDED']));
  assert.deepEqual(flaws('crd-preflight', parse(await against('preflight', '--to', F14, '-o', 'yaml'))), []);
});

test('the classes in the schema are those that there are', () => {
  const { $defs } = published('crd-preflight') as {
    readonly $defs: { readonly finding: { readonly properties: { readonly class: { readonly enum: unknown } } } };
  };
  assert.deepEqual($defs.finding.properties.class.enum, Object.keys(CLASS_MEANINGS));
});

test('crd doctor prints what its schema says', async () => {
  const answer = JSON.parse(await against('doctor', '-o', 'json')) as { readonly left: readonly object[] };
  assert.deepEqual([flaws('crd-doctor', answer), answer.left.length], [[], 1]);
});
