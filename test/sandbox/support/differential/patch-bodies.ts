import { edited, mistake, pick } from './field-mutations.ts';
import type { FieldEdit, Fields } from './planned-request.ts';

type Random = () => number;

/** The operations of a JSON patch that changes one field, or that is itself wrong. */
export function jsonPatch(random: Random, object: Fields): unknown {
  const edit = mistake(random, object);
  const path = pointer(edit.path);
  const label = { op: 'add', path: '/metadata/labels/patched', value: pick(random, ['yes', 'no']) };
  const roll = random();
  if (roll < 0.35) return [label];
  if (roll < 0.75) {
    if (edit.value === undefined) return [{ op: 'remove', path }];
    return [{ op: pick(random, ['replace', 'add']), path, value: edit.value }, ...(random() < 0.3 ? [label] : [])];
  }
  return pick<unknown>(random, [
    [{ op: 'test', path: '/metadata/name', value: 'a' }, label],
    [{ op: 'copy', from: path, path: '/metadata/annotations/copied' }],
    [{ op: 'move', from: '/metadata/labels', path: '/metadata/annotations' }],
    [{ op: 'remove', path: '/metadata/nothing' }],
    [{ op: 'explode', path }],
    [{ op: 'add', path: 'no-slash', value: 1 }],
    [],
    { op: 'add' },
  ]);
}

/** A merge patch that changes one field. */
export function mergePatch(random: Random, object: Fields): unknown {
  const roll = random();
  const label = { metadata: { labels: { patched: pick<unknown>(random, ['yes', 'no', null]) } } };
  if (roll < 0.3) return label;
  if (roll < 0.36) {
    return pick<unknown>(random, [
      {},
      { metadata: { resourceVersion: '1' } },
      { metadata: { name: 'other' } },
      { metadata: { finalizers: ['differ.test/hold'] } },
      { metadata: { finalizers: null } },
      { kind: 'Other' },
    ]);
  }
  return mergeOf(object, mistake(random, object));
}

/** A strategic merge patch: of a list only the element that changes, or a directive. */
export function strategicPatch(random: Random, object: Fields): unknown {
  const edit = mistake(random, object);
  const roll = random();
  if (roll < 0.25) return { metadata: { labels: { patched: 'strategic' }, annotations: { note: null } } };
  if (roll < 0.35) return { metadata: { labels: { $patch: 'replace', only: 'this' } } };
  if (roll < 0.4) return { metadata: { $patch: 'bogus' } };
  if (roll < 0.7) return partial(object, edit);
  return mergeOf(object, edit);
}

/** The edit with every list around it as it stands: merge patches replace lists. */
function mergeOf(object: Fields, { path, value }: FieldEdit): unknown {
  const list = path.findIndex((part) => typeof part === 'number');
  const cut = list === -1 ? path : path.slice(0, list);
  const whole = list === -1 ? (value ?? null) : valueAt(edited(object, [{ path, value }]), cut);
  return cut.reduceRight<unknown>((inner, key) => ({ [key]: inner }), whole);
}

/** The edit inside lists of one element, which keeps the fields that elements are told apart by. */
function partial(object: Fields, { path, value }: FieldEdit): unknown {
  let out: unknown = value ?? null;
  for (let at = path.length - 1; at >= 0; at -= 1) {
    const part = path[at];
    if (typeof part !== 'number') {
      out = { [String(part)]: out };
      continue;
    }
    const element = valueAt(object, path.slice(0, at + 1));
    out = [isFields(element) && isFields(out) ? { ...keysOf(element), ...out } : out];
  }
  return out;
}

const MERGE_KEYS = ['name', 'containerPort', 'port', 'mountPath', 'type', 'key', 'ip', 'uid', 'topologyKey'];

function keysOf(element: Fields): Fields {
  return Object.fromEntries(Object.entries(element).filter(([key]) => MERGE_KEYS.includes(key)));
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function valueAt(object: unknown, path: readonly (string | number)[]): unknown {
  let at = object;
  for (const part of path) {
    if (typeof at !== 'object' || at === null) return null;
    at = (at as Record<string | number, unknown>)[part];
  }
  return at ?? null;
}

function pointer(path: readonly (string | number)[]): string {
  return path.map((part) => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}
