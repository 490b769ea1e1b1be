import { readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { OPTIONAL_SOURCES } from '../api/optional/sources.ts';
import { UPSTREAM_SET, UPSTREAM_SOURCES } from '../api/upstream/sources.ts';
import { generateTypes } from '../packages/kube/src/generate.ts';
import { writeCrdArchive } from '../packages/sandbox/src/crd-archive.ts';
import { copyCrds, crdDirectory, moduleCrds } from '../packages/sandbox/src/crd-copy.ts';
import { CRD_SETS } from '../packages/sandbox/src/crd-sets.ts';
import { bookPages } from './book/pages.ts';
import { chartBundles } from './chart.ts';
import { root as checkout } from './command.ts';

// Writes the types of our own CRDs and of upstream's, what the Helm chart has of deploy, the archive of CRD sets, and the pages of the book that say what sources say. Tests fail when these files differ from what this writes.
const root = new URL('../api/', import.meta.url);
const outputs = [
  { crd: 'crds/drydock.dev_bootimages.yaml', version: 'v1alpha1', out: 'src/bootimage.gen.ts' },
  { crd: 'crds/drydock.dev_bootimagepolicies.yaml', version: 'v1alpha1', out: 'src/bootimagepolicy.gen.ts' },
  { crd: 'crds/drydock.dev_payloads.yaml', version: 'v1alpha1', out: 'src/payload.gen.ts' },
  ...OPTIONAL_SOURCES.map(({ crd, version, out }) => ({ crd: `optional/${crd}`, version, out: `optional/${out}` })),
];

for (const { crd, version, out } of outputs) {
  const meta = out.startsWith('optional/') ? { meta: '../src/meta.ts' } : {};
  const text = generateTypes(readFileSync(new URL(crd, root), 'utf8'), { version, descriptions: true, ...meta });
  writeFileSync(new URL(out, root), text);
  process.stdout.write(`api/${out}\n`);
}

for (const [file, text] of [...chartBundles(), ...bookPages()]) {
  writeFileSync(join(checkout, file), text);
  process.stdout.write(`${file}\n`);
}

const archive: Record<string, Readonly<Record<string, string>>> = {};
for (const one of CRD_SETS) archive[basename(crdDirectory(one))] = await moduleCrds(one, (line) => console.error(line));
writeCrdArchive(archive);
process.stdout.write('packages/sandbox/src/crd-sets.json.br\n');

const set = CRD_SETS.find(({ name }) => name === UPSTREAM_SET);
if (set === undefined) throw new Error(`the sandbox has no CRD set ${UPSTREAM_SET}`);
await copyCrds(set, (line) => console.error(line));
for (const { crd, version, out } of UPSTREAM_SOURCES) {
  const yaml = readFileSync(join(crdDirectory(set), crd), 'utf8');
  const text = generateTypes(yaml, { version, descriptions: false, meta: '../src/meta.ts' });
  writeFileSync(new URL(`upstream/${out}`, root), text);
  process.stdout.write(`api/upstream/${out}\n`);
}
