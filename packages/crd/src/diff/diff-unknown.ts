import { equal, type Json, own } from '../schema/json.ts';
import type { Schema } from '../schema/schema.ts';
import { type Place, type Step, stepAt } from './step.ts';

/** Keywords that decide something and are compared, and those that only explain. */
const KNOWN: ReadonlySet<string> = new Set<keyof Schema | Explains>([
  'type',
  'format',
  'nullable',
  'default',
  'enum',
  'properties',
  'additionalProperties',
  'items',
  'required',
  'maxLength',
  'minLength',
  'pattern',
  'maximum',
  'minimum',
  'exclusiveMaximum',
  'exclusiveMinimum',
  'multipleOf',
  'maxItems',
  'minItems',
  'uniqueItems',
  'maxProperties',
  'minProperties',
  'allOf',
  'anyOf',
  'oneOf',
  'not',
  'x-kubernetes-int-or-string',
  'x-kubernetes-preserve-unknown-fields',
  'x-kubernetes-embedded-resource',
  'x-kubernetes-list-type',
  'x-kubernetes-list-map-keys',
  'x-kubernetes-map-type',
  'x-kubernetes-validations',
  'description',
  'title',
  'example',
  'externalDocs',
  'id',
  '$schema',
]);

type Explains = 'description' | 'title' | 'example' | 'externalDocs' | 'id' | '$schema';

/** Keywords that no server known here reads: what a newer one makes of them nobody can tell (N35). */
export function diffUnknown(a: Schema, b: Schema, place: Place): readonly Step[] {
  const [before, after] = [a, b] as unknown as readonly [Keywords, Keywords];
  const unknown = [...Object.keys(before), ...Object.keys(after)].filter((keyword) => !KNOWN.has(keyword));
  if (unknown.length === 0) return [];
  return [...new Set(unknown)].toSorted().flatMap((keyword): readonly Step[] => {
    if (equal(own(before, keyword), own(after, keyword))) return [];
    const what = `keyword ${keyword} changes: no server known here reads it`;
    return [stepAt(place, { rule: 'N35', effect: 'undecided', keyword, what })];
  });
}

type Keywords = Readonly<Record<string, Json>>;
