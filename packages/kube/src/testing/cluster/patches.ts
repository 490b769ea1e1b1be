import { jsonEqual } from '../../json/json-equal.ts';
import { isObject, type JsonObject, own, put } from './json.ts';
import { badRequest, patchFailed } from './refusal.ts';

interface Operation {
  readonly op?: unknown;
  readonly path?: unknown;
  readonly from?: unknown;
  readonly value?: unknown;
}

/**
 * RFC 6902 as the server's library has it: `replace` of a missing key adds it, `test` of a missing key equals null; everything that
 * cannot be done is one and the same 422.
 */
export function jsonPatch(object: JsonObject, patch: unknown): JsonObject {
  if (!Array.isArray(patch)) {
    throw badRequest(
      'error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp',
    );
  }
  let root: unknown = structuredClone(object);
  for (const operation of patch as readonly Operation[]) root = operate(root, operation);
  return root as JsonObject;
}

function operate(root: unknown, { op, path, from, value }: Operation): unknown {
  const tokens = parse(path);
  const last = tokens.at(-1);
  if (last === undefined) throw patchFailed();
  const parent = find(root, tokens.slice(0, -1));
  switch (op) {
    case 'add':
      insert(parent, last, structuredClone(value));
      return root;
    case 'replace':
      replace(parent, last, structuredClone(value));
      return root;
    case 'remove':
      remove(parent, last);
      return root;
    case 'test':
      if (!jsonEqual(child(parent, last) ?? null, value ?? null)) throw patchFailed();
      return root;
    case 'copy':
      insert(parent, last, structuredClone(existing(root, from)));
      return root;
    case 'move': {
      const moved = existing(root, from);
      remove(find(root, parse(from).slice(0, -1)), parse(from).at(-1) ?? '');
      insert(find(root, tokens.slice(0, -1)), last, moved);
      return root;
    }
    default:
      throw patchFailed();
  }
}

function parse(path: unknown): readonly string[] {
  if (typeof path !== 'string' || !path.startsWith('/')) throw patchFailed();
  return path
    .slice(1)
    .split('/')
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'));
}

type Container = Record<string, unknown> | unknown[];

function find(root: unknown, tokens: readonly string[]): Container {
  let at = root;
  for (const token of tokens) at = child(at, token);
  if (!isObject(at) && !Array.isArray(at)) throw patchFailed();
  return at as Container;
}

function child(parent: unknown, token: string): unknown {
  if (Array.isArray(parent)) return (parent as unknown[])[index(token, parent.length - 1)];
  return isObject(parent) ? own(parent, token) : undefined;
}

function existing(root: unknown, path: unknown): unknown {
  const tokens = parse(path);
  const found = child(find(root, tokens.slice(0, -1)), tokens.at(-1) ?? '');
  if (found === undefined) throw patchFailed();
  return found;
}

function index(token: string, largest: number): number {
  const at = Number(token);
  if (!/^\d+$/.test(token) || at > largest) throw patchFailed();
  return at;
}

function insert(parent: Container, token: string, value: unknown): void {
  if (!Array.isArray(parent)) put(parent, token, value);
  else if (token === '-') parent.push(value);
  else parent.splice(index(token, parent.length), 0, value);
}

function replace(parent: Container, token: string, value: unknown): void {
  if (Array.isArray(parent)) parent[index(token, parent.length - 1)] = value;
  else put(parent, token, value);
}

function remove(parent: Container, token: string): void {
  if (Array.isArray(parent)) parent.splice(index(token, parent.length - 1), 1);
  else if (Object.hasOwn(parent, token)) delete parent[token];
  else throw patchFailed();
}

/** RFC 7386, with the server's own habit: nulls vanish from objects inside new lists too. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return pruneNulls(patch);
  const out: Record<string, unknown> = { ...(isObject(target) ? target : {}) };
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete out[key];
    else put(out, key, mergePatch(own(out, key), value));
  }
  return out;
}

function pruneNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(pruneNulls);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, inner]) => (inner === null ? [] : [[key, pruneNulls(inner)]])),
  );
}
