import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { signedBy, testImage, testSigner } from '@drydock/release/testing';

/** Manifests of the payload, one in each file, and how many of them are definitions. */
export const MANIFESTS = 900;
export const DEFINITIONS = 60;
const COMPONENTS = 20;
const VERSION = '4.18.0';

/** Where a payload was written. */
export interface WrittenPayload {
  readonly folder: string;
  /** The same as an image, in the layout of OCI. */
  readonly layout: string;
  /** A store with its signature, and the key ring of who signed. */
  readonly signatures: string;
  readonly ring: string;
}

/** Writes a payload as OpenShift has them: definitions in the first runlevel, then twenty components, each with its namespace, rights, settings and workloads. */
export async function writePayload(folder: string): Promise<WrittenPayload> {
  const place = { folder: join(folder, 'payload'), layout: join(folder, 'layout'), signatures: join(folder, 'signed') };
  const files = payloadFiles();
  for (const name of ['manifests', 'release-manifests']) mkdirSync(join(place.folder, name), { recursive: true });
  for (const [name, text] of files) writeFileSync(join(place.folder, name), text);
  const { digest, mediaType, blobs } = await testImage([[{ name: 'manifests', type: 'directory' }, ...files]]);
  mkdirSync(join(place.layout, 'blobs/sha256'), { recursive: true });
  for (const [name, { bytes }] of blobs) writeFileSync(join(place.layout, 'blobs/sha256', hexOf(name)), bytes);
  const size = blobs.get(digest)?.bytes.length ?? 0;
  const index = { schemaVersion: 2, manifests: [{ mediaType, digest, size }] };
  writeFileSync(join(place.layout, 'index.json'), JSON.stringify(index));
  writeFileSync(join(place.layout, 'oci-layout'), JSON.stringify({ imageLayoutVersion: '1.0.0' }));
  const signer = await testSigner('bench');
  mkdirSync(join(place.signatures, `sha256=${hexOf(digest)}`), { recursive: true });
  writeFileSync(join(place.signatures, `sha256=${hexOf(digest)}`, 'signature-1'), await signedBy(signer, digest));
  return { ...place, ring: signer.publicKey };
}

function hexOf(digest: string): string {
  return digest.slice('sha256:'.length);
}

function payloadFiles(): readonly (readonly [path: string, text: string])[] {
  const objects: (readonly [name: string, object: object])[] = [];
  const numbered = (at: number): string => `${at}`.padStart(3, '0');
  for (let at = 0; at < DEFINITIONS; at += 1) objects.push([`0000_00_definitions_${numbered(at)}`, definition(at)]);
  for (let at = 0; at < COMPONENTS; at += 1)
    objects.push([`0000_${20 + at}_c${at}_000`, object('v1', 'Namespace', `bench-${at}`, undefined, {})]);
  const rest = MANIFESTS - objects.length;
  for (let at = 0; at < rest; at += 1) {
    const component = at % COMPONENTS;
    const kind = Math.floor(at / COMPONENTS) % MAKERS.length;
    const name = `o-${at}`;
    const maker = MAKERS[kind] as (typeof MAKERS)[number];
    objects.push([`0000_${20 + component}_c${component}_${numbered(at + 1)}`, maker(name, `bench-${component}`)]);
  }
  const metadata = { kind: 'cincinnati-metadata-v0', version: VERSION, previous: [] };
  const images = {
    ...{ apiVersion: 'image.openshift.io/v1', kind: 'ImageStream' },
    ...{ metadata: { name: VERSION }, spec: { tags: [] } },
  };
  const path = (name: string): string => `release-manifests/${name}`;
  return [
    [path('release-metadata'), JSON.stringify(metadata)],
    [path('image-references'), JSON.stringify(images)],
    ...objects.map(([name, one]) => [path(`${name}.yaml`), JSON.stringify(one)] as const),
  ];
}

function object(apiVersion: string, kind: string, name: string, namespace: string | undefined, rest: object): object {
  const annotations = { 'include.release.openshift.io/self-managed-high-availability': 'true' };
  const metadata = {
    name,
    ...(namespace === undefined ? {} : { namespace }),
    annotations,
    labels: { bench: 'release' },
  };
  return { apiVersion, kind, metadata, ...rest };
}

const MAKERS: readonly ((name: string, namespace: string) => object)[] = [
  (name, namespace) => object('v1', 'ServiceAccount', name, namespace, {}),
  (name, namespace) =>
    object('v1', 'ConfigMap', name, namespace, {
      data: Object.fromEntries(Array.from({ length: 8 }, (_, at) => [`key-${at}.yaml`, `${name}: ${'x'.repeat(400)}`])),
    }),
  (name, namespace) => object('rbac.authorization.k8s.io/v1', 'Role', name, namespace, { rules: rulesOf(8) }),
  (name, namespace) =>
    object('rbac.authorization.k8s.io/v1', 'RoleBinding', name, namespace, {
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name },
      subjects: [{ kind: 'ServiceAccount', name: 'default', namespace }],
    }),
  (name) => object('rbac.authorization.k8s.io/v1', 'ClusterRole', name, undefined, { rules: rulesOf(12) }),
  (name, namespace) =>
    object('v1', 'Service', name, namespace, {
      spec: { selector: { app: name }, ports: [{ name: 'https', port: 443, protocol: 'TCP', targetPort: 8443 }] },
    }),
  (name, namespace) =>
    object('apps/v1', 'Deployment', name, namespace, {
      spec: {
        replicas: 0,
        selector: { matchLabels: { app: name } },
        template: {
          metadata: { labels: { app: name } },
          spec: {
            containers: Array.from({ length: 3 }, (_, at) => ({
              ...{ name: `c-${at}`, image: `registry.example.com/${name}@sha256:${'ab'.repeat(32)}` },
              args: ['start', '--config=/etc/config/config.yaml', '-v=2'],
              env: Array.from({ length: 10 }, (__, of) => ({ name: `VARIABLE_${of}`, value: `value ${of}` })),
              resources: { requests: { cpu: '10m', memory: '50Mi' } },
              volumeMounts: [{ name: 'config', mountPath: '/etc/config' }],
            })),
            volumes: [{ name: 'config', configMap: { name: 'config' } }],
          },
        },
      },
    }),
];

function rulesOf(count: number): readonly object[] {
  return Array.from({ length: count }, (_, at) => ({
    ...{ apiGroups: [`group-${at}.example.com`], resources: ['things', 'things/status'] },
    verbs: ['get', 'list', 'watch', 'update'],
  }));
}

/** As large as one of OpenShift's: about 20 kB. */
function definition(at: number): object {
  const text = { type: 'string', description: 'd'.repeat(250) };
  const properties = Object.fromEntries(
    Array.from({ length: 30 }, (_, of) => [
      `field${of}`,
      { type: 'object', properties: { name: text, kind: { ...text, enum: ['A', 'B', 'C'] } } },
    ]),
  );
  const schema = {
    type: 'object',
    properties: { spec: { type: 'object', properties }, status: { type: 'object', properties: { phase: text } } },
  };
  const group = 'bench.drydock.dev';
  return object('apiextensions.k8s.io/v1', 'CustomResourceDefinition', `things${at}.${group}`, undefined, {
    spec: {
      ...{ group, scope: 'Namespaced' },
      names: { kind: `Thing${at}`, listKind: `Thing${at}List`, plural: `things${at}`, singular: `thing${at}` },
      versions: [
        { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema }, subresources: { status: {} } },
      ],
    },
  });
}
