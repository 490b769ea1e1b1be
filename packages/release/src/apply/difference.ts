import { equal, isObject, type Json, type JsonObject, jsonText } from '@drydock/crd';
import { digestOf, own, withFields } from './json.ts';

/** A place where live and wanted differ; undefined: absent there. */
export interface Difference {
  /** As `spec.template.spec.containers[0].image`. */
  readonly path: string;
  readonly was: string | undefined;
  readonly is: string | undefined;
}

/** Places that are told; more help nobody. */
const MOST = 100;
/** Characters of a value. */
const MAX_TEXT = 200;
/** What the server writes. */
const SERVERS = new Set(['resourceVersion', 'uid', 'generation', 'creationTimestamp', 'managedFields', 'selfLink']);

/** Where two objects differ, status and what the server writes left out; the first hundred places. With `secret` no value is told. */
export function differencesOf(was: JsonObject, is: JsonObject, secret: boolean = false): readonly Difference[] {
  const show = (value: Json | undefined): string | undefined =>
    value === undefined ? undefined : secret ? '(not shown)' : shortJson(value);
  return placesOf(was, is, MOST).map((place) => ({ path: place.path, was: show(place.was), is: show(place.is) }));
}

/** One digest of every place where two objects differ, with the whole values. */
export function differenceDigest(was: JsonObject, is: JsonObject): string {
  return digestOf(placesOf(was, is, Number.POSITIVE_INFINITY).map((place) => withFields({}, Object.entries(place))));
}

/** A place with its values; undefined: absent there. */
interface Place {
  readonly path: string;
  readonly was: Json | undefined;
  readonly is: Json | undefined;
}

function placesOf(was: JsonObject, is: JsonObject, most: number): readonly Place[] {
  const found: Place[] = [];
  const walk = (a: Json | undefined, b: Json | undefined, path: string): void => {
    if (found.length >= most || equal(a, b)) return;
    if (isObject(a) && isObject(b)) {
      const fields = [...new Set([...Object.keys(a), ...Object.keys(b)])].toSorted();
      for (const field of fields) {
        if (path === '' && field === 'status') continue;
        if (path === 'metadata' && SERVERS.has(field)) continue;
        walk(own(a, field), own(b, field), placed(path, field));
      }
    } else if (Array.isArray(a) && Array.isArray(b) && a.length === b.length) {
      for (const [index, item] of a.entries()) walk(item as Json, b[index] as Json, `${path}[${index}]`);
    } else found.push({ path, was: a, is: b });
  };
  walk(was, is, '');
  return found;
}

function placed(path: string, field: string): string {
  if (!/^[A-Za-z_][\w-]*$/.test(field)) return `${path}[${JSON.stringify(field)}]`;
  return path === '' ? field : `${path}.${field}`;
}

function shortJson(value: Json): string {
  const text = jsonText(value);
  return text.length <= MAX_TEXT ? text : `${text.slice(0, MAX_TEXT)}…`;
}
