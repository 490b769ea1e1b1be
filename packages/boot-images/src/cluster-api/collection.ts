import type { BootImage, BootImagePolicy } from '@drydock/api';
import {
  type Cache,
  type Client,
  type Controller,
  controller,
  type EventRecorder,
  type EventRecorderOptions,
  type KubeClient,
  type KubeObject,
  type Leader,
  type Resource,
} from '@drydock/kube';
import type { HolderIsLive, Placement } from '@drydock/templates';
import type { ImageStore } from '../vsphere/options.ts';
import type { Collection } from './collect.ts';
import { type CollectedOnly, type CollectPorts, collectTemplates, machineKind } from './collect-templates.ts';
import { serverOf } from './identity.ts';
import type { NamedPath } from './image-leaf.ts';
import { type ClusterApiObject, CORE, INFRASTRUCTURE, type ServedKinds } from './kinds.ts';
import { namesInUse } from './needs.ts';
import { imageNeeds, waysBackBy } from './records.ts';

/** What {@link collectionController} needs. */
export interface CollectionRole {
  readonly client: KubeClient;
  readonly served: ServedKinds;
  readonly clusters: Cache<ClusterApiObject>;
  readonly store: Pick<ImageStore, 'collect'>;
  readonly leader: Pick<Leader, 'assertHeld'>;
  readonly log: EventRecorderOptions['log'];
  readonly events: Pick<EventRecorder, 'record'>;
  readonly now: () => Date;
  readonly owner: string;
  readonly retain: number;
  readonly graceMs: number;
  readonly holderIsLive: HolderIsLive;
  readonly resourceOf: (group: string, kind: string) => Resource<ClusterApiObject>;
  readonly bootImages: () => Iterable<BootImage>;
  readonly policies: () => Iterable<BootImagePolicy>;
  /** Every place of every cluster, with its login. */
  readonly places: () => Promise<readonly Placement[]>;
}

/** How often (ms) it is looked at what may go. */
const COLLECT_MS = 600_000;
/** Kinds of templates that are collected: those whose image is known to be one. */
const TEMPLATES = ['VSphereMachineTemplate', 'AWSMachineTemplate', 'AzureMachineTemplate', 'GCPMachineTemplate'];

/** What nothing needs any more: infrastructure templates of ours, and the images of all of them in their vCenters. */
export interface Collections {
  /** Of one namespace with a cluster. Resolves to what was done, or would be, and to when more may be due. */
  readonly templates: (namespace: string, options?: CollectedOnly) => Promise<Collection>;
  /** Of every place. */
  readonly images: (options?: Omit<ImagesOnly, 'warn'>) => Promise<readonly CollectedImage[]>;
  /** Namespaces with a cluster. */
  readonly namespaces: () => readonly string[];
}

/** See {@link Collections}. What cannot be looked at stays, and is told. */
export function collections(role: CollectionRole): Collections {
  const { client, served, clusters, store, leader, log, now, retain, graceMs, resourceOf, bootImages } = role;
  const removed = (template: ClusterApiObject): void => {
    const [first] = sorted(clusters).filter(({ metadata }) => metadata.namespace === template.metadata.namespace);
    const note = `${template.kind?.toLowerCase()} ${template.metadata.name}: nothing needs it any more`;
    log.info({ template: textOf(template) }, note);
    const event = { type: 'Normal', reason: 'GarbageCollected', action: 'CollectTemplates', note } as const;
    if (first !== undefined) role.events.record(resourceOf(CORE, 'Cluster'), first, event);
  };
  return {
    namespaces: () => [...new Set(sorted(clusters).map(({ metadata }) => metadata.namespace ?? ''))],
    templates: async (namespace, options = {}) => {
      const paths = [...role.policies()].flatMap(({ spec }) => spec?.clusterAPI?.imagePaths ?? []);
      const known = TEMPLATES.flatMap((kind) => served.of(INFRASTRUCTURE, kind) ?? []);
      const ports = { ...{ client, served, resourceOf, removed, mayWrite: () => leader.assertHeld() } };
      const collect = (templates: CollectPorts['templates']): Promise<Collection> =>
        collectTemplates(
          namespace,
          { ...ports, templates, history: waysBackBy(bootImages, retain, paths) },
          { now: now(), keep: retain, graceMs, ...options },
        );
      const done = [await collect(known)];
      for (const template of namedTemplates(paths, known, served)) {
        try {
          done.push(await collect([template]));
        } catch (error) {
          options.signal?.throwIfAborted();
          // What a person named needs rights that a person grants; the others go on.
          log.warn({ err: error, kind: template.kind }, 'unneeded templates of this kind could not be collected');
        }
      }
      const due = done.flatMap(({ after }) => after ?? []);
      return {
        steps: done.flatMap(({ steps }) => steps),
        after: due.length === 0 ? undefined : Math.min(...due),
      };
    },
    images: async (options = {}) =>
      collectImages(
        { client, served, store, bootImages, owner: role.owner, holderIsLive: role.holderIsLive, keep: retain },
        await role.places(),
        { ...options, warn: (error) => log.warn({ err: error }, 'unneeded images could not be collected') },
      ),
  };
}

