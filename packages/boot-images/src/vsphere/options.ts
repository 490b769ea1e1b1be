import type { Leader } from '@drydock/kube';
import type { HolderIsLive, TemplateStore } from '@drydock/templates';
import type { BootImageMetrics } from '../metrics.ts';
import type { DowngradePolicy } from '../observe/version.ts';

/** What is asked of the template store. */
export type ImageStore = Pick<TemplateStore, 'inspect' | 'publish' | 'revert' | 'collect' | 'list' | 'plan' | 'guest'>;

/** What the vSphere platform needs. */
export interface VSphereOptions {
  readonly store: ImageStore;
  /** Identity under which this process leads. */
  readonly holder: string;
  /** Whether a holder recorded in a mark still leads. */
  readonly holderIsLive: HolderIsLive;
  /** Default 'keep': a template newer than the stream is left alone. */
  readonly downgrade?: DowngradePolicy;
  /** Default 'pointer'. 'swap' keeps the installer's names, for those who depend on them: the new template takes the name over. */
  readonly publication?: TemplatePublication;
  /** 'unread': whoever asks does without the Secret of the vCenters. Default: a set whose server has no credentials in it fails. */
  readonly credentials?: 'unread';
  /** How many unreferenced templates of this cluster stay per place as a way back. Default 2. */
  readonly retain?: number;
  /** Where an image is read from, given where the stream says that it is: a mirror's address. Default: there. */
  readonly locate?: (location: string) => string;
  readonly warn?: (message: string) => void;
  readonly metrics?: Pick<BootImageMetrics, 'templateAbsent' | 'templateSwapped' | 'uploaded' | 'downloaded'>;
}

/** How a new template becomes the one that sets boot from. */
export type TemplatePublication = 'pointer' | 'swap';

/** Whoever contests the Lease is known by it. Of any other importer, as of a command on somebody's machine, it says nothing: there only silence tells. */
export function importerIsLive(leader: Pick<Leader, 'holderIsLive'>): HolderIsLive {
  return (holder) => (holder.startsWith('cli/') ? undefined : leader.holderIsLive(holder));
}
