import type { ObjectId } from '../../payload/manifest.ts';

/** Keys that we wrote, with a digest of each value, by the path of the map that they are in: `metadata.labels`, `data`. */
export type WrittenKeys = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** Whether an owner has an object: something of it was written, or may have been, and it was not left to others since. */
export function isHeld(entry: InventoryEntry | undefined): boolean {
  return entry !== undefined && entry.left !== true && (entry.uid !== '' || entry.intent !== undefined);
}

/** What is known of one object that a payload brings, or brought. */
export interface InventoryEntry {
  readonly id: ObjectId;
  /** Version of its group in which it is written. */
  readonly version: string;
  /** File of the payload that brought it last. */
  readonly file: string;
  /** Releases that brought it, the last one last; at most eight. */
  readonly releases: readonly string[];
  /** Of the object that we wrote; '' where we only claim it. */
  readonly uid: string;
  /** We made it, so it goes when no release brings it. Otherwise it was there before. */
  readonly made: boolean;
  readonly written: WrittenKeys;
  /** What is about to be written: after a crash the live object tells whether it was. */
  readonly intent?: { readonly resourceVersion: string; readonly written: WrittenKeys };
  /** A digest of the manifest, and what stands for the content that the server made of it: where both are the same, there is nothing to write. */
  readonly settled?: { readonly manifest: string; readonly content: string };
  /** A Job: image of the release for which it has done its work. It is not made again for the same one, even if its time to live has removed it. */
  readonly ran?: string;
  /** No manifest brings it any more: another owner may. */
  readonly left?: true;
  /** Objects that a definition had when a release asked for its deletion: names, the first hundred, and how many there were. */
  readonly held?: { readonly count: number; readonly names: readonly string[] };
}
