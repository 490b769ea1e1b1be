import { createHash } from 'node:crypto';
import { jsonText } from '@drydock/crd';
import type { Manifest } from './manifest.ts';

/** SHA-256 of manifests in their order, each with its file: who has it knows that nothing of them was changed. */
export function manifestsDigest(manifests: readonly Manifest[]): string {
  const hash = createHash('sha256');
  for (const { file, object } of manifests) hash.update(`${JSON.stringify(file)}${jsonText(object)}\n`);
  return `sha256:${hash.digest('hex')}`;
}
