import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { generateTypes } from '../../packages/kube/src/generate.ts';
import { crdDirectory } from '../../packages/sandbox/src/crd-copy.ts';
import { CRD_SETS } from '../../packages/sandbox/src/crd-sets.ts';
import * as ours from '../src/index.ts';
import * as clusterversions from './clusterversions.gen.ts';
import * as controlplanemachinesets from './controlplanemachinesets.gen.ts';
import * as infrastructures from './infrastructures.gen.ts';
import * as machineconfigurations from './machineconfigurations.gen.ts';
import * as machines from './machines.gen.ts';
import * as machinesets from './machinesets.gen.ts';
import { UPSTREAM_SET, UPSTREAM_SOURCES } from './sources.ts';

const set = CRD_SETS.find(({ name }) => name === UPSTREAM_SET);
const directory = set === undefined ? '' : crdDirectory(set);

suite('types of upstream kinds', () => {
  for (const { crd, version, out } of UPSTREAM_SOURCES) {
    const path = join(directory, crd);
    const skip = existsSync(path) ? false : `the sandbox has not taken ${crd} out of the Go module cache yet`;
    test(`${out} is what the CRD generates`, { skip }, () => {
      const text = generateTypes(readFileSync(path, 'utf8'), { version, descriptions: false, meta: '../src/meta.ts' });
      assert.equal(readFileSync(join(import.meta.dirname, out), 'utf8'), text, 'run `npm run generate`');
      assert.doesNotMatch(text, /^\s*(?:\/?\*\*|\*) (?!The kind)/m, 'descriptions are upstream’s own');
    });
  }
});

/** The same shape without names: an interface has no index signature, not even one that its fields would meet. */
type Shape<T> = T extends string | number | boolean | undefined ? T : { readonly [K in keyof T]: Shape<T[K]> };
/** Compiles only where whatever upstream's schema allows is also what our compact type says. */
type Reads<Compact, Upstream extends Compact> = readonly [Compact, Upstream];
export type Proven = readonly [
  Reads<ours.Machine, Shape<machines.Machine>>,
  Reads<ours.MachineSet, Shape<machinesets.MachineSet>>,
  Reads<ours.ControlPlaneMachineSet, Shape<controlplanemachinesets.ControlPlaneMachineSet>>,
  Reads<ours.MachineConfiguration, Shape<machineconfigurations.MachineConfiguration>>,
  Reads<ours.Infrastructure, Shape<infrastructures.Infrastructure>>,
  Reads<ours.ClusterVersion, Shape<clusterversions.ClusterVersion>>,
];

test('our compact kinds are upstream’s: same group, version, plural and scope', () => {
  const pairs: readonly (readonly [compact: object, generated: object])[] = [
    [ours.Machine, machines.Machine],
    [ours.MachineSet, machinesets.MachineSet],
    [ours.ControlPlaneMachineSet, controlplanemachinesets.ControlPlaneMachineSet],
    [ours.MachineConfiguration, machineconfigurations.MachineConfiguration],
    [ours.Infrastructure, infrastructures.Infrastructure],
    [ours.ClusterVersion, clusterversions.ClusterVersion],
  ];
  for (const [compact, generated] of pairs) assert.deepEqual(compact, generated);
});