/** Collects all of it, again and again. */
export function collectionController(
  { clusters }: Pick<CollectionRole, 'clusters'>,
  { templates, images }: Collections,
): Controller {
  return controller<ClusterApiObject>({
    ...{ name: 'boot-images-cluster-api-collect', for: clusters, when: ({ old }) => old === undefined },
    backOff: { first: 5_000, longest: 300_000 },
    reconcile: async (key, { signal }) => {
      const all = sorted(clusters);
      const first = all.find(({ metadata }) => metadata.namespace === key.namespace);
      if (first === undefined) return undefined;
      // One for each namespace, whichever cluster is told of.
      if (first.metadata.name !== key.name) return { after: COLLECT_MS };
      const { after = COLLECT_MS } = await templates(key.namespace ?? '', { signal });
      if (first === all[0]) await images({ signal });
      return { after: Math.min(after, COLLECT_MS) };
    },
  });
}

function sorted(clusters: CollectionRole['clusters']): readonly ClusterApiObject[] {
  return [...clusters.all()].toSorted((a, b) => (textOf(a) < textOf(b) ? -1 : 1));
}

/** Kinds that policies name. One whose machines cannot be asked for stays: nobody could tell what they need. */
export function namedTemplates(
  paths: readonly NamedPath[],
  known: readonly Resource<ClusterApiObject>[],
  served: Pick<ServedKinds, 'of'>,
): readonly Resource<ClusterApiObject>[] {
  const found = new Map<string, Resource<ClusterApiObject>>();
  for (const { group = '', kind = '' } of paths) {
    const resource = served.of(group, kind);
    if (resource === undefined || known.includes(resource) || !kind.endsWith('Template')) continue;
    if (served.of(group, machineKind(kind)) !== undefined) found.set(`${kind}.${group}`, resource);
  }
  return [...found.values()];
}

function textOf({ metadata }: KubeObject): string {
  return `${metadata.namespace ?? ''}/${metadata.name}`;
}

/** What a collection of images in vCenters needs. */
export interface CollectImagesOptions {
  readonly client: Pick<Client, 'list'>;
  readonly served: Pick<ServedKinds, 'of'>;
  readonly store: Pick<ImageStore, 'collect'>;
  readonly owner: string;
  readonly holderIsLive: HolderIsLive;
  readonly keep: number;
  readonly bootImages: () => Iterable<BootImage>;
}

/** What of a collection of images is done. */
export interface ImagesOnly {
  readonly warn: (error: unknown) => void;
  /** Default: whatever nothing needs. */
  readonly only?: (name: string) => boolean;
  /** Only says what would go. */
  readonly dryRun?: boolean;
  readonly signal?: AbortSignal | undefined;
}

/** An image that went, or would. */
export interface CollectedImage {
  readonly server: string;
  readonly folder: string;
  readonly name: string;
  readonly reason: string;
}

/**
 * Takes away templates of ours in these places that no infrastructure template, machine, history or pin names. All that can name one is asked of the server for each place anew; where it
 * cannot be, everything stays. A place that cannot be looked at does not stop the others.
 */
export async function collectImages(
  options: CollectImagesOptions,
  places: readonly Placement[],
  { warn, only, dryRun, signal }: ImagesOnly,
): Promise<readonly CollectedImage[]> {
  const removed: CollectedImage[] = [];
  const { client, served, store, owner, holderIsLive, keep, bootImages } = options;
  const needs = imageNeeds(bootImages, keep);
  for (const place of places) {
    try {
      const named: ClusterApiObject[] = [];
      for (const kind of ['VSphereMachineTemplate', 'VSphereMachine', 'VSphereVM']) {
        const resource = served.of(INFRASTRUCTURE, kind);
        if (resource === undefined) continue;
        for await (const one of client.list(resource, {}, { signal })) named.push({ kind, ...one });
      }
      const users = namesInUse(named);
      const collected = await store.collect(place, owner, {
        referenced: (name) => users.get(name) ?? needs(name),
        ...{ holderIsLive, keep, signal },
        ...(only === undefined ? {} : { only }),
        ...(dryRun === undefined ? {} : { dryRun }),
      });
      const { server, folder, datacenter } = place;
      for (const { name, removed: gone, reason } of collected)
        if (gone) removed.push({ server: serverOf(server), folder: folder || datacenter, name, reason });
    } catch (error) {
      signal?.throwIfAborted();
      warn(error);
    }
  }
  return removed;
}
