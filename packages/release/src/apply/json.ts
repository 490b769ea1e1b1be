import { isObject, type Json, type JsonObject } from '@drydock/crd';

/** A field of the object itself, never what every object inherits. */
export function own(object: JsonObject, field: string): Json | undefined {
  return Object.hasOwn(object, field) ? object[field] : undefined;
}

/** The object in a field; empty where there is none. */
export function objectIn(object: JsonObject, field: string): JsonObject {
  const value = own(object, field);
  return isObject(value) ? value : {};
}
