import type { MoRef } from '@drydock/vsphere';
import type { TemplateErrorCode } from '../errors.ts';
import type { Proof } from '../mark/witness.ts';
import type { Mark } from '../mark.ts';
import type { Attempt } from '../names.ts';

/**
 * Who makes an unfinished import: this process, a holder that still leads, one that does not, or one of whom nothing is known
 * (then only its age tells).
 */
export type Uploader = 'here' | 'live' | 'gone' | 'unknown';

/** A machine or template of the publication folder. */
export interface Machine {
  readonly ref: MoRef;
  /** Identity key; see `Testimony`. */
  readonly key: string;
  readonly name: string;
  /** '' where vCenter gives none. */
  readonly instanceUuid: string;
  readonly isTemplate: boolean;
  readonly poweredOff: boolean;
  /** Product version. */
  readonly version?: string;
  /** Milliseconds since 1970, by vCenter's clock. */
  readonly createdAt?: number;
  /** A task is queued or running on it. */
  readonly busy: boolean;
  /** Its disks lie on other disks: it has snapshots, or is a linked clone. */
  readonly chained: boolean;
  /** A mark that counts. Where there are witnesses, one of the owner's is proven. */
  readonly mark?: Mark;
  /** It was imported with its mark; else it was adopted, or put away by a swap. Without a mark false. */
  readonly born: boolean;
  /** What proves the mark; `none` also where there is no witness to ask. */
  readonly proof: Proof;
  /** Its ownership record is to be written, by the current key. */
  readonly renew: boolean;
  /** This installation imported, adopted or claimed it: it may be removed once nothing needs it. */
  readonly own: boolean;
  /** Who said that they point at it: files and consumers; an unreadable record is one that nobody can name. */
  readonly pointers: readonly string[];
  /** Those among them whose names can be read. */
  readonly holders: readonly string[];
  /** Why it bears a mark that does not count. */
  readonly invalid?: string;
  /** Every byte was acknowledged and secure boot is settled; or it was adopted or retired as a template. */
  readonly verified: boolean;
  /** What it has been. `marking`: about to be made a template; `unknown`: it is a finished import of which the ledger knows nothing. */
  readonly past: 'never' | 'marking' | 'template' | 'unknown';
  /** What makes it another one than was published, as a clause. */
  readonly tampered?: string;
  /** It bears what only a running machine leaves. */
  readonly ran: boolean;
  /** Why its configuration cannot be read, as a clause: then hardly anything is known of it. */
  readonly unreadable?: string;
  readonly uploader: Uploader;
  /** It was uploaded whole, and is not finished yet. */
  readonly uploaded: boolean;
  /** Its importer writes a heartbeat. */
  readonly beats: boolean;
  /** How long this observer has seen it unchanged (ms), its heartbeat included; 0 at first sight. */
  readonly unchangedMs: number;
  /** Ids; read only for those that may be what is wanted. */
  readonly tags: readonly string[];
  /** Machines whose disks lie on its disks, or are among them; read only for what would be removed. */
  readonly linked: readonly string[];
  /** Machines of which that cannot be told, because their disks cannot be read. */
  readonly unseen: readonly string[];
}

/** An owned machine. */
export type Candidate = Machine & { readonly mark: Mark };

/** The publication folder as a plain value. */
export interface Observed {
  readonly machines: readonly Machine[];
}

/** Which content is wanted: an image under one of its names, or a generation that is there already. */
export type Content =
  | { readonly kind: 'image'; readonly digest: string; readonly attempts: readonly Attempt[] }
  | { readonly kind: 'generation'; readonly instanceUuid: string };

/** What should be. */
export interface Wanted {
  readonly owner: string;
  readonly content: Content;
  readonly tagIds: readonly string[];
  /** Names that the server calls taken although no machine of the folder bears them. */
  readonly refused?: ReadonlySet<string>;
  /** Absent: publication by pointer. */
  readonly swap?: { readonly name: string; readonly unmarked: 'refuse' | 'retire' };
}

/** The template that a swap puts away. */
export interface Replaced extends On {
  readonly key: string;
  /** Its ownership record is to be written first: it is not owned yet. */
  readonly claim: boolean;
}

interface On {
  readonly ref: MoRef;
  /** Its name at this moment. */
  readonly name: string;
}

/** The next step. Each is one change that the outside sees entirely or not at all (a swap: but for its window), or a reason for none. */
export type Step =
  | (On & { readonly kind: 'done'; readonly retired?: string })
  | { readonly kind: 'import'; readonly attempt: Attempt }
  /** Says of an upload that is whole that it is. `record`: its ownership record is to be written first. */
  | (On & { readonly kind: 'finish'; readonly record?: true })
  | (On & { readonly kind: 'markAsTemplate' })
  /** Writes the ownership record that an owned template lacks. */
  | (On & { readonly kind: 'record' })
  | (On & { readonly kind: 'attachTags'; readonly tagIds: readonly string[] })
  /** Notes in the ledger what a template is about to replace, and takes that over where it is not owned. */
  | (On & { readonly kind: 'intend'; readonly publishes: string; readonly old: Replaced })
  | (On & { readonly kind: 'swap'; readonly publishes: string; readonly old: On; readonly retired: string })
  | (On & { readonly kind: 'rename'; readonly to: string; readonly reason: string })
  /** Notes in the ledger that a swap put it away. */
  | (On & { readonly kind: 'retire'; readonly by: string })
  | (On & {
      readonly kind: 'destroy';
      readonly instanceUuid: string;
      /** Ours; or named by another tool's derivation. */
      readonly marked: boolean;
      readonly finished: boolean;
      readonly reason: string;
    })
  | { readonly kind: 'wait'; readonly name: string; readonly code: TemplateErrorCode; readonly reason: string }
  | {
      readonly kind: 'blocked';
      readonly code: TemplateErrorCode;
      readonly reason: string;
      /** It may pass although nobody here changes anything. */
      readonly retriable?: boolean;
    };

/** A step that changes something. */
export type Act = Exclude<Step, { kind: 'done' | 'wait' | 'blocked' }>;
