import type { Schema } from '../schema/schema.ts';

const CORE: ReadonlySet<string> = new Set(['conditions', 'observedGeneration', 'desired', 'history', 'versionHash']);

/** Tightens random nodes of a schema (N1 to N16); the dice decide which, and how. What a status must have at its root is not taken away. */
export function narrowed(schema: Schema, dice: readonly number[]): Schema {
  let at = 0;
  const roll = (): number => dice[at++ % dice.length] ?? 0;
  const walk = (node: Schema, depth: number): Schema => {
    const properties =
      node.properties === undefined
        ? undefined
        : Object.fromEntries(
            Object.entries(node.properties).flatMap(([key, of]) =>
              depth > 0 && roll() % 17 === 0 && !CORE.has(key) ? [] : [[key, walk(of, depth + 1)]],
            ),
          );
    const items = node.items === undefined ? undefined : walk(node.items, depth + 1);
    const next: Schema = {
      ...node,
      ...(properties === undefined ? {} : { properties }),
      ...(items === undefined ? {} : { items }),
    };
    if (depth < 1 || roll() % 23 !== 0) return next;
    const required = next.required?.filter((key) => properties === undefined || Object.hasOwn(properties, key));
    const rest: Schema = required === undefined ? next : { ...next, required };
    switch (node.type) {
      case 'string':
        return (
          [
            { ...rest, enum: ['x', 'Completed'] },
            { ...rest, maxLength: roll() % 6 },
            { ...rest, pattern: '^[a-z]' },
            { ...rest, type: 'integer' },
          ][roll() % 4] ?? rest
        );
      case 'array':
        return (
          [
            { ...rest, maxItems: roll() % 4 },
            { ...rest, minItems: 1 + (roll() % 3) },
          ][roll() % 2] ?? rest
        );
      case 'object':
        return (
          [
            {
              ...rest,
              required: [...(rest.required ?? []), 'brandNew'],
              properties: { ...rest.properties, brandNew: { type: 'string', minLength: roll() % 2 } },
            },
            { ...rest, maxProperties: 2 },
            { ...rest, 'x-kubernetes-validations': [{ rule: 'size(self) > 99' }] },
          ][roll() % 3] ?? rest
        );
      default:
        return rest;
    }
  };
  return walk(schema, 0);
}
