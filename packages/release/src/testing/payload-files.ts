import type { PayloadFiles } from '../payload/directory.ts';

/** The files of a small payload: what a release says of itself, and `manifests` by their paths. */
export function payloadFiles(
  manifests: Readonly<Record<string, string>>,
  {
    version = '4.14.0',
    images = {},
  }: { readonly version?: string; readonly images?: Readonly<Record<string, string>> } = {},
): PayloadFiles {
  const tags = Object.entries(images).map(([name, image]) => ({ name, from: { kind: 'DockerImage', name: image } }));
  const stream = {
    apiVersion: 'image.openshift.io/v1',
    kind: 'ImageStream',
    metadata: { name: version },
    spec: { tags },
  };
  return {
    name: 'payload',
    files: new Map([
      ['release-manifests/release-metadata', JSON.stringify({ kind: 'cincinnati-metadata-v0', version })],
      ['release-manifests/image-references', JSON.stringify(stream)],
      ...Object.entries(manifests),
    ]),
  };
}

/** Text of a manifest. */
export function manifestText(
  kind: string,
  name: string,
  annotations: Readonly<Record<string, string>> = {
    'include.release.openshift.io/self-managed-high-availability': 'true',
  },
  more: Readonly<Record<string, unknown>> = {},
): string {
  const [apiVersion, kindName] = kind.includes(' ') ? kind.split(' ') : ['v1', kind];
  return JSON.stringify({ apiVersion, kind: kindName, metadata: { name, annotations }, ...more });
}
