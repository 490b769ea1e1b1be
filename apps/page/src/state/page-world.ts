import type { BootImage, Condition, Event } from '@drydock/api';
import type { ClusterTree } from '@drydock/boot-images';

/** A sentence, and what a person can do about it. */
export interface Told {
  readonly text: string;
  readonly nextStep?: string;
}

/** What of a cluster could be read, or why it could not be. */
export type Read<T> = { readonly kind: 'read'; readonly value: T } | { readonly kind: 'unread'; readonly why: string };

/** Who keeps boot images current. */
export interface PageLeader extends Told {
  readonly state: 'led' | 'vacant' | 'never' | 'unread';
}

/** A login that a vCenter refused. */
export interface RefusedLogin extends Told {
  readonly server: string;
}

/** A datastore on which sets of one failure domain have their templates. */
export interface DatastoreHealth {
  /** Inventory path. */
  readonly path: string;
  readonly failureDomains: readonly string[];
  readonly accessible: boolean;
  /** Bytes. */
  readonly free: number;
  /** Bytes of all; undefined where nobody has said it. */
  readonly capacity?: number;
}

/** What the operator says of a vCenter. */
export interface VCenterHealth {
  readonly server: string;
  /** When it was looked at (RFC 3339). */
  readonly asOf: string;
  /** `8.0.3 build 24022510`. */
  readonly version?: string;
  /** Sessions of the operator's user there, those of others with that user included. */
  readonly sessions?: number;
  readonly datastores: readonly DatastoreHealth[];
  /** What could not be asked, and why. */
  readonly trouble?: string;
}

/** One release of a history. */
export interface PageReleaseEntry {
  readonly state?: string;
  readonly version?: string;
  readonly startedTime?: string;
  readonly completionTime?: string;
}

/** A release that the cluster has. */
export interface PageRelease {
  /** `Payload tools`, `ClusterVersion version`. */
  readonly name: string;
  readonly version?: string;
  readonly progress?: string;
  readonly conditions: readonly Condition[];
  readonly waiting: readonly { readonly object: string; readonly why?: string; readonly since?: string }[];
  readonly history: readonly PageReleaseEntry[];
}

/** Everything that the page shows, as the verbs of the command line read it at one moment: `images` are those of `drydock status`, `tree` is that of `drydock tree`. */
export interface PageWorld {
  readonly now: Date;
  readonly leader: PageLeader;
  readonly images: readonly BootImage[];
  readonly tree: ClusterTree;
  readonly logins: readonly RefusedLogin[];
  readonly vcenters: Read<readonly VCenterHealth[]>;
  readonly releases: readonly PageRelease[];
  readonly events: readonly Event[];
  /** What else the command line would tell: statuses that cannot be written, upgrades that are held up, what could not be read. */
  readonly notes: readonly Told[];
}
