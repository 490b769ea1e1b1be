import assert from 'node:assert/strict';
import { readYamlDocument } from '@drydock/api/yaml';
import { readConfig } from '../../../apps/drydock/src/template/config-file.ts';
import { MAX_PLAN, type PlanFile, parsePlan } from '../../../apps/drydock/src/template/plan-file.ts';
import { parsePointer, renderPointer } from '../../../apps/drydock/src/template/pointer.ts';
import { TemplateProblem } from '../../../apps/drydock/src/template/problem.ts';
import { type Format, growing, type Hostile, nested, pieces, SECRET } from '../format.ts';

const refuses = (error: unknown): boolean => error instanceof TemplateProblem;
const placement = { server: 'vc.example', datacenter: 'DC0', folder: '/DC0/vm/templates' };
const plan = {
  version: 1,
  server: 'vc.example',
  folder: '/DC0/vm/templates',
  target: 'rhcos',
  world: 'abc',
  steps: [{ step: 'import', text: 'import it', calls: ['ImportVApp'] }],
};
const image = { release: '9.8', sha256: 'ab'.repeat(32) };
const filed = (more: object, kind: object): string =>
  JSON.stringify({ drydockPlan: 2, ...more, plan: { ...plan, ...kind } }, undefined, 1);

/** Plans as `template plan --out` keeps them, and as somebody has edited them. */
export const plans: Format<PlanFile> = {
  name: 'plan files',
  examples: [
    filed(
      { source: `https://u:${SECRET}@a/b.ova` },
      { kind: 'publish', wish: { placement, cluster: 'c', base: 'b', image } },
    ),
    filed(
      { pointer: { file: 'a.json', variable: 'v', consumer: 'c' } },
      { kind: 'revert', wish: { placement, owner: 'o', name: 'n' } },
    ),
    filed({ keeps: [{ file: 'a.tfvars', variable: 'v' }] }, { kind: 'gc', wish: { placement, owner: 'o' } }),
    filed({}, { kind: 'adopt', wish: { placement, owner: 'o', reference: 'r' } }),
  ],
  pieces: [
    '{',
    '}',
    '[',
    ']',
    ':',
    ',',
    '"',
    '\\',
    'null',
    '"kind":"gc"',
    '"publish"',
    '"steps":[]',
    '"drydockPlan":1',
    '"__proto__":',
    '{}',
  ],
  nest: ['[', ']'],
  read: (bytes) => parsePlan(bytes.toString(), 'a.plan'),
  refuses,
  check: (file, bytes) => {
    assert.deepEqual(parsePlan(JSON.stringify(file), 'again'), JSON.parse(JSON.stringify(file)));
    const { kind, wish, steps } = file.plan;
    assert.ok(['publish', 'revert', 'adopt', 'gc'].includes(kind) && steps.every(({ calls }) => Array.isArray(calls)));
    if (kind === 'publish')
      assert.match((wish as { readonly image: { readonly sha256: string } }).image.sha256, /^[0-9a-f]{64}$/);
    if (!bytes.includes('\\')) assert.deepEqual(file, JSON.parse(bytes.toString()));
  },
};

/** The config file of `drydock template`. */
export const configs: Format<ReturnType<typeof readConfig>> = {
  name: 'config files',
  examples: [
    'url: https://vc.example\nusername: a@b\npasswordFile: pw\nca: ca.pem\ninsecure: false\n',
    'url: vc.example\ndatacenter: DC0\nfolder: /DC0/vm/t\nmarkKey: k\ncacheDir: ../c\nowner: o\n',
    `url: https://a:${SECRET}@b/sdk\ntag: golden\n`,
    `username: a\npassword: ${SECRET}\n`,
  ],
  pieces: [
    ': ',
    '- ',
    '&a ',
    '*a',
    '"',
    "'",
    '{',
    '}',
    '[',
    ']',
    '\n',
    'url:',
    'password: x',
    'insecure: yes',
    '!t ',
    '~',
    '<<: ',
  ],
  nest: ['[', ']'],
  read: (bytes) => readConfig(bytes.toString(), '/etc/drydock/template.yaml'),
  refuses,
  check: (layer, bytes) => {
    const said = (readYamlDocument(bytes.toString()) ?? {}) as Readonly<Record<string, unknown>>;
    for (const key of ['url', 'username', 'datacenter', 'folder', 'tag', 'owner'] as const)
      assert.equal(layer[key], said[key]);
    assert.equal(layer.trust?.insecure, said['insecure']);
  },
};

/** Pointer files, which pipelines read too. */
export const pointers: Format<string> = {
  name: 'pointer files',
  examples: ['template = "rhcos-9.8"\n', 'template = "a\\"b$${c}\\u001b"\n', 'template="x"'],
  pieces: ['"', '\\', '=', ' = ', '\n', '${', '$${', '%{', '\\u0041', '\\U0001f4a5', 'template', '#', '\\\\'],
  nest: ['"', '"'],
  read: (bytes) => parsePointer('tfvars', bytes.toString(), 'template', 'a.tfvars'),
  refuses,
  check: (name) => {
    // What cannot be written as it is, is written so that it reads the same.
    const again = renderPointer('tfvars', { template: name.toWellFormed() }, 'template');
    assert.equal(parsePointer('tfvars', again, 'template', 'again'), name.toWellFormed());
    assert.equal(again.split('\n').length, 2);
  },
};

export const planGrowth: readonly Hostile[] = [
  ...growing(
    'a plan',
    {
      steps: (size) =>
        filed({}, { kind: 'gc', wish: { placement, owner: 'o' } }).replace(
          '"steps": [',
          () => `"steps": [${pieces(size, (n) => `{"step":"${n}","text":"","calls":[]},`)}`,
        ),
      names: (size) => `{${pieces(size, (n) => `"${n}":1`, ',')}}`,
      'names with escapes': (size) => `{${pieces(size / 3, (n) => `"\\n${n}":1`, ',')}}`,
      nesting: (size) => nested(size, '{"plan":[', '', ']}'),
      'no end': (size) => '{"plan":'.repeat(size / 8),
    },
    { limit: MAX_PLAN, read: (text) => parsePlan(text, 'a.plan') },
  ),
  ...growing(
    'a pointer file',
    {
      backslashes: (size) => `template = "${'\\\\'.repeat(size / 2)}"`,
      quotes: (size) => 'template = "'.repeat(size / 12),
      dollars: (size) => `template = "${'$'.repeat(size)}"`,
      blanks: (size) => `template${' '.repeat(size)}`,
    },
    { limit: 2 ** 16, read: (text) => parsePointer('tfvars', text, 'template', 'a.tfvars') },
  ),
];
