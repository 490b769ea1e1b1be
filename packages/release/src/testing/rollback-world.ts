import { type ConfigMap, Deployment } from '@drydock/api';
import { type Crd, type Json, type JsonObject, judge, project, prune, ROLLBACK, readCrd } from '@drydock/crd';
import type { KubeObject, Resource } from '@drydock/kube';
import type { MemoryCluster, MemoryKubeClient } from '@drydock/kube/testing';
import { applyPayload } from '../apply/apply.ts';
import { configMapInventory } from '../apply/inventory/config-maps.ts';
import type { Manifest } from '../payload/manifest.ts';
import { DEFINITION } from '../rollback/definitions.ts';
import { configMapKept } from '../rollback/kept-values.ts';
import type { RollbackEnd, RollbackPorts, RollbackWish } from '../rollback/wish.ts';
import { applyOn, configMapOf, type Loose, manifestsOf, wishOf } from './apply-cluster.ts';
import { memoryApplyCluster } from './memory-apply.ts';

const NAMESPACE = 'default';
const OWNER = 'Payload shop';
const GROUP = 'shop.example.com';
/** What only the newer release can hold, in words that nothing else has. */
export const PRECIOUS = ['Draining', 'z-feature', 'note-of-the-new', 'extra-of-the-new', 'code-too-long'] as const;

/** Who writes the statuses once the older release is back. */
export type Writer =
  /** Writes what its release knows. */
  | 'older'
  /** Keeps what it read when it came, and puts it back. */
  | 'legacy'
  | 'silent';

/** A cluster with a shop of two kinds, in use under 1.1.0, whose operator goes on writing. */
export interface RollbackWorld {
  readonly cluster: MemoryCluster;
  readonly apply: ReturnType<typeof memoryApplyCluster>;
  readonly older: RollbackEnd;
  readonly newer: RollbackEnd;
  writer: Writer;
  /** From the newer release to the older one. */
  readonly back: RollbackWish;
  /** And the other way. */
  readonly forth: RollbackWish;
  ports(client: MemoryKubeClient, more?: Partial<RollbackPorts>): RollbackPorts;
  /** The operator writes, if it has anything to write. */
  tick(): void;
  /** What was broken at any instant: values that nobody knows any more, objects that a definition refuses, writes of operators that were refused. */
  readonly broken: string[];
  definition(name: string): KubeObject;
  object(kind: Resource<KubeObject>, name: string): JsonObject;
  /** Which of the precious values nobody knows. */
  lost(): readonly string[];
  /** Of the operator. */
  image(): string;
}

/** Kinds of the shop. */
export const WIDGET: Resource<KubeObject> = kindOf('Widget', 'widgets');
/** See {@link WIDGET}. */
export const GADGET: Resource<KubeObject> = kindOf('Gadget', 'gadgets');
const HOOK: Resource<KubeObject> = {
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  kind: 'ValidatingWebhookConfiguration',
  plural: 'validatingwebhookconfigurations',
  scope: 'Cluster',
};

function kindOf(kind: string, plural: string): Resource<KubeObject> {
  return { group: GROUP, version: 'v1', kind, plural, scope: 'Cluster' };
}

