import type { Json, JsonObject } from './json.ts';

/** A validation rule in the Common Expression Language (`x-kubernetes-validations`). */
export interface CelRule {
  readonly rule: string;
  readonly message?: string;
  readonly messageExpression?: string;
  readonly reason?: string;
  readonly fieldPath?: string;
  readonly optionalOldSelf?: boolean;
}

/**
 * A structural schema, as `openAPIV3Schema` of a CustomResourceDefinition has it. Only the keywords that decide something; the names are those of the API
 * (apiextensions.k8s.io/v1, JSONSchemaProps).
 */
export interface Schema {
  readonly type?: string;
  readonly format?: string;
  readonly nullable?: boolean;
  readonly default?: Json;
  readonly enum?: readonly Json[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: boolean | Schema;
  readonly items?: Schema;
  readonly required?: readonly string[];
  readonly maxLength?: number;
  readonly minLength?: number;
  readonly pattern?: string;
  readonly maximum?: number;
  readonly minimum?: number;
  readonly exclusiveMaximum?: boolean;
  readonly exclusiveMinimum?: boolean;
  readonly multipleOf?: number;
  readonly maxItems?: number;
  readonly minItems?: number;
  readonly uniqueItems?: boolean;
  readonly maxProperties?: number;
  readonly minProperties?: number;
  readonly allOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly not?: Schema;
  readonly 'x-kubernetes-int-or-string'?: boolean;
  readonly 'x-kubernetes-preserve-unknown-fields'?: boolean;
  readonly 'x-kubernetes-embedded-resource'?: boolean;
  readonly 'x-kubernetes-list-type'?: string;
  readonly 'x-kubernetes-list-map-keys'?: readonly string[];
  readonly 'x-kubernetes-map-type'?: string;
  readonly 'x-kubernetes-validations'?: readonly CelRule[];
}

/** One version of a custom resource. */
export interface CrdVersion {
  readonly name: string;
  readonly served: boolean;
  readonly storage: boolean;
  /** undefined: everything is kept, nothing is checked. */
  readonly schema: Schema | undefined;
  readonly status: boolean;
  readonly scale: boolean;
  /** JSON paths that field selectors may name (from 1.30). */
  readonly selectable: readonly string[];
  /** Whoever writes a status keeps within these, too: that of a release that is being gone back to, and what a server may still go by. The first ones matter most. */
  readonly also?: readonly Schema[];
}

/** What of a CustomResourceDefinition decides about stored objects. */
export interface Crd {
  /** `<plural>.<group>`. */
  readonly name: string;
  readonly group: string;
  readonly kind: string;
  readonly plural: string;
  readonly scope: 'Namespaced' | 'Cluster';
  readonly versions: readonly CrdVersion[];
  /** `spec.preserveUnknownFields` of an old CRD: no pruning at all. */
  readonly preservesUnknownFields: boolean;
  readonly conversion: 'None' | 'Webhook';
  readonly storedVersions: readonly string[];
  /** The document it was read from. */
  readonly manifest: JsonObject;
}
