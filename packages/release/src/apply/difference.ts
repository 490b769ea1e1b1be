import { equal, isObject, type Json, type JsonObject, jsonText } from '@drydock/crd';
import { own } from './json.ts';

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
  const found: Difference[] = [];
  const show = (value: Json | undefined): string | undefined =>
    value === undefined ? undefined : secret ? '(not shown)' : shortJson(value);
  const walk = (a: Json | undefined, b: Json | undefined, path: string): void => {
    if (found.length >= MOST || equal(a, b)) return;
    if (isObject(a) && isObject(b)) {
      const fields = [...new Set([...Object.keys(a), ...Object.keys(b)])].toSorted();
      for (const field of fields) {
        if (path === '' && field === 'status') continue;
        if (path === 'metadata' && SERVERS.has(field)) continue;
        walk(own(a, field), own(b, field), placed(path, field));
      }
    } else if (Array.isArray(a) && Array.isArray(b) && a.length === b.length) {
      for (const [index, item] of a.entries()) walk(item as Json, b[index] as Json, `${path}[${index}]`);
    } else found.push({ path, was: show(a), is: show(b) });
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
