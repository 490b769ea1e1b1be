import type { StatusCause } from '../../status-object.ts';
import type { JsonObject } from './json.ts';
import type { Nulls, Settled } from './schema.ts';

/** What a rule may look at besides the object. */
export interface RuleContext {
  readonly version: string;
  readonly subresource: string | undefined;
  readonly dryRun: boolean;
  /** Whether the metadata will be refused, while violations are looked for. */
  readonly metadataRefused?: boolean;
  /** Tells the client of something that is not refused. */
  readonly warn: (text: string) => void;
}

/**
 * What a kind knows beyond its schema: the server's own code for it. The cluster of the crash explorers has none of it. All parts are optional.
 *
 * A write goes: `read` → managers → admission → `create` or `update` → `violations` → admission → store.
 */
export interface KindRules {
  /** In place of pruning and defaulting by the schema: a value whose defaults are filled in, and the paths of unknown fields. Throws `Undecodable`. */
  read?(object: JsonObject, version: string, nulls: Nulls): Settled;
  /** An object that says nothing, as the kind's types have it: what stands there before anybody owns a field. */
  empty?(): JsonObject;
  /** What the server itself sets in a new object. */
  create?(object: JsonObject, context: RuleContext): JsonObject;
  /** What the server itself sets in, or keeps from, an object that changes. */
  update?(object: JsonObject, old: JsonObject, context: RuleContext): JsonObject;
  /** In place of validation by the schema. */
  violations?(object: JsonObject, old: JsonObject | undefined, context: RuleContext): readonly StatusCause[];
  /** What a client is warned of. */
  warnings?(object: JsonObject, old: JsonObject | undefined, context: RuleContext): readonly string[];
  /** Whether it has a generation, which counts changes of everything but metadata and status; custom kinds always do. */
  readonly generation?: boolean;
  /** What of its metadata a write of the status leaves as it is: of Kubernetes' own kinds nothing by default. */
  readonly statusKeeps?: 'metadata' | 'labels';
  /** A PUT has to name the version that it replaces. */
  readonly guarded?: boolean;
  /** Deleting it never waits for a garbage collector: nothing can be owned by it. */
  readonly ownsNothing?: boolean;
  /** How a deletion without a policy treats what the object owns; `Background` by default. */
  readonly orphansByDefault?: boolean;
  /** How names are checked: `label` (63 characters, no dots), `dns1035` (one that begins with a letter), `path` (anything that is one segment of a path), else a subdomain. */
  readonly names?: 'label' | 'dns1035' | 'path';
  /** Values that field selectors may name, by field, besides metadata.name and metadata.namespace. */
  fields?(object: JsonObject): Readonly<Record<string, string>>;
  /** Why no more objects can be made; undefined: they can. */
  closed?(): string | undefined;
  /** What becomes of an object whose deletion has to wait for a controller; undefined: its deletion is an ordinary one. */
  deleted?(object: JsonObject, now: string): JsonObject | undefined;
  /** A deletion that needs no waiting is answered with the object, as it was, rather than with a Status. */
  readonly returnsDeleted?: boolean;
  /** How long (s) a deleted object stays for its grace: it is marked, and somebody else removes it. 0: it goes at once. */
  grace?(object: JsonObject, asked: number | undefined): number;
}

/** What a client sent and the kind's types cannot hold, in the words of the server's decoder. */
export class Undecodable extends Error {
  override readonly name = 'Undecodable';
}
