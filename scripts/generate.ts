import { readFileSync, writeFileSync } from 'node:fs';
import { generateTypes } from '../packages/kube/src/generate.ts';

// Writes the types of our own CRDs. A test fails when these files differ from what this writes.
const root = new URL('../api/', import.meta.url);
const outputs = [{ crd: 'crds/drydock.dev_bootimages.yaml', version: 'v1alpha1', out: 'src/bootimage.gen.ts' }];

for (const { crd, version, out } of outputs) {
  const text = generateTypes(readFileSync(new URL(crd, root), 'utf8'), { version, descriptions: true });
  writeFileSync(new URL(out, root), text);
  process.stdout.write(`api/${out}\n`);
}
