import { isObject, type Schema } from '@drydock/kube/testing/api-server';

/** The type of an expression. */
export type Type =
  | { readonly kind: Simple }
  | { readonly kind: 'list'; readonly of: Type }
  | { readonly kind: 'map'; readonly key: Type; readonly of: Type }
  | { readonly kind: 'optional'; readonly of: Type }
  | { readonly kind: 'object'; readonly schema: Schema; readonly name: string }
  | { readonly kind: 'parameter'; readonly name: string };

const SIMPLE_TYPES = [
  'dyn',
  'int',
  'uint',
  'double',
  'bool',
  'string',
  'bytes',
  'null',
  'timestamp',
  'duration',
  'type',
  'quantity',
  'ip',
  'cidr',
  'url',
  'semver',
  'format',
  'authorizer',
  'pathCheck',
  'groupCheck',
  'resourceCheck',
  'decision',
] as const;

/** A type without type arguments. */
export type Simple = (typeof SIMPLE_TYPES)[number];

export const DYN: Type = { kind: 'dyn' };

/** The type of the values of a schema. */
export function typeOfSchema(schema: Schema, name = 'object'): Type {
  if (schema['x-kubernetes-int-or-string'] === true) return DYN;
  switch (schema.type) {
    case 'integer':
      return { kind: 'int' };
    case 'number':
      return { kind: 'double' };
    case 'boolean':
      return { kind: 'bool' };
    case 'string':
      return { kind: FORMATS[schema.format ?? ''] ?? 'string' };
    case 'array':
      return { kind: 'list', of: schema.items === undefined ? DYN : typeOfSchema(schema.items, `${name}.@idx`) };
    case 'object':
      if (isObject(schema.additionalProperties)) {
        const of = typeOfSchema(schema.additionalProperties as Schema, `${name}.@elem`);
        return { kind: 'map', key: { kind: 'string' }, of };
      }
      if (schema.additionalProperties === true) return { kind: 'map', key: { kind: 'string' }, of: DYN };
      return { kind: 'object', schema, name };
    default:
      return DYN;
  }
}

/** The types of strings with these formats. */
export const FORMATS: Readonly<Record<string, Simple>> = {
  'date-time': 'timestamp',
  date: 'timestamp',
  duration: 'duration',
  byte: 'bytes',
};

/** The names of types, where they differ from those in signatures. */
export const TYPE_NAMES: Readonly<Record<string, string>> = {
  timestamp: 'google.protobuf.Timestamp',
  duration: 'google.protobuf.Duration',
  quantity: 'kubernetes.Quantity',
  url: 'kubernetes.URL',
  ip: 'net.IP',
  cidr: 'net.CIDR',
  semver: 'kubernetes.Semver',
  format: 'kubernetes.NamedFormat',
  authorizer: 'kubernetes.authorization.Authorizer',
  pathCheck: 'kubernetes.authorization.PathCheck',
  groupCheck: 'kubernetes.authorization.GroupCheck',
  resourceCheck: 'kubernetes.authorization.ResourceCheck',
  decision: 'kubernetes.authorization.Decision',
};

/** A type as error messages show it. */
export function typeText(type: Type): string {
  switch (type.kind) {
    case 'list':
      return `list(${typeText(type.of)})`;
    case 'map':
      return `map(${typeText(type.key)}, ${typeText(type.of)})`;
    case 'optional':
      return `optional_type(${typeText(type.of)})`;
    case 'parameter':
      return type.name;
    default:
      return TYPE_NAMES[type.kind] ?? type.kind;
  }
}

/** Reads the notation of signatures: `int`, `list<A>`, `map<A,B>`, `optional<A>`; single capitals are parameters. */
export function readType(text: string): Type {
  const simple = SIMPLE_TYPES.find((one) => one === text);
  if (simple !== undefined) return { kind: simple };
  if (/^[A-Z]$/.test(text)) return { kind: 'parameter', name: text };
  const [, kind, inner = ''] = /^(list|map|optional)<(.*)>$/.exec(text) ?? [];
  if (kind === 'list' || kind === 'optional') return { kind, of: readType(inner) };
  if (kind === 'map') {
    const comma = inner.indexOf(',');
    return { kind, key: readType(inner.slice(0, comma)), of: readType(inner.slice(comma + 1)) };
  }
  throw new TypeError(`no type: ${text}`);
}

/** The types that the parameters of a signature stand for. */
export type Bindings = Map<string, Type>;

/** Whether a signature's type takes values of a given type. Binds the parameters of the signature. */
export function matches(wanted: Type, given: Type, bound: Bindings): boolean {
  if (wanted.kind === 'parameter') {
    const known = bound.get(wanted.name);
    if (known === undefined || known.kind === 'dyn') {
      bound.set(wanted.name, given);
      return true;
    }
    return matches(known, given, bound) || matches(given, known, bound);
  }
  if (wanted.kind === 'dyn' || given.kind === 'dyn' || given.kind === 'parameter') return true;
  if (given.kind === 'null') return ['null', 'object', 'timestamp', 'duration', 'optional'].includes(wanted.kind);
  if (wanted.kind !== given.kind) return false;
  switch (wanted.kind) {
    case 'list':
    case 'optional':
      return matches(wanted.of, (given as typeof wanted).of, bound);
    case 'map': {
      const other = given as typeof wanted;
      return matches(wanted.key, other.key, bound) && matches(wanted.of, other.of, bound);
    }
    default:
      return true;
  }
}

/** A type with its parameters replaced by what they are bound to. */
export function bind(type: Type, bound: Bindings): Type {
  switch (type.kind) {
    case 'parameter':
      return bound.get(type.name) ?? DYN;
    case 'list':
    case 'optional':
      return { kind: type.kind, of: bind(type.of, bound) };
    case 'map':
      return { kind: 'map', key: bind(type.key, bound), of: bind(type.of, bound) };
    default:
      return type;
  }
}

/** The common type of two types: the same type, or `dyn`. */
export function joined(a: Type, b: Type): Type {
  if (a.kind === 'null' && b.kind !== 'null') return b.kind === 'object' || b.kind === 'dyn' ? b : DYN;
  if (b.kind === 'null' && a.kind !== 'null') return a.kind === 'object' || a.kind === 'dyn' ? a : DYN;
  if (a.kind === 'list' && b.kind === 'list') return { kind: 'list', of: joined(a.of, b.of) };
  if (a.kind === 'map' && b.kind === 'map') return { kind: 'map', key: joined(a.key, b.key), of: joined(a.of, b.of) };
  if (a.kind === 'optional' && b.kind === 'optional') return { kind: 'optional', of: joined(a.of, b.of) };
  return a.kind === b.kind ? a : DYN;
}
