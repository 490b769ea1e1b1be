import type { JsonObject } from '../schema/json.ts';
import type { Path } from '../schema/path.ts';
import type { Schema } from '../schema/schema.ts';
import { traitsOf } from '../schema/traits.ts';
import type { Cause, Doubt, Verdict } from './cause.ts';
import { checkEmbedded } from './embedded.ts';
import { checkListTypes } from './list-types.ts';
import { checkRules } from './rules.ts';
import { validate } from './validate.ts';

/**
 * How an API server treats what was illegal before a write (KEP-4008). E0: like anything else. E1 (1.30 to 1.32): it lets alone what a write to the main endpoint does not change. E2 (from 1.33):
 * also what a write of the status does not change.
 */
export type Era = 'E0' | 'E1' | 'E2';

/** A server, as far as it decides about writes. */
export interface ServerEra {
  readonly era: Era;
  /** Kubernetes 1.`minor`; decides which formats are known. */
  readonly minor: number;
}

/** The eras as real servers have them. */
export const ERAS: Readonly<Record<Era, ServerEra>> = {
  E0: { era: 'E0', minor: 29 },
  E1: { era: 'E1', minor: 32 },
  E2: { era: 'E2', minor: 34 },
};

/** A write that a server is asked for. Objects are whole, pruned and defaulted. */
export interface Write {
  readonly endpoint: 'create' | 'main' | 'status';
  readonly next: JsonObject;
  /** What is stored, as the live schema shows it; undefined for a creation. */
  readonly stored?: JsonObject | undefined;
  readonly schema: Schema;
  /** The resource has a status subresource. */
  readonly hasStatus: boolean;
  /** Ask for rules also where a server stops at the errors of the schema: all that stands in the way, not what is told first. */
  readonly everyRule?: boolean;
  /** Nothing refuses a creation of the object, see `isPlain`: only rules that compare with the old value are asked. */
  readonly plain?: boolean;
}

/**
 * What a server of this era says about a write: the steps and their order are those of the strategies of custom resources (apiextensions-apiserver,
 * pkg/registry/customresource).
 */
export function judge(write: Write, server: ServerEra): Verdict {
  const { endpoint, schema, stored } = write;
  const causes: Cause[] = [];
  const doubts: Doubt[] = [];
  const next = effective(write);
  const ratchets =
    stored !== undefined && (endpoint === 'main' ? server.era !== 'E0' : endpoint === 'status' && server.era === 'E2');
  const context = { minor: server.minor, ratchets, causes, doubts };
  if (write.plain === true) {
    checkRules(next, schema, [], stored, { ...context, comparing: true }, false, true);
    return { causes, doubts };
  }
  if (endpoint === 'status') {
    const status = schema.properties?.['status'];
    if (status !== undefined && next['status'] !== undefined)
      validate(next['status'], status, ['status'], stored?.['status'], context);
  } else {
    validate(next, schema, [], stored, context);
    checkEmbedded(next, schema, [], context);
  }
  // Lists that were wrong before are not looked at again.
  if (stored === undefined || checkListTypes(stored, schema).length === 0) causes.push(...checkListTypes(next, schema));
  const blocked = causes.some(({ reason }) => BLOCKING.has(reason));
  if (!blocked || write.everyRule === true) checkRules(next, schema, [], stored, context);
  else if (traitsOf(schema).rules) causes.push(NOT_CHECKED);
  return { causes, doubts };
}

/** The other half of the object is what it was, whatever the writer sent. */
function effective({ endpoint, next, stored, hasStatus }: Write): JsonObject {
  if (!hasStatus) return next;
  const { status: _status, ...rest } = next;
  if (endpoint === 'create') return rest;
  const half = endpoint === 'main' ? stored?.['status'] : next['status'];
  const other = endpoint === 'main' ? rest : withoutStatus(stored ?? next);
  return half === undefined ? other : { ...other, status: half };
}

function withoutStatus(object: JsonObject): JsonObject {
  const { status: _status, ...rest } = object;
  return rest;
}

/** Errors after which a server does not evaluate rules. */
const BLOCKING: ReadonlySet<string> = new Set([
  'FieldValueNotSupported',
  'FieldValueRequired',
  'FieldValueTooLong',
  'FieldValueTooMany',
  'FieldValueTypeInvalid',
]);

const ROOT: Path = [];
const NOT_CHECKED: Cause = {
  reason: 'FieldValueInvalid',
  path: ROOT,
  owner: ROOT,
  keyword: 'unchecked',
  message:
    'some validation rules were not checked because the object was invalid; correct the existing errors to complete validation',
};
