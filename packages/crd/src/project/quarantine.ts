import { isList, isObject, type Json, type JsonObject } from '../schema/json.ts';
import { type Path, schemaPathText } from '../schema/path.ts';

/** A value that an intent has and the live schema cannot hold. */
export interface Quarantined {
  /** Place in the schema: `status.capabilities.enabledCapabilities[]`. */
  readonly path: string;
  readonly value: Json;
  /** Why it was taken out, as a clause without the value. */
  readonly why: string;
}

/** Takes a part out of a value. What was not there changes nothing. */
export function without(value: Json, path: Path): Json {
  const [part, ...rest] = path;
  if (part === undefined) return value;
  if (isList(value)) {
    const at = Number(part);
    if (rest.length === 0) return value.toSpliced(at, 1);
    const item = value[at];
    return item === undefined ? value : value.with(at, without(item, rest));
  }
  if (!isObject(value) || !Object.hasOwn(value, String(part))) return value;
  if (rest.length > 0) return { ...value, [part]: without(value[String(part)] ?? null, rest) };
  const { [String(part)]: _gone, ...kept } = value;
  return kept;
}

/** Puts a value in the place of another. */
export function withValue(value: Json, path: Path, put: Json): Json {
  const [part, ...rest] = path;
  if (part === undefined) return put;
  if (isList(value)) {
    const at = Number(part);
    return at < value.length ? value.with(at, withValue(value[at] ?? null, rest, put)) : value;
  }
  const object: JsonObject = isObject(value) ? value : {};
  return { ...object, [part]: withValue(object[String(part)] ?? {}, rest, put) };
}

/** Text form of a place below the status. */
export function placeText(path: Path): string {
  return schemaPathText(path);
}
