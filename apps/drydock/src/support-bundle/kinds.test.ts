import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parseAllDocuments } from 'yaml';
import { FOREIGN_KINDS } from './kinds.ts';

const root = join(import.meta.dirname, '../../../..');

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

/** Groups of kinds of which a bundle has objects, or which are asked for otherwise: all of Kubernetes' own. */
const OWN =
  /^$|^(?:apps|coordination\.k8s\.io|discovery\.k8s\.io|events\.k8s\.io|apiextensions\.k8s\.io|drydock\.dev)$/;
/** What says no more than what is there: that of which machines are made, and what only a canary asks about. */
const LEFT_OUT = /^(?:vsphere|aws|azure|gcp)machines$|^vspherevms$|^machinehealthchecks$/;

test('SAFE-9 each kind of others that the operator decides by is in a support bundle, and so in the test that plants secrets', () => {
  const rules = globSync('deploy/rbac/{boot-images,cluster-api,watch,release}/**/*.yaml', { cwd: root })
    .flatMap((file) => parseAllDocuments(readFileSync(join(root, file), 'utf8')))
    .flatMap((document) => ((document.toJSON() as { readonly rules?: readonly Rule[] } | null)?.rules ?? []) as Rule[]);
  const read = rules
    .filter(({ verbs }) => verbs.includes('list'))
    .flatMap(({ apiGroups, resources }) => apiGroups.flatMap((group) => resources.map((plural) => ({ group, plural }))))
    .filter(({ group, plural }) => !OWN.test(group) && !LEFT_OUT.test(plural))
    .map(({ group, plural }) => `${plural}.${group}`);
  assert.ok(read.length > 15, read.join());
  const bundled = new Set(FOREIGN_KINDS.map(({ group, plural }) => `${plural}.${group}`));
  assert.deepEqual(
    read.filter((one) => !bundled.has(one)),
    [],
  );
});
