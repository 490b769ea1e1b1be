import assert from 'node:assert/strict';
import { test } from 'node:test';
import { jsonpath } from './jsonpath.ts';

const owner = { apiVersion: 'v1', kind: 'Pod', name: 'p1', uid: '1', controller: true };
const object = {
  kind: 'ConfigMap',
  metadata: {
    name: 'a',
    labels: { 'app.kubernetes.io/name': 'x y', b: '2' },
    finalizers: ['f1', 'f2', 'f3'],
    owners: [owner, { apiVersion: 'v1', kind: 'Pod', name: 'p2', uid: '22' }],
  },
  data: { k: 'v', n: null, two: 2 },
};

test('OWN-20.1 a template gives what kubectl gives for it', () => {
  // What kubectl 1.32 printed for these, byte by byte.
  for (const [template, expected] of [
    ['{.metadata.name}', 'a'],
    ['.metadata.name', 'a'],
    ['metadata.name', 'a'],
    [String.raw`{.metadata.labels.app\.kubernetes\.io/name}`, 'x y'],
    [String.raw`{.metadata.labels['app\.kubernetes\.io/name']}`, 'x y'],
    ['{.metadata.finalizers}', '["f1","f2","f3"]'],
    ['{.metadata.finalizers[*]}', 'f1 f2 f3'],
    ['{.metadata.finalizers[0]}', 'f1'],
    ['{.metadata.finalizers[-1]}', 'f3'],
    ['{.metadata.finalizers[0:2]}', 'f1 f2'],
    ['{.metadata.finalizers[0,2]}', 'f1 f3'],
    ['{.metadata.finalizers[1:]}', 'f2 f3'],
    ['{.metadata.finalizers[:-1]}', 'f1 f2'],
    ['{.metadata.finalizers[0:3:2]}', 'f1 f3'],
    ["{.metadata['name','labels']}", 'a {"app.kubernetes.io/name":"x y","b":"2"}'],
    ['{..name}', 'a p1 p2'],
    ['{.metadata..uid}', '1 22'],
    ['{.metadata.nope.deeper}x', 'x'],
    [String.raw`{range .metadata.owners[*]}{.name}{"\t"}{.uid}{"\n"}{end}`, 'p1\t1\np2\t22\n'],
    ['{range .metadata.owners[*]}[{.name}, {.controller}] {end}', '[p1, true] [p2, ] '],
    ['{range .metadata.owners[*]}{range .x[*]}{.y}{end}{.name};{end}', 'p1;p2;'],
    ['{range .metadata.owners[?(@.controller)]}{@.name}{end}', 'p1'],
    ['{.metadata.owners[?(@.name=="p2")].uid}', '22'],
    ['{.metadata.owners[?(@.controller==true)].name}', 'p1'],
    ["{.metadata.owners[?(@.name!='p2')].uid}", '1'],
    ['{.metadata.owners[?(@.uid>"1")].name}', 'p2'],
    ['name={.metadata.name} kind={.kind}', 'name=a kind=ConfigMap'],
    ["{.kind}{' '}{@.metadata.name}{$.kind}", 'ConfigMap aConfigMap'],
    ['{.data.*}', 'v null 2'],
    [String.raw`{"a\"b"}{true}{1.5}`, 'a"btrue1.5'],
  ] as const)
    assert.equal(jsonpath(template)(object), expected, template);
});

test('what is no template is refused with the place, and a name of every object leads nowhere', () => {
  for (const [template, said] of [
    ['', /^jsonpath= needs a template/],
    ['{.metadata', /expected .* at its end/],
    ['{end}', /\{end\} without \{range/],
    ['{range .a[*]}x', /\{range …\} without \{end\}/],
    ['{.a[}', /expected an index, a name in quotes or \* at "\}"/],
    ['{.a[?(@.b=)]}', /expected "\)\]" behind a condition/],
    ['{.a[0:2:0]}', /a step of 1 or more/],
    ['x'.repeat(10_001), /at most 10000 are read/],
  ] as const)
    assert.throws(() => jsonpath(template), { name: 'UsageError', message: said }, template);
  assert.throws(() => jsonpath('{.metadata.finalizers[9]}')(object), /index 9 is beyond a list of 3/);
  assert.equal(jsonpath('{.constructor}{.__proto__}{.metadata.finalizers.length}')(object), '');
});
