import assert from 'node:assert/strict';
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { misbehavingServer } from '@drydock/kube/testing';
import { Command } from 'commander';
import { parse, parseAllDocuments } from 'yaml';
import { fromJSONSchema } from 'zod';
import { VERBS } from '../main.ts';
import { runVerbs } from '../testing/run-verbs.ts';
import { smallCluster } from '../testing/small-cluster.ts';

type JsonSchema = Parameters<typeof fromJSONSchema>[0] & object;

const root = join(import.meta.dirname, '../../../..');
/** Schemas that tests below are about. */
const BELOW: ReadonlySet<string> = new Set([
  ...['template', 'watch-vms', 'crd-bridge', 'watch-status', 'image-stage'],
  ...['config-view', 'config-get-contexts'],
]);

/** Commands that print objects, with what they are called. */
async function printers(): Promise<ReadonlyMap<string, Command>> {
  const program = new Command();
  for (const { load } of VERBS) (await load())(program);
  const found = new Map<string, Command>();
  const walk = (command: Command, path: readonly string[]): void => {
    if (command.options.some(({ long }) => long === '--output')) found.set(path.join(' '), command);
    for (const inner of command.commands) walk(inner, [...path, inner.name()]);
  };
  walk(program, []);
  return found;
}

/** The name of the schema of a verb. */
function schemaOf(verb: string): string {
  if (verb.startsWith('template ')) return 'template';
  return verb === 'resume' ? 'pause' : verb.replace(' ', '-');
}

/** The same with no field but those that it names, unless it says that there are others. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== 'object' || schema === null) return schema;
  const inner = Object.fromEntries(Object.entries(schema).map(([key, of]) => [key, closed(of)]));
  const open = inner['type'] !== 'object' || 'additionalProperties' in inner || !('properties' in inner);
  return open ? inner : { ...inner, additionalProperties: false };
}

function flaws(name: string, value: unknown): readonly string[] {
  const schema = JSON.parse(readFileSync(join(root, 'docs/schemas', `${name}.json`), 'utf8')) as JsonSchema;
  const { error } = fromJSONSchema(closed(schema) as JsonSchema).safeParse(value);
  return (error?.issues ?? []).map(({ message, path }) => `${name} ${path.join('.')}: ${message}`);
}

test('OWN-20.1 every verb that prints objects takes the same formats and has a published schema; no schema is of nobody', async () => {
  const verbs = await printers();
  assert.ok(verbs.size > 30, `${verbs.size} verbs`);
  for (const [verb, command] of verbs) {
    const { description = '' } = command.options.find(({ long }) => long === '--output') ?? {};
    assert.match(description, /^table\|wide\|(?:name\|)?json\|yaml\|(?:junit\|html\|)?jsonpath=TEMPLATE/, verb);
  }
  const schemas = globSync('*.json', { cwd: join(root, 'docs/schemas') }).map((file) => basename(file, '.json'));
  const wanted = new Set([...[...verbs.keys()].map(schemaOf), 'page-state']);
  assert.deepEqual(schemas.toSorted(), [...wanted].toSorted());
  const sources = globSync(['apps/drydock/src/**/*.test.ts', 'test/sandbox/**/*.test.ts'], { cwd: root });
  const texts = sources.map((file) => readFileSync(join(root, file), 'utf8'));
  for (const verb of verbs.keys()) {
    const name = schemaOf(verb);
    if (HERE.some(([line]) => schemaOf(line) === name) || BELOW.has(name)) continue;
    // Another cluster, a vCenter or a payload is needed.
    const compared = new RegExp(`['/]${name}(?:\\.json)?'`);
    assert.ok(
      texts.some((text) => compared.test(text)),
      `the output of ${verb} is compared with its schema nowhere`,
    );
  }
});

/** Verbs that a small cluster answers: what else they are given, and what a jsonpath of theirs prints. */
const HERE: readonly (readonly [verb: string, args: readonly string[], path: string, printed: RegExp])[] = [
  ['status', [], '{.items[*].metadata.name}', /^ms-a ms-b ms-c$/],
  ['tree', [], '{..set}', /^ms\/a ms\/b ms\/c$/],
  ['explain', ['c'], '{[*].step}', /^skip$/],
  ['doctor', [], '{.checks[?(@.area=="cluster")].state}', /ok/],
  [
    'machines',
    [],
    '{range .machines[*]}{.machine}{"\\t"}{.state}{"\\n"}{end}',
    /^a-x7k2p\told\nb-x7k2p\told\nc-x7k2p\told\n$/,
  ],
  ['history', [], '{.history[?(@.from=="event")].subject}', /^ms\/a ms\/b ms\/c$/],
  ['wait', ['b', '--timeout', '1s'], '{.result}', /^met$/],
  ['pause', ['--role', 'boot-images'], '{.roles[*].result}', /^paused$/],
  ['resume', ['--role', 'boot-images'], '{.roles[*].result}', /^(?:running|unchanged)$/],
  ['image history', ['b'], '{.set}', /^ms\/b$/],
  ['release status', [], '{.releases[*].name}', /^ClusterVersion version Payload a$/],
  ['release history', ['version'], '{.history[0].version}', /^4\.22\.0$/],
];

