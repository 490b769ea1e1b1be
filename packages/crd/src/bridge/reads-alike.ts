import { equal, own } from '../schema/json.ts';
import type { Schema } from '../schema/schema.ts';
import type { Reach } from '../validate/cel-reach.ts';
import { escapeName } from '../validate/cel-value.ts';

/** The type of a node; `any` where it has none. */
export function typeOf(schema: Schema): string {
  if (schema['x-kubernetes-int-or-string'] === true) return 'x-kubernetes-int-or-string';
  return schema.type === undefined || schema.type === '' ? 'any' : schema.type;
}

/** Whether an object that one of the two knows reads the same through both, as far as a rule looks: same types, same defaults. */
export function readsAlike(a: Schema, b: Schema, reach: Reach = true): boolean {
  if (a === b) return true;
  const same = (keyword: keyof Schema): boolean => equal(a[keyword] as never, b[keyword] as never);
  if (typeOf(a) !== typeOf(b) || !same('default') || (a.nullable === true) !== (b.nullable === true)) return false;
  if (!same('x-kubernetes-list-type') || !same('x-kubernetes-list-map-keys')) return false;
  if (!same('x-kubernetes-preserve-unknown-fields')) return false;
  const [x, y] = [a.additionalProperties, b.additionalProperties];
  if ((typeof x === 'object') !== (typeof y === 'object')) return false;
  if (typeof x === 'object' && typeof y === 'object' && !readsAlike(x, y)) return false;
  if ((a.items === undefined) !== (b.items === undefined)) return false;
  if (a.items !== undefined && b.items !== undefined && !readsAlike(a.items, b.items)) return false;
  return Object.keys({ ...a.properties, ...b.properties }).every((name) => {
    const seen = reach === true ? true : (reach.get(escapeName(name)) ?? reach.get(name));
    if (seen === undefined) return true;
    const [one, other] = [own(a.properties, name), own(b.properties, name)];
    if (one === undefined || other === undefined) return reach === true && (one ?? other)?.default === undefined;
    return readsAlike(one, other, seen);
  });
}
