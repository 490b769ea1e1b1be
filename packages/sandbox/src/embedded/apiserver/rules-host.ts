import type { JsonObject, KindRules } from '@drydock/kube/testing/api-server';

/** What the rules of built-in kinds need to know of the cluster. */
export interface RulesHost {
  /** Stored objects of a kind. */
  list(group: string, plural: string): readonly JsonObject[];
  now(): string;
  /** Whether rules of CRDs may set `optionalOldSelf`. */
  readonly optionalOldSelf: boolean;
}

/** The rules of kinds by `group/Kind`, or by `Kind` in the core group. */
export type RulesByKind = Readonly<Record<string, (host: RulesHost) => KindRules>>;
