import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { readManifestFile } from '../payload/manifest.ts';
import { type Graph, initialGraph, reconcileGraph, updateGraph } from './graph.ts';

const manifestsOf = (...files: readonly string[]) =>
  files.flatMap((file) => {
    const [name = '', kind = 'ConfigMap'] = file.split(' ');
    const apiVersion = kind === 'Job' ? 'batch/v1' : 'v1';
    return readManifestFile(name, `{"apiVersion":"${apiVersion}","kind":"${kind}","metadata":{"name":"x"}}`);
  });

/** `10_a_1 10_a_2 after 0,1` for each node. */
const textOf = (graph: Graph): readonly string[] =>
  graph.map(({ manifests, after }) => {
    const files = manifests.map(({ file }) => file.replace(/^0000_(.*)\.yaml$/, '$1')).join(' ');
    return after.length === 0 ? files : `${files} after ${after.join(',')}`;
  });

const four = manifestsOf('0000_10_a_1.yaml', '0000_10_a_2.yaml', '0000_10_b_1.yaml', '0000_20_a_1.yaml');

test('RB-R1 runlevels are serial in an update, components of one are parallel; in the first installation all components are', () => {
  assert.deepEqual(textOf(updateGraph(four)), ['10_a_1 10_a_2', '10_b_1', '20_a_1 after 0,1']);
  assert.deepEqual(textOf(initialGraph(four)), ['10_a_1 10_a_2', '10_b_1', '20_a_1']);
});

test('RB-R2 a file without a place in the order is a barrier in its position', () => {
  const manifests = manifestsOf('0000_10_a_1.yaml', '10_foo.yaml', '0000_10_b_1.yaml', '0000_10_c_1.yaml');
  const expected = ['10_a_1', '10_foo.yaml after 0', '10_b_1 after 1', '10_c_1 after 1'];
  assert.deepEqual(textOf(updateGraph(manifests)), expected);
  assert.deepEqual(textOf(initialGraph(manifests)), expected);
});

test('RB-R4 a Job in the middle of a component splits it', () => {
  const manifests = manifestsOf(
    '0000_10_a_1.yaml',
    '0000_10_a_2.yaml Job',
    '0000_10_a_3.yaml',
    '0000_10_b_1.yaml',
    '0000_20_c_1.yaml',
  );
  assert.deepEqual(textOf(updateGraph(manifests)), [
    '10_a_1',
    '10_a_2 after 0',
    '10_a_3 after 1',
    '10_b_1',
    '20_c_1 after 2,3',
  ]);
});

test("a runlevel that comes again after others is waited for again: the release manager's own manifests come first", () => {
  const manifests = manifestsOf('0000_90_own_1.yaml', '0000_03_a_1.yaml', '0000_90_a_1.yaml');
  assert.deepEqual(textOf(updateGraph(manifests)), ['90_own_1', '03_a_1 after 0', '90_a_1 after 1']);
});

test('reconciling begins with another node at each attempt, and has all of them in each', () => {
  const manifests = manifestsOf(...Array.from({ length: 40 }, (_, at) => `0000_${10 + at}_c${at}_1.yaml`));
  const firsts = new Set<string | undefined>();
  for (let attempt = 0; attempt < 32; attempt += 1) {
    const nodes = textOf(reconcileGraph(manifests, attempt));
    assert.equal(new Set(nodes).size, 40);
    firsts.add(nodes[0]);
  }
  assert.ok(firsts.size > 16, `${firsts.size} different nodes came first`);
  assert.deepEqual(textOf(reconcileGraph(manifests, 5)), textOf(reconcileGraph(manifests, 5)));
});

test('every manifest is in exactly one node, and no node waits for a later one', () => {
  const name = fc.tuple(fc.constantFrom('10', '20', '30'), fc.constantFrom('a', 'b'), fc.boolean(), fc.boolean());
  fc.assert(
    fc.property(fc.array(name, { maxLength: 30 }), fc.nat(100), (names, attempt) => {
      const files = names.map(
        ([level, component, job, placed], at) =>
          `${placed ? `0000_${level}_${component}_${at}` : `free${at}`}.yaml ${job ? 'Job' : 'ConfigMap'}`,
      );
      const manifests = manifestsOf(...files);
      for (const graph of [updateGraph(manifests), initialGraph(manifests), reconcileGraph(manifests, attempt)]) {
        const seen = graph.flatMap((node) => node.manifests);
        assert.equal(seen.length, manifests.length);
        assert.deepEqual(new Set(seen), new Set(manifests));
        for (const [at, { after }] of graph.entries()) assert.ok(after.every((other) => other < at));
      }
    }),
  );
});
