import { isObject, type Json, own } from '../schema/json.ts';
import type { Schema } from '../schema/schema.ts';
import { traitsOf } from '../schema/traits.ts';
import { escapeName } from './cel-value.ts';

/** What a rule can see of its value: all of it, or some fields. A rule that sits at the root mostly asks for a few of hundreds. */
export type Reach = true | ReadonlyMap<string, Reach>;

const QUOTED = /"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'/g;
/** `self` with the fields that follow; what is called is no field. In `has` the last one need only be there, unless something of it is selected. */
const CHAIN = /(\bhas\s*\(\s*(?=\w+(?:\s*\.\s*\w+)*\s*\)))?(?<![\w.])(?:self|oldSelf)\b((?:\s*\.\s*\w+\b(?!\s*\())*)/g;

/** What a rule can see. Every place that names the value is followed as far as it names fields. */
export function reachOf(rule: string): Reach {
  const all = new Map<string, Reach>();
  for (const [, has, chain = ''] of rule.replaceAll(QUOTED, '""').matchAll(CHAIN)) {
    const names = chain.replaceAll(/\s/g, '').split('.').slice(1);
    const last = names.pop();
    if (last === undefined) return true;
    let fields: Map<string, Reach> | undefined = all;
    for (const name of names) {
      const below: Reach = fields.get(name) ?? new Map<string, Reach>();
      fields.set(name, below);
      fields = below === true ? undefined : (below as Map<string, Reach>);
      if (fields === undefined) break;
    }
    if (has === undefined) fields?.set(last, true);
    else if (fields?.has(last) === false) fields.set(last, new Map<string, Reach>());
  }
  return all;
}

/** A value without what is out of reach. */
export function within(value: Json, reach: Reach): Json {
  if (reach === true || !isObject(value)) return value;
  const kept: [string, Json][] = [];
  for (const key of Object.keys(value)) {
    const below = reach.get(escapeName(key)) ?? reach.get(key);
    if (below !== undefined) kept.push([key, within(value[key] as Json, below)]);
  }
  return Object.fromEntries(kept);
}

/** Whether lists of type set or map are within reach. */
export function reachesLists(schema: Schema, reach: Reach): boolean {
  if (!traitsOf(schema).lists || reach === true) return traitsOf(schema).lists;
  return [...reach].some(([name, below]) => {
    const property = own(schema.properties, name);
    return property === undefined || reachesLists(property, below);
  });
}
