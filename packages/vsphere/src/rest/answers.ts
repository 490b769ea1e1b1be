import { VimError } from '../errors.ts';
import type { RestGeneration } from './rest.ts';

/** The address of one object. The colons of its URN stay as they are. */
export function one(path: string, id: string): (generation: RestGeneration) => string {
  const escaped = encodeURIComponent(id).replaceAll('%3A', ':');
  return (generation) => (generation === 'rest' ? `${path}/id:${escaped}` : `${path}/${escaped}`);
}

/** The address of something that is done. */
export function action(path: string, name: string): (generation: RestGeneration) => string {
  return (generation) => `${path}?${generation === 'rest' ? '~action' : 'action'}=${name}`;
}

/** An answer that is a list of identifiers. Fails with `VIM_BAD_RESPONSE`. */
export function strings(what: string, value: unknown): readonly string[] {
  // The simulator writes an empty list as null.
  if (value === null || value === undefined) return [];
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value;
  throw unusable(what, 'is not a list of identifiers');
}

/** An answer that is an object. Fails with `VIM_BAD_RESPONSE`. */
export function record(what: string, value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return value as Readonly<Record<string, unknown>>;
  throw unusable(what, 'is not an object');
}

/** A field that is a text; '' where it is none. */
export function textField(value: Readonly<Record<string, unknown>>, name: string): string {
  const field = value[name];
  return typeof field === 'string' ? field : '';
}

/** An answer that makes no sense. */
export function unusable(what: string, why: string): VimError {
  return new VimError({ kind: 'protocol', code: 'VIM_BAD_RESPONSE', op: what, message: `the answer ${why}` });
}
