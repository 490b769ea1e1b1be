import type { JsonObject } from './json.ts';
import { apiVersionOf, type ServedKind, served } from './kinds.ts';
import type { Manager } from './managers.ts';
import { nameOf } from './metadata.ts';
import type { Admission } from './ports.ts';
import type { RuleContext } from './rules.ts';
import { storeId } from './store.ts';

/** Where a write goes, by whom, and how. */
export interface WriteTarget {
  readonly kind: ServedKind;
  readonly version: string;
  readonly namespace: string | undefined;
  readonly name: string;
  readonly subresource?: string | undefined;
  readonly manager: string;
  readonly dryRun: boolean;
  /** What happens to undeclared fields: the write is refused, or they are dropped with or without a warning. */
  readonly validation: 'Strict' | 'Warn' | 'Ignore';
  /** The content comes from a patch, which errors of decoding then blame. */
  readonly patched?: boolean;
  readonly user?: unknown;
  readonly options?: JsonObject;
  /** Gets warnings for the client. */
  readonly warn: (text: string) => void;
}

/** The key of the target in the store. */
export function idOf({ kind, namespace, name }: WriteTarget): string {
  return storeId(kind.namespaced ? namespace : undefined, name);
}

export function managerOf(target: WriteTarget, operation: Manager['operation']): Manager {
  const { manager, kind, version, subresource } = target;
  return { manager, operation, apiVersion: apiVersionOf(kind, version), subresource };
}

export function contextOf({ version, subresource, dryRun, warn }: WriteTarget): RuleContext {
  return { version, subresource, dryRun, warn };
}

export function admissionOf(target: WriteTarget, object: JsonObject, old: JsonObject | undefined): Admission {
  const { kind, version, namespace, name, subresource, dryRun, user, options = {}, warn } = target;
  return {
    ...{ kind, version, namespace, subresource, options, dryRun, user, warn },
    operation: old === undefined ? 'CREATE' : 'UPDATE',
    name: name === '' ? nameOf(object) : name,
    object: served(object, kind, version),
    old: old === undefined ? undefined : served(old, kind, version),
  };
}