/** A definition of the shop. */
export function shopDefinition({ kind, plural }: Resource<KubeObject>, properties: object): Loose {
  const schema = { type: 'object', properties };
  const version = { name: 'v1', served: true, storage: true, subresources: { status: {} } };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${GROUP}` },
    spec: {
      group: GROUP,
      scope: 'Cluster',
      names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
      versions: [{ ...version, schema: { openAPIV3Schema: schema } }],
    },
  };
}

const text = { type: 'string' };
const number = { type: 'integer' };
const conditions = {
  type: 'array',
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': ['type'],
  items: { type: 'object', required: ['type'], properties: { type: text, status: text } },
};
const widgetOf = (phases: readonly string[], features: readonly string[], more: boolean) =>
  shopDefinition(WIDGET, {
    spec: { type: 'object', properties: { size: number, ...(more ? { extra: text } : {}) } },
    status: {
      type: 'object',
      properties: {
        phase: { type: 'string', enum: phases },
        features: { type: 'array', items: { type: 'string', enum: features } },
        beats: number,
        ...(more ? { note: text, conditions } : {}),
      },
    },
  });
const gadgetOf = (maxLength: number) =>
  shopDefinition(GADGET, { status: { type: 'object', properties: { code: { ...text, maxLength }, beats: number } } });

/** What a release of the shop brings. */
export function shopRelease(version: '1.0.0' | '1.1.0', definitions: readonly Loose[]): RollbackEnd {
  const operator = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'operator', namespace: NAMESPACE },
    spec: {
      replicas: 0,
      selector: { matchLabels: { app: 'operator' } },
      template: {
        metadata: { labels: { app: 'operator' } },
        spec: { containers: [{ name: 'c', image: `operator:${version}` }] },
      },
    },
  };
  const hook = {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: HOOK.kind,
    metadata: { name: 'shop' },
    webhooks: [],
  };
  const only = version === '1.1.0' ? [configMapOf(NAMESPACE, 'only-new', { a: '1' }), hook] : [];
  const manifests: readonly Manifest[] = manifestsOf(
    ...definitions,
    operator,
    configMapOf(NAMESPACE, 'shop', { version }),
    ...only,
  );
  return { payload: { version, image: `registry/shop:${version}`, hash: version }, manifests };
}

/** Lays it out: 1.0.0, then 1.1.0, then its use. */
export async function rollbackWorld(writer: Writer = 'older'): Promise<RollbackWorld> {
  const older = shopRelease('1.0.0', [widgetOf(['Ready', 'Busy'], ['x', 'y'], false), gadgetOf(4)]);
  const newer = shopRelease('1.1.0', [
    widgetOf(['Ready', 'Busy', 'Draining'], ['x', 'y', 'z-feature'], true),
    gadgetOf(20),
  ]);
  const apply = memoryApplyCluster([HOOK]);
  const { cluster } = apply;
  cluster.subscribe(({ resource, now }) => {
    if (resource === `${DEFINITION.plural}.${DEFINITION.group}` && now !== undefined) cluster.serve(now);
  });
  for (const { payload, manifests } of [older, newer]) {
    const outcome = await applyOn(apply, wishOf(manifests, { owner: OWNER, version: payload.version }));
    if (!outcome.complete) throw new Error(`the world cannot be laid out: ${JSON.stringify(outcome)}`);
  }
  cluster.put(WIDGET, { name: 'one' }, {
    spec: { size: 1, extra: 'extra-of-the-new' },
    status: { phase: 'Draining', features: ['x', 'z-feature'], note: 'note-of-the-new', beats: 0 },
  } as never);
  cluster.put(WIDGET, { name: 'two' }, {
    spec: { size: 2 },
    status: { phase: 'Ready', features: ['y'], beats: 0 },
  } as never);
  cluster.put(GADGET, { name: 'g' }, { status: { code: 'code-too-long', beats: 0 } } as never);

  const broken: string[] = [];
  const definitionOf = ({ plural }: Resource<KubeObject>): KubeObject =>
    cluster.peek(DEFINITION, { name: `${plural}.${GROUP}` }) as KubeObject;
  const crdOf = (kind: Resource<KubeObject>): Crd =>
    readCrd({ kind: DEFINITION.kind, ...definitionOf(kind) } as unknown as Json, 'memory');
  const objects: readonly (readonly [Resource<KubeObject>, string])[] = [
    [WIDGET, 'one'],
    [WIDGET, 'two'],
    [GADGET, 'g'],
  ];
  const read = (kind: Resource<KubeObject>, name: string): JsonObject =>
    cluster.peek(kind, { name }) as unknown as JsonObject;
  const isLegal = (object: JsonObject, crd: Crd): boolean => {
    const [version] = crd.versions;
    const { schema = {} } = version ?? {};
    return (
      judge({ endpoint: 'create', next: object, schema, hasStatus: false }, { era: 'E0', minor: 34 }).causes.length ===
      0
    );
  };
  const lost = (): readonly string[] => {
    const said = JSON.stringify([
      objects.map(([kind, name]) => read(kind, name)),
      Object.entries(cluster.snapshot())
        .filter(([key]) => key.startsWith('configmaps default/drydock-rollback'))
        .map(([, object]) => (object as ConfigMap).data),
    ]);
    return PRECIOUS.filter((value) => !said.includes(value));
  };
  cluster.subscribe(({ resource }) => {
    for (const value of lost()) broken.push(`after a change of ${resource} nobody knows ${value}`);
    for (const [kind, name] of objects)
      if (!isLegal(read(kind, name), crdOf(kind)))
        broken.push(`after a change of ${resource} ${kind.plural} ${name} is illegal`);
  });

  /** What a legacy writer read when it came. */
  let memory: { readonly image: string; readonly statuses: readonly JsonObject[] } | undefined;
  let beats = 0;
  const tick = (): void => {
    const image = world.image();
    if (memory?.image !== image)
      memory = { image, statuses: objects.map(([kind, name]) => read(kind, name)['status'] as JsonObject) };
    const isOld = image.endsWith('1.0.0');
    if (isOld && world.writer === 'silent') return;
    beats += 1;
    for (const [index, [kind, name]] of objects.entries()) {
      const object = read(kind, name);
      const [version] = crdOf(kind).versions;
      const stored = object['status'] as JsonObject;
      const known = readCrd(manifestOf(older, kind).object, 'older').versions[0];
      const next: JsonObject =
        world.writer === 'legacy'
          ? { ...memory.statuses[index], beats }
          : isOld
            ? { ...project(stored, object, { live: known as never, core: [] }).status, beats }
            : { ...stored, beats };
      const written = prune({ ...object, status: next }, version?.schema ?? {}).value as JsonObject;
      if (!isLegal(written, crdOf(kind))) broken.push(`the writer of ${image} is refused`);
      else cluster.put(kind, { name }, written as unknown as Partial<KubeObject>);
    }
  };

  const world: RollbackWorld = {
    ...{ cluster, apply, older, newer, writer, broken, lost, tick },
    back: { from: newer, to: older, owner: { name: OWNER }, accepted: [], attempt: 0 },
    forth: { from: older, to: newer, owner: { name: OWNER }, accepted: [], attempt: 0 },
    ports: (client, more = {}) => ({
      client,
      inventory: configMapInventory({ client, namespace: NAMESPACE }),
      apply: applyPayload,
      kept: configMapKept({ client, namespace: NAMESPACE, clock: apply.clock }),
      columns: async ({ plural }) => {
        const { spec: served } = (await client.get(DEFINITION, { name: `${plural}.${GROUP}` })) as unknown as {
          readonly spec: {
            readonly versions: readonly { readonly additionalPrinterColumns?: readonly { readonly name: string }[] }[];
          };
        };
        return [(served.versions[0]?.additionalPrinterColumns ?? []).map(({ name }) => name)];
      },
      clock: apply.clock,
      signal: new AbortController().signal,
      onProgress: () => undefined,
      ...more,
    }),
    definition: (name) => cluster.peek(DEFINITION, { name: `${name}.${GROUP}` }) as KubeObject,
    object: read,
    image: () => {
      const { spec } = cluster.peek(Deployment, { namespace: NAMESPACE, name: 'operator' }) as unknown as {
        readonly spec: {
          readonly template: { readonly spec: { readonly containers: readonly { readonly image: string }[] } };
        };
      };
      return spec.template.spec.containers[0]?.image ?? '';
    },
  };
  return world;
}

/** The definition of a kind that a release brings. */
export function manifestOf({ manifests }: RollbackEnd, { plural }: Resource<KubeObject>): Manifest {
  const found = manifests.find(({ id }) => id.name === `${plural}.${GROUP}`);
  if (found === undefined) throw new Error(`no definition of ${plural}`);
  return found;
}

/** Whether a definition says that somebody goes back. */
export function isMarked({ metadata }: KubeObject): boolean {
  return metadata.annotations?.[ROLLBACK] !== undefined;
}
