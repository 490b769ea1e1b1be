import { type Crd, type JsonObject, readCrd } from '@drydock/crd';
import { excludedBy } from '../inclusion/annotations.ts';
import { type Manifest, readManifestFile } from '../payload/manifest.ts';
import { DEFAULT_PROFILE } from '../payload/payload.ts';

/** A release as a rehearsal plays it: what its authors bring, and operators of ours beside it. */
export interface RehearsedRelease {
  readonly version: string;
  /** Of `release-manifests`, by name. */
  readonly files: ReadonlyMap<string, string>;
  /** By name. */
  readonly crds: ReadonlyMap<string, Crd>;
}

/** What a release is made of. */
export interface ReleaseParts {
  readonly version: string;
  /** Whatever is in it besides what a rehearsal adds, by file name. */
  readonly manifests: ReadonlyMap<string, readonly JsonObject[]>;
}

/** Names that both releases have, and the places where what differs between them is. */
export const NAMESPACE = 'drydock-rehearsal';
/** ConfigMap with one key more in the newer release. */
export const SETTINGS = 'settings';
/** ConfigMap that the newer release deletes. */
export const RETIRED = 'retired';
/** Webhook configuration that only the newer release has, and the operator behind it. */
export const GUARD = 'guard';
/** Label of a component's objects. */
const COMPONENT = 'rehearsal.drydock.dev/component';

/** Manifests of OpenShift say for whom they are: ours are for all, by whichever object they are asked for. */
const INCLUDED: JsonObject = { [`include.release.openshift.io/${DEFAULT_PROFILE}`]: 'true' };

const CRD_KIND = 'CustomResourceDefinition';

/** Where the webhook of the newer release is answered. */
export interface GuardAddress {
  readonly url: string;
  /** PEM. */
  readonly ca: string;
}

/** The two releases of a rehearsal, with the same operators, and with what makes a way back hard: a key, an object and a webhook that only one of them has. */
export function rehearsedReleases(
  older: ReleaseParts,
  newer: ReleaseParts,
  guard: GuardAddress,
): { readonly older: RehearsedRelease; readonly newer: RehearsedRelease; readonly components: readonly string[] } {
  const definitions = [older, newer].map(definitionsOf);
  const components = [
    ...new Set(definitions.flatMap((of) => [...of.values()].map(({ crd }) => componentOf(crd)))),
  ].toSorted();
  const common = (version: string): readonly (readonly [string, JsonObject])[] => [
    ['0000_00_rehearsal_00-namespace.json', object('v1', 'Namespace', NAMESPACE, undefined)],
    ...components.flatMap((name, at) => operatorOf(name, version, 30 + at)),
  ];
  const config = (name: string, data: JsonObject, annotations: JsonObject = {}): JsonObject => ({
    ...object('v1', 'ConfigMap', name, NAMESPACE, annotations),
    data,
  });
  return {
    components,
    older: released(older, [
      ...common(older.version),
      ['0000_20_rehearsal_01-settings.json', config(SETTINGS, { both: 'older' })],
      ['0000_20_rehearsal_02-retired.json', config(RETIRED, { kept: 'yes' })],
    ]),
    newer: released(newer, [
      ...common(newer.version),
      ['0000_20_rehearsal_01-settings.json', config(SETTINGS, { both: 'newer', more: 'yes' })],
      [
        '0000_20_rehearsal_02-retired.json',
        object('v1', 'ConfigMap', RETIRED, NAMESPACE, { 'release.openshift.io/delete': 'true' }),
      ],
      ...operatorOf(GUARD, newer.version, 40),
      ['0000_90_guard_09-webhook.json', webhookOf(guard)],
    ]),
  };
}

/** Which operator has the kinds of a definition: that of its group. */
export function componentOf({ group }: Pick<Crd, 'group'>): string {
  return group.split('.')[0]?.replaceAll(/[^a-z0-9]+/g, '') || 'operator';
}

/** The image of an operator: what runs it acts as this release. */
export function imageOf(component: string, version: string): string {
  return `rehearsal.invalid/${component}:${version}`;
}

interface Definition {
  readonly crd: Crd;
  readonly file: string;
}