test('OWN-20.1 what verbs print as JSON and as YAML is what their schemas say, and the same; jsonpath and names are of it', async () => {
  await using served = await smallCluster(['a', 'b', 'c']);
  const lineOf = (verb: string, args: readonly string[], format: string) => ({
    args: [...verb.split(' '), ...args, '-o', format, ...served.flags],
  });
  const ran = await runVerbs(
    HERE.flatMap(([verb, args, path]) =>
      ['json', 'yaml', `jsonpath=${path}`].map((format) => lineOf(verb, args, format)),
    ),
  );
  for (const [at, [verb, , , printed]] of HERE.entries()) {
    const [json, yaml, path] = ran.slice(at * 3, at * 3 + 3);
    assert.ok(json !== undefined && yaml !== undefined && path !== undefined);
    const value = JSON.parse(json.out || 'null') as unknown;
    assert.deepEqual(flaws(schemaOf(verb), value), [], `${verb}: ${json.out}${json.errors}`);
    assert.deepEqual(flaws(schemaOf(verb), parse(yaml.out)), [], verb);
    assert.match(path.out, printed, verb);
    // The control: nobody's field.
    const more = Array.isArray(value) ? [{ ...value[0], more: 1 }] : { ...(value as object), more: 1 };
    assert.notDeepEqual(flaws(schemaOf(verb), more), [], verb);
  }
  const named = await runVerbs(['status', 'tree', 'machines'].map((verb) => lineOf(verb, [], 'name')));
  const images = 'bootimage.drydock.dev/ms-a\nbootimage.drydock.dev/ms-b\nbootimage.drydock.dev/ms-c\n';
  const machines = ['a', 'b', 'c'].map((set) => `machine.machine.openshift.io/${set}-x7k2p\n`).join('');
  assert.deepEqual(
    named.map(({ out }) => out),
    [images, images, machines],
  );
});

test('OWN-20.1 events are what their schema says, one a line as JSON, one a document as YAML', async () => {
  await using nobody = await misbehavingServer((_request, response) => response.writeHead(503).end());
  const of = (verb: string, format: string) => ({
    args: [
      ...verb.split(' '),
      '-o',
      format,
      '--url',
      nobody.config.server,
      '--username',
      'u',
      '--password-file',
      '/dev/null',
    ],
  });
  const verbs = ['template list', 'watch vms'];
  const ran = await runVerbs(
    verbs.flatMap((verb) => ['json', 'yaml', 'jsonpath={.event}'].map((format) => of(verb, format))),
  );
  for (const [at, verb] of verbs.entries()) {
    const [json, yaml, path] = ran.slice(at * 3, at * 3 + 3).map(({ out }) => out);
    const events = (json ?? '')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown);
    const documents = parseAllDocuments(yaml ?? '').map((document) => document.toJS() as unknown);
    assert.ok(events.length > 0 && documents.length > 0, verb);
    for (const event of [...events, ...documents])
      assert.deepEqual(flaws(schemaOf(verb), event), [], JSON.stringify(event));
    assert.match(path ?? '', /error$/);
  }
  assert.notDeepEqual(flaws('template', { event: 'published', at: '' }), []);
});

test('OWN-20.1 crd bridge, watch status, config and image stage print what their schemas say', async () => {
  const crds = join(root, 'api/crds/drydock.dev_payloads.yaml');
  const metrics =
    'drydock_watch_state{watch="w",vcenter="v",state="live"} 1\ndrydock_watch_machines{watch="w",vcenter="v"} 3\n';
  await using operator = await misbehavingServer((_request, response) => response.end(metrics));
  const folder = mkdtempSync(join(tmpdir(), 'drydock-schemas-'));
  const config = join(folder, 'config.yaml');
  writeFileSync(config, 'current-context: a\ncontexts:\n- {name: a, kubeconfig: k, asGroup: [b]}\n');
  const named = { DRYDOCK_CONFIG: config };
  const [bridge, watch, contexts, view, sources] = await runVerbs([
    { args: ['crd', 'bridge', crds, crds, '-o', 'json'] },
    { args: ['watch', 'status', '--operator', operator.config.server, '-o', 'json'] },
    { args: ['config', 'get-contexts', '-o', 'json'], env: named },
    { args: ['config', 'view', '-o', 'json'], env: named },
    { args: ['config', 'view', '--sources', 'status', '-o', 'json'], env: named },
  ]);
  rmSync(folder, { recursive: true });
  assert.deepEqual(flaws('config-get-contexts', JSON.parse(contexts?.out ?? '')), []);
  for (const one of [view, sources]) assert.deepEqual(flaws('config-view', JSON.parse(one?.out ?? '')), []);
  assert.deepEqual(flaws('crd-bridge', JSON.parse(bridge?.out ?? '')), []);
  const lines = JSON.parse(watch?.out ?? '') as readonly object[];
  assert.deepEqual([flaws('watch-status', lines), lines.length], [[], 1]);
  const staged = [{ server: 's', folder: 'f', failureDomain: 'd', release: 'r', state: 'there', template: 't' }];
  assert.deepEqual(flaws('image-stage', { staged, failures: [] }), []);
});
