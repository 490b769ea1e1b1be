import type { BootImage } from '@drydock/api';
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
import { collectTemplates } from './collect-templates.ts';
import { type ClusterApiObject, CORE, INFRASTRUCTURE, type ServedKinds } from './kinds.ts';
import { wayBackBy } from './records.ts';

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
      const templates = TEMPLATES.flatMap((kind) => served.of(INFRASTRUCTURE, kind) ?? []);
      const due = await collectTemplates(
        key.namespace ?? '',
        {
          ...{ client, served, resourceOf, templates, mayWrite: () => leader.assertHeld() },
          history: (template) => wayBackBy(template, bootImages(), retain),
          removed: (template) => {
            const note = `${template.kind?.toLowerCase()} ${template.metadata.name}: nothing needs it any more`;
            log.info({ template: textOf(template) }, note);
            const event = { type: 'Normal', reason: 'GarbageCollected', action: 'CollectTemplates', note } as const;
            role.events.record(resourceOf(CORE, 'Cluster'), first, event);
          },
        },
        { now: now(), keep: retain, graceMs, signal },
      );
      if (first === all[0])
        await collectImages(
          { client, served, store, bootImages, owner: role.owner, holderIsLive: role.holderIsLive, keep: retain },
          await role.places(),
          { signal, warn: (error) => log.warn({ err: error }, 'unneeded images could not be collected') },
        );
      return { after: Math.min(due ?? COLLECT_MS, COLLECT_MS) };
    },
  });
}

function textOf({ metadata }: KubeObject): string {
  return `${metadata.namespace ?? ''}/${metadata.name}`;
}