function definitionsOf({ manifests }: ReleaseParts): ReadonlyMap<string, Definition> {
  const found = new Map<string, Definition>();
  for (const [file, documents] of manifests)
    for (const { object: one } of readManifestFile(file, textOf(documents)).filter(isForAll))
      if (one['kind'] === CRD_KIND) {
        const crd = readCrd(one, file);
        found.set(crd.name, { crd, file });
      }
  return found;
}

/** As a Payload applies it that names neither a profile nor a feature set. */
function isForAll(manifest: Manifest): boolean {
  const audience = { profile: undefined, featureSet: 'Default', gates: new Set<string>(), majorVersion: 1 };
  return excludedBy(manifest, audience) === undefined;
}

function released(
  parts: ReleaseParts,
  more: readonly (readonly [name: string, object: JsonObject])[],
): RehearsedRelease {
  const files = new Map<string, string>();
  for (const [name, documents] of parts.manifests) files.set(jsonName(name), textOf(documents.map(included)));
  for (const [name, one] of more) files.set(name, textOf([one]));
  const crds = new Map([...definitionsOf(parts)].map(([name, { crd }]) => [name, crd]));
  return { version: parts.version, files, crds };
}

/** Whoever rehearses a manifest wants it played, whichever object asks for its release. */
function included(manifest: JsonObject): JsonObject {
  const metadata = (manifest['metadata'] ?? {}) as JsonObject;
  const annotations = (metadata['annotations'] ?? {}) as JsonObject;
  return { ...manifest, metadata: { ...metadata, annotations: { ...INCLUDED, ...annotations } } };
}

/** Documents of one file; a List would be unpacked by the reader, but documents say what they are. */
function textOf(documents: readonly JsonObject[]): string {
  return documents.map((one) => JSON.stringify(one)).join('\n---\n');
}

/** Its place in the order stays what it was. */
function jsonName(name: string): string {
  return name.replace(/\.(ya?ml|json)$/, '.yaml');
}

function object(
  apiVersion: string,
  kind: string,
  name: string,
  namespace: string | undefined,
  annotations: JsonObject = {},
): JsonObject {
  const all = { ...INCLUDED, ...annotations };
  const metadata = { name, ...(namespace === undefined ? {} : { namespace }), annotations: all };
  return { apiVersion, kind, metadata };
}

/** A Deployment, which nobody waits for, and a StatefulSet, without which the release is not complete. */
function operatorOf(component: string, version: string, runlevel: number): readonly (readonly [string, JsonObject])[] {
  const labels = { [COMPONENT]: component };
  const template = {
    metadata: { labels },
    spec: { terminationGracePeriodSeconds: 1, containers: [{ name: 'main', image: imageOf(component, version) }] },
  };
  const workload = (kind: string, more: JsonObject): JsonObject => ({
    apiVersion: 'apps/v1',
    kind,
    metadata: {
      ...{ name: kind === 'Deployment' ? component : `${component}-data`, namespace: NAMESPACE, labels },
      annotations: INCLUDED,
    },
    spec: { replicas: 1, selector: { matchLabels: { ...labels, kind: kind.toLowerCase() } }, ...more } as JsonObject,
  });
  const ofKind = (kind: string): JsonObject => ({
    ...template,
    metadata: { labels: { ...labels, kind: kind.toLowerCase() } },
  });
  return [
    [
      `0000_${runlevel}_${component}_03-deployment.json`,
      workload('Deployment', { strategy: { type: 'Recreate' }, template: ofKind('Deployment') }),
    ],
    [
      `0000_${runlevel}_${component}_04-statefulset.json`,
      workload('StatefulSet', { serviceName: component, template: ofKind('StatefulSet') }),
    ],
  ];
}

function webhookOf({ url, ca }: GuardAddress): JsonObject {
  return {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingWebhookConfiguration',
    metadata: { name: 'rehearsal-guard', annotations: INCLUDED },
    webhooks: [
      {
        name: 'guard.rehearsal.drydock.dev',
        clientConfig: { url, caBundle: Buffer.from(ca).toString('base64') },
        rules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] }],
        namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': NAMESPACE } },
        failurePolicy: 'Fail',
        sideEffects: 'None',
        timeoutSeconds: 5,
        admissionReviewVersions: ['v1'],
      },
    ],
  };
}
