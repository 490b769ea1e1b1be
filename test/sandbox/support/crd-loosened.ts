import type { Schema } from '@drydock/crd';
import type { Dice } from './crd-samples.ts';

const BOUNDS = ['maxItems', 'maxLength', 'maxProperties', 'minItems', 'enum', 'format', 'required'] as const;
const RULES = 'x-kubernetes-validations';

/** A schema as another release might have it: here and there without a bound, without a rule, without a field, with lists of another type. Every `often`-th node is touched. */
export function changed(schema: Schema, dice: Dice, often: number, keys: readonly string[] = []): Schema {
  const next: { -readonly [K in keyof Schema]: Schema[K] } = { ...schema };
  const hit = (): boolean => dice() % often === 0;
  for (const bound of BOUNDS) if (hit() && !(bound === 'required' && keys.length > 0)) delete next[bound];
  if (next.maxItems !== undefined && hit()) next.maxItems *= 1000;
  if (next.maxLength !== undefined && hit()) next.maxLength *= 1000;
  if (hit()) delete next[RULES];
  if (schema['x-kubernetes-list-type'] !== undefined && hit()) {
    next['x-kubernetes-list-type'] = 'atomic';
    delete next['x-kubernetes-list-map-keys'];
  }
  const below = next['x-kubernetes-list-map-keys'] ?? [];
  if (schema.items !== undefined) next.items = changed(schema.items, dice, often, below);
  if (typeof schema.additionalProperties === 'object')
    next.additionalProperties = changed(schema.additionalProperties, dice, often);
  if (schema.properties !== undefined) {
    const properties = Object.entries(schema.properties).map(
      ([name, of]) => [name, keys.includes(name) ? of : changed(of, dice, often)] as const,
    );
    next.properties = Object.fromEntries(
      properties.filter(([name]) => keys.includes(name) || dice() % (3 * often) !== 0),
    );
  }
  return next;
}
