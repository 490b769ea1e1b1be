import { type Json, jsonText } from '../schema/json.ts';
import { type Path, schemaPathText } from '../schema/path.ts';
import type { Schema } from '../schema/schema.ts';

/** A class of narrowing: N1 to N36, see the table in this package's README. A widening has the class of the narrowing that it is in the other direction. */
export type RuleId = `N${number}`;

/**
 * What a step does to objects: it refuses what was legal, allows what was not, or changes what is read without refusing anything. `undecided`: only a person or the server
 * knows, as of two patterns.
 */
export type Effect = 'narrows' | 'widens' | 'shifts' | 'undecided';

/** Where a step is: in a half of the object, at its root, or in the definition itself. */
export type Half = 'status' | 'spec' | 'metadata' | 'root' | 'definition';

/** One difference between two schemas. */
export interface Step {
  readonly rule: RuleId;
  readonly effect: Effect;
  /** Version of the resource; '' where the definition as a whole is meant. */
  readonly version: string;
  /** `status.history[].state`, `<root>`; '' for the definition. */
  readonly path: string;
  readonly half: Half;
  /** Keyword of the schema, or field of the definition. */
  readonly keyword: string;
  /** What changed, as a clause: `enum loses "Build", "MachineAPI"`. */
  readonly what: string;
  /** A server before 1.`since` ignores it. */
  readonly since?: number;
}

/** Where a comparison is in a schema, and what decides about classes there. */
export interface Place {
  readonly version: string;
  readonly path: Path;
  /** The node is an item of a list, and lists of this type are compared as a whole or item by item. */
  readonly item?: 'whole' | 'keyed' | undefined;
  /** The node is a key of a list of type map. */
  readonly key?: boolean;
  /** The node is an item of a list of type map that has these keys. */
  readonly keys?: ReadonlySet<string>;
}

/** The half of an object that a path is in. */
export function halfOf(path: Path): Half {
  const [first] = path;
  if (first === undefined) return 'root';
  return first === 'status' || first === 'metadata' ? first : 'spec';
}

/** Makes a step at a place. */
export function stepAt(
  place: Place,
  step: Omit<Step, 'version' | 'path' | 'half'> & { readonly since?: number },
): Step {
  return { version: place.version, path: schemaPathText(place.path), half: halfOf(place.path), ...step };
}

/** The place of a child. */
export function below(place: Place, schema: Schema, part: string): Place {
  const inner = { version: place.version, path: [...place.path, part] };
  if (part === '[]') {
    const keyed = schema['x-kubernetes-list-type'] === 'map';
    return { ...inner, item: keyed ? 'keyed' : 'whole' };
  }
  // What is in an item that is compared as a whole is compared with it.
  return { ...inner, item: place.item };
}

/** The class of an enum that loses values, by where it is (N1 to N5). */
export function enumRule(place: Place, introduced: boolean): RuleId {
  if (introduced) return 'N5';
  if (place.key === true) return 'N4';
  if (place.item === 'whole') return 'N2';
  return place.item === 'keyed' ? 'N3' : 'N1';
}

/** A value in a message; long ones are cut. */
export function shown(value: Json | undefined): string {
  const text = value === undefined ? undefined : jsonText(value);
  return text === undefined ? 'none' : text.length > 60 ? `${text.slice(0, 59)}…` : text;
}
