import type { BootImage, BootImagePolicy } from '@drydock/api';
import {
  type Cache,
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
import type { ImageStore } from '../vsphere/platform.ts';
import { collectImages } from './collect-images.ts';
import { type CollectPorts, collectTemplates, machineKind } from './collect-templates.ts';
import type { NamedPath } from './image-leaf.ts';
import { type ClusterApiObject, CORE, INFRASTRUCTURE, type ServedKinds } from './kinds.ts';
import { waysBackBy } from './records.ts';

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

/** Takes away what nothing needs any more: infrastructure templates of ours for each namespace with a cluster, and the images of all in their vCenters. */
export function collectionController(role: CollectionRole): Controller {
  const { client, served, clusters, store, leader, log, now, retain, graceMs, resourceOf, bootImages } = role;
  return controller<ClusterApiObject>({
    ...{ name: 'boot-images-cluster-api-collect', for: clusters, when: ({ old }) => old === undefined },
    backOff: { first: 5_000, longest: 300_000 },
    reconcile: async (key, { signal }) => {
      const all = [...clusters.all()].toSorted((a, b) => (textOf(a) < textOf(b) ? -1 : 1));
      const first = all.find(({ metadata }) => metadata.namespace === key.namespace);
      if (first === undefined) return undefined;
      // One for each namespace, whichever cluster is told of.
      if (first.metadata.name !== key.name) return { after: COLLECT_MS };
      const paths = [...role.policies()].flatMap(({ spec }) => spec?.clusterAPI?.imagePaths ?? []);
      const known = TEMPLATES.flatMap((kind) => served.of(INFRASTRUCTURE, kind) ?? []);
      const ports = {
        ...{ client, served, resourceOf, mayWrite: () => leader.assertHeld() },
        removed: (template: ClusterApiObject) => {
          const note = `${template.kind?.toLowerCase()} ${template.metadata.name}: nothing needs it any more`;
          log.info({ template: textOf(template) }, note);
          const event = { type: 'Normal', reason: 'GarbageCollected', action: 'CollectTemplates', note } as const;
          role.events.record(resourceOf(CORE, 'Cluster'), first, event);
        },
      };
      const collect = (templates: CollectPorts['templates']): Promise<number | undefined> =>
        collectTemplates(
          key.namespace ?? '',
          { ...ports, templates, history: waysBackBy(bootImages, retain, paths) },
          { now: now(), keep: retain, graceMs, signal },
        );
      const due = [await collect(known)];
      for (const template of namedTemplates(paths, known, served)) {
        try {
          due.push(await collect([template]));
        } catch (error) {
          signal.throwIfAborted();
          // What a person named needs rights that a person grants; the others go on.
          log.warn({ err: error, kind: template.kind }, 'unneeded templates of this kind could not be collected');
        }
      }
      if (first === all[0])
        await collectImages(
          { client, served, store, bootImages, owner: role.owner, holderIsLive: role.holderIsLive, keep: retain },
          await role.places(),
          { signal, warn: (error) => log.warn({ err: error }, 'unneeded images could not be collected') },
        );
      return { after: Math.min(...due.map((after) => after ?? COLLECT_MS), COLLECT_MS) };
    },
  });
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
