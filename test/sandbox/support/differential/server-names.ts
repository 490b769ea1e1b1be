// What each server chooses by itself, and what stands for it in a comparison: identities by object and incarnation, versions by the order in which a server said them.

type Fields = Readonly<Record<string, unknown>>;

const DAY = 24 * 3_600_000;
const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?Z$/;
const TIMES = /\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?Z/g;
const UID = /[0-9a-f]{8}-[0-9a-f]{4}-[1-5][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/g;
/** What follows `generateName`. */
const GENERATED = /\bmade-[bcdfghjklmnpqrstvwxz2456789]{5}\b/g;
/** The sandbox's servers choose from this range. */
const ADDRESS = /^10\.0\.0\.\d+$/;

/** The names of one server's own choices. */
export interface ServerNames {
  /** Learns the identities and versions of the objects in an answer or event about a kind. */
  note(place: string, body: unknown): void;
  /** A value with its keys sorted and a name for each own choice. */
  normal(value: unknown): unknown;
  /** From now on nothing counts that is about an object: its next incarnation begins at `incarnation`. */
  forget(key: string, incarnation: number): void;
  /** How many incarnations an object had. */
  incarnations(key: string): number;
  /** Whether an event about an object with this identity counts. */
  counts(uid: string): boolean;
}

/** `kind namespace/name`. */
export function keyOf(place: string, metadata: Fields): string {
  const { namespace = '', name = '' } = metadata as { readonly namespace?: string; readonly name?: string };
  return `${place} ${namespace}/${name}`;
}

/** Begins with none. */
export function serverNames(): ServerNames {
  const uids = new Map<string, string>();
  const versions = new Map<string, string[]>();
  const born = new Map<string, number>();
  const forgotten = new Set<string>();
  const uidsOf = new Map<string, string[]>();

  const noteObject = (place: string, object: Fields): void => {
    const metadata = object['metadata'];
    if (!isFields(metadata)) return;
    const { uid, resourceVersion } = metadata;
    if (typeof uid !== 'string') return;
    if (!uids.has(uid)) {
      const key = keyOf(place, metadata);
      const count = (born.get(key) ?? 0) + 1;
      born.set(key, count);
      uids.set(uid, `uid ${count} of ${key}`);
      uidsOf.set(key, [...(uidsOf.get(key) ?? []), uid]);
    }
    if (typeof resourceVersion !== 'string') return;
    const known = versions.get(uid) ?? [];
    versions.set(uid, known);
    if (!known.includes(resourceVersion)) known.push(resourceVersion);
  };

  const textOf = (text: string): string => {
    if (TIME.test(text)) return isNow(text) ? 'a time' : text;
    if (ADDRESS.test(text)) return 'an address';
    if (/^eyJ[\w-]+\.[\w-]+\.[\w-]+$/.test(text)) return 'a token';
    return (
      text
        .replaceAll(UID, (uid) => uids.get(uid) ?? (uid.startsWith('00000000') ? uid : 'a uid'))
        .replaceAll(/(?<=\d:)3[0-2]\d{3}(?=\/)/g, 'a node port')
        .replace(/(?<=^X509SHA256=)[0-9a-f]{64}$/, 'a certificate')
        .replaceAll(GENERATED, 'a generated name')
        // The whole object, whose fields have no order, and the comparison of two objects that Go prints.
        .replace(/Invalid value: "\{\\"(?:apiVersion|kind|metadata).*"(?=: )/s, 'Invalid value: THE OBJECT')
        .replace(/\n@@[\s\S]*$/, '')
        .replaceAll(/(?<=supported values: )"[^\]]*?"(?=$|, [a-z][\w.[\]]*: |\])/g, (values) =>
          values.split(', ').toSorted().join(', '),
        )
        // Fields of a map are looked at in any order.
        .replace(/(?<=errors:\n)[\s\S]*/, (lines) => lines.split('\n').toSorted().join('\n'))
        .replaceAll(/(?<="resourceVersion":")\d+(?=")/g, 'a version')
        .replace(/(?<=in record \()\d+(?=\))/, 'a version')
        .replaceAll(TIMES, (time) => (isNow(time) ? 'a time' : time))
    );
  };

  const normal = (value: unknown, at: string, uid: unknown): unknown => {
    if (Array.isArray(value))
      return sortedList(
        at,
        value.map((one) => normal(one, at, undefined)),
      );
    if (typeof value === 'number')
      return at === 'nodePort' && value >= 30_000 && value <= 32_767 ? 'a node port' : value;
    if (typeof value === 'string') {
      if (at === 'resourceVersion') return versionName(value, uid);
      if (at === 'serverAddress') return 'an address';
      if (at === 'continue') return value === '' ? '' : 'a continue token';
      // A cell of a table.
      if (at === 'cells' && /^(?:\d+[smhd]){1,2}$/.test(value)) return 'an age';
      if (at === 'cells' && ADDRESS.test(value)) return 'an address';
      return textOf(value);
    }
    if (!isFields(value)) return value;
    const own = value['uid'];
    const entries = Object.entries(value).map(([key, one]) => [textOf(key), normal(one, key, own)] as const);
    return Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)));
  };

  const versionName = (version: string, uid: unknown): string => {
    if (version === '' || version === '0') return version;
    const known = typeof uid === 'string' ? versions.get(uid) : undefined;
    const index = known?.indexOf(version) ?? -1;
    return index === -1 ? 'a version' : `version ${index + 1}`;
  };

  return {
    note: (place, body) => {
      if (!isFields(body)) return;
      noteObject(place, body);
      for (const list of [body['items'], body['rows']]) {
        if (!Array.isArray(list)) continue;
        for (const one of list.filter(isFields)) noteObject(place, isFields(one['object']) ? one['object'] : one);
      }
    },
    normal: (value) => normal(value, '', undefined),
    forget: (key, incarnation) => {
      born.set(key, incarnation);
      for (const uid of uidsOf.get(key) ?? []) forgotten.add(uid);
    },
    incarnations: (key) => born.get(key) ?? 0,
    counts: (uid) => !forgotten.has(uid),
  };
}

function isNow(time: string): boolean {
  return Math.abs(Date.parse(time) - Date.now()) < DAY;
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Lists without an order: entries of managed fields go by time in seconds, kinds of a group and rules of a user as the server comes across them. */
const UNORDERED = new Set(['managedFields', 'causes', 'groups', 'resources', 'resourceRules', 'nonResourceRules']);

function sortedList(at: string, list: readonly unknown[]): readonly unknown[] {
  if (!UNORDERED.has(at)) return list;
  return list.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
}
