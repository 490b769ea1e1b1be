import assert from 'node:assert/strict';
import { test } from 'node:test';
import { configOf } from './config-file.ts';
import { withContext } from './use-context.ts';

/** What is said of a text that is refused. */
function refusal(text: string): string {
  try {
    configOf(text, '/c/config.yaml');
  } catch (error) {
    return (error as Error).message;
  }
  return assert.fail(`taken: ${text}`);
}

test('OWN-20 the config file is read strictly: what is wrong is named with its line, and never its value', () => {
  const secret = 'hunter2hunter2';
  const head = 'contexts:\n- name: a\n  kubeconfig: k\n- kubeconfig: l\n  name: b\n';
  for (const [text, said] of [
    ['- a', /: it is not a list of "key: value" lines$/],
    ['a: [', /: it is no YAML \(.* in line \d+\)$/],
    ['contexts: []\nversion: 1', /: line 2: there is no key version; there are contexts, current-context$/],
    ['current-context: [a]', /: line 1: current-context is not a name$/],
    ['contexts: a', /: line 1: contexts is not a list of at most 500$/],
    ['contexts:\n- a', /: line 2: a context is /],
    ['contexts:\n- kubeconfig: k', /: line 2: a context needs a name/],
    [`${head}- name: a`, /: line 6: there are two contexts a$/],
    [
      `${head}  kubeConfig: k`,
      /: line 6: context b: there is no key kubeConfig: kubeconfig may be meant\. All keys: docs\/variables\.md, /,
    ],
    [`${head}  kubeconfg: k`, /there is no key kubeconfg: kubeconfig may be meant/],
    [`${head}  vcentre: k`, /there is no key vcentre\. All keys: /],
    [`${head}  folder: [a]`, /: line 6: context b: folder must be a text$/],
    [`${head}  vcenter: [1]`, /: line 6: context b: vcenter must be a text, or a list/],
    [`${head}  strict: maybe`, /: line 6: context b: strict must be true or false$/],
    [`${head}  asGroup: [1]`, /: line 6: context b: asGroup must be a text, or a list/],
    [
      `${head}  password: ${secret}`,
      /: line 6: context b: password: nothing secret belongs into this file\. Put it into a file /,
    ],
    [`${head}  token: ${secret}`, /: line 6: context b: token: nothing secret belongs/],
    [`${head}  clientKeyData: ${secret}`, /: line 6: context b: clientKeyData: nothing secret belongs/],
    [`${head}  vcenter: https://u:${secret}@vc`, /: line 6: context b: vcenter has a password, a token or a key in it/],
    [`${head}  vcenter: u:${secret}@vc`, /: line 6: context b: vcenter has a password/],
    [`${head}  vcenter: [a=https://u:${secret}@vc]`, /: line 6: context b: vcenter has a password/],
    [`${head}  vcenterUrl: [a=https://u:${secret}@vc]`, /: line 6: context b: vcenterUrl has a password/],
    [
      `${head}  markKeyFile: "${'0123456789abcdef'.repeat(4)}"`,
      /: line 6: context b: markKeyFile has a password, a token or a key/,
    ],
    [
      `${head}  markKeyFile: k1:${'0123456789abcdef'.repeat(4)}`,
      /: line 6: context b: markKeyFile has a password, a token or a key/,
    ],
    [`${head}  reason: &a x\n  tag: *a`, /no YAML/],
    [`${head}  tag: ${'x'.repeat(5000)}`, /must be a text/],
    ['#'.repeat(300_000), /no YAML \(it has more than 262144 bytes\)/],
  ] as const) {
    assert.match(refusal(text), said);
    assert.ok(!refusal(text).includes(secret) && !refusal(text).includes('0123456789abcdef'), text);
  }
  for (const empty of ['', '# nothing\n', 'contexts: []'])
    assert.deepEqual(configOf(empty, '/c/config.yaml').contexts, []);
});

test('OWN-20 files in a context are relative to the config file, or to the home', () => {
  const home = process.env['HOME'] ?? '';
  const { contexts } = configOf(
    'contexts:\n- {name: a, kubeconfig: ../k, vcenterCa: ~/ca, registryCa: /ca, port: 0}',
    '/c/d/config.yaml',
  );
  const [{ values } = assert.fail('one')] = contexts;
  assert.deepEqual(
    ['kubeconfig', 'vcenter-ca', 'registry-ca', 'port'].map((id) => values.get(id)),
    [['/c/k'], [`${home}/ca`], ['/ca'], ['0']],
  );
});

test('OWN-20 another context is written into one line, and the rest stays byte for byte', () => {
  const rest = 'contexts:\n  # the one\n  - {name: a,   kubeconfig: k}\n- x\n'.replace('- x\n', '');
  for (const [before, after] of [
    [`current-context: a # now\n${rest}`, `current-context: b # now\n${rest}`],
    [`${rest}current-context: "a"\n`, `${rest}current-context: b\n`],
    [`# mine\n---\n${rest}`, `# mine\n---\ncurrent-context: b\n${rest}`],
    [rest, `current-context: b\n${rest}`],
    [`{"contexts": [], "current-context": "a"}`, `{"contexts": [], "current-context": b}`],
  ] as const)
    assert.equal(withContext(before, 'b'), after);
  assert.equal(withContext('{"contexts": []}', 'b'), undefined);
  assert.match(withContext(rest, '1:2') ?? '', /^current-context: "1:2"\n/);
});

test('FIND-19 one key says which vCenter, to each verb what it takes; the key of earlier versions is read and known as such', () => {
  const valuesOf = (keys: string): readonly unknown[] => {
    const { contexts } = configOf(`contexts:\n- name: a\n  ${keys}\n`, '/c/config.yaml');
    const [{ values, former } = assert.fail('one')] = contexts;
    return [values.get('vcenter'), values.get('vcenter-url'), [...former]];
  };
  assert.deepEqual(valuesOf('vcenter: https://vc1'), [['https://vc1'], undefined, []]);
  assert.deepEqual(valuesOf('vcenter: vc1=https://10.0.0.1/sdk'), [
    ['https://10.0.0.1/sdk'],
    ['vc1=https://10.0.0.1/sdk'],
    [],
  ]);
  assert.deepEqual(valuesOf('vcenter: [vc1, vc2=https://10.0.0.2]'), [
    ['vc1', 'https://10.0.0.2'],
    ['vc2=https://10.0.0.2'],
    [],
  ]);
  const before = 'vcenterUrl: vc1=https://10.0.0.1';
  assert.deepEqual(valuesOf(before), [undefined, ['vc1=https://10.0.0.1'], ['vcenter-url']]);
  assert.deepEqual(valuesOf(`vcenter: https://vc1\n  ${before}`), [
    ['https://vc1'],
    ['vc1=https://10.0.0.1'],
    ['vcenter-url'],
  ]);
});
