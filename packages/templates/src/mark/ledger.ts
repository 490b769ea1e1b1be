import type { Fingerprint } from '../fingerprint.ts';
import type { LedgerStore } from './ledger-store.ts';

/** What a template is, as its birth mark or ownership record says. */
export interface Content {
  /** UID of the cluster, or the name, that owns it. */
  readonly owner: string;
  /** '' for a template that Drydock did not import. */
  readonly operation: string;
  /** SHA-256 of the OVA, lower-case hex; '' for a template that Drydock did not import. */
  readonly digest: string;
  readonly release: string;
  /** Product version that its OVA had, where it had one. */
  readonly version?: string;
  /** The stable name that it is, was or will be published under by a swap; absent for pointer publications. */
  readonly publishes?: string;
}

/**
 * What this installation knows of one VM.
 *
 * ```
 *  importing ──last byte──▶ imported ──reconfigured──▶ marking ──MarkAsTemplate──▶ template
 * ```
 */
export interface LedgerEntry {
  readonly stage: 'importing' | 'imported' | 'marking' | 'template';
  /** This installation imported, adopted or claimed it: only then may it be removed. */
  readonly own: boolean;
  readonly mark: Content;
  /** Disks and configuration; absent while it is imported. */
  readonly fingerprint?: Fingerprint;
  /** Finishing the import must turn secure boot off. */
  readonly secureBootOff?: true;
  /** Digest of vCenter's version of the configuration right before `MarkAsTemplate`. */
  readonly version?: string;
  /** `staged`: a swap is about to publish it. */
  readonly role?: 'adopted' | 'retired' | 'staged';
  /** When it was retired, RFC 3339. */
  readonly at?: string;
  /** Identity key of the template that replaced it (retired), or that it replaces (staged). */
  readonly other?: string;
  /** Files and consumers that were seen to hold it. Only a release by this installation takes one away. */
  readonly holders?: readonly string[];
}

/** Since when an observer has seen the same value of a VM, by a clock that nobody can set. */
export interface Sighting {
  readonly value: string;
  /** Id of the boot to which `at` belongs. */
  readonly boot: string;
  /** ms since boot. */
  readonly at: number;
}

/** The entries of an installation by identity key: read before each look at a folder, written through. */
export interface Ledger {
  readonly kind: LedgerStore['kind'] | 'memory';
  /** Reads what other processes wrote; whether an entry is another one now. */
  load(): Promise<boolean>;
  get(key: string): LedgerEntry | undefined;
  /** Whether there is an entry that cannot be read: a newer version may have written it. It counts as none, and only a whole new entry replaces it. */
  unreadable(key: string): boolean;
  /** Whether it has an entry of this operation, of whatever identity. */
  knows(operation: string): boolean;
  /** Durable when it resolves. `next` returns undefined to remove the entry. */
  change(key: string, next: (now: LedgerEntry | undefined) => LedgerEntry | undefined): Promise<void>;
  /** When this installation first looked at a vCenter, in ms by that vCenter's clock, which says `now`; NaN where that cannot be read. */
  firstLook(vcenter: string, now: Date): Promise<number>;
  sighting(key: string): Sighting | undefined;
  /** Remembered at once, kept durably by `keepSightings`. */
  see(key: string, sighting: Sighting): void;
  /** Keeps the sightings of `present`, and forgets those of other VMs that it kept for the same `place`. */
  keepSightings(place: string, present: ReadonlySet<string>): Promise<void>;
}

const ENTRY = 'vm.';
const SEEN = 'seen.';
const SINCE = 'since.';

type Seen = Readonly<Record<string, Sighting>>;

/** A ledger in this process, on a store where there is one. */
export function openLedger(store: LedgerStore | undefined): Ledger {
  let texts = new Map<string, string>();
  /** What was written here while each read was under way, which may not have seen it. */
  const reads = new Set<Map<string, string | undefined>>();
  const entries = new Map<string, LedgerEntry>();
  const sightings = new Map<string, Sighting>();
  const changeText: LedgerStore['change'] = async (key, next) => {
    const after = store === undefined ? next(texts.get(key)) : await store.change(key, next);
    if (after === undefined) texts.delete(key);
    else texts.set(key, after);
    for (const written of reads) written.set(key, after);
    return after;
  };
  return {
    kind: store?.kind ?? 'memory',
    get: (key) => {
      const text = texts.get(`${ENTRY}${key}`);
      const entry = entries.get(key) ?? entryOf(text);
      if (entry !== undefined) entries.set(key, entry);
      return entry;
    },
    unreadable: (key) => {
      const text = texts.get(`${ENTRY}${key}`);
      return text !== undefined && entryOf(text) === undefined;
    },
    knows: (operation) => {
      const said = `"operation":${JSON.stringify(operation)}`;
      return operation !== '' && [...texts].some(([name, text]) => name.startsWith(ENTRY) && text.includes(said));
    },
    change: async (key, next) => {
      await changeText(`${ENTRY}${key}`, (text) => {
        const entry = entryOf(text);
        const changed = next(entry);
        if (changed !== undefined) return JSON.stringify(changed);
        return entry === undefined ? text : undefined;
      });
      entries.delete(key);
    },
    firstLook: async (vcenter, now) => {
      const key = `${SINCE}${vcenter}`;
      const known = texts.get(key) ?? (await changeText(key, (text) => text ?? now.toISOString()));
      return Date.parse(known ?? '');
    },
    sighting: (key) => sightings.get(key),
    see: (key, sighting) => {
      sightings.set(key, sighting);
    },
    keepSightings: async (place, present) => {
      const seen = [...present].flatMap((key) => {
        const sighting = sightings.get(key);
        return sighting === undefined ? [] : [[key, sighting] as const];
      });
      const text = seen.length === 0 ? undefined : JSON.stringify(Object.fromEntries(seen));
      if (texts.get(`${SEEN}${place}`) !== text) await changeText(`${SEEN}${place}`, () => text);
    },
    load: async () => {
      if (store === undefined) return false;
      const written = new Map<string, string | undefined>();
      reads.add(written);
      const read = await store.read().finally(() => reads.delete(written));
      const before = texts;
      texts = new Map(read);
      for (const [key, text] of written)
        if (text === undefined) texts.delete(key);
        else texts.set(key, text);
      entries.clear();
      for (const [name, text] of texts) {
        if (!name.startsWith(SEEN)) continue;
        // What this process saw itself is at least as old.
        for (const [key, sighting] of Object.entries(seenOf(text)))
          if (!sightings.has(key)) sightings.set(key, sighting);
      }
      const names = [...new Set([...before.keys(), ...texts.keys()])].filter((name) => name.startsWith(ENTRY));
      return names.some((name) => before.get(name) !== texts.get(name));
    },
  };
}

/** Keys of entries that cannot be read, in the texts of a store. A newer version may have written them. */
export function unreadableEntries(texts: ReadonlyMap<string, string>): readonly string[] {
  return [...texts]
    .filter(([name, text]) => name.startsWith(ENTRY) && entryOf(text) === undefined)
    .map(([name]) => name);
}

/** Strict: an entry that only looks like one would answer whose a template is. */
function entryOf(text: string | undefined): LedgerEntry | undefined {
  const value = parsed(text ?? '');
  return isEntry(value) ? value : undefined;
}

function isEntry(value: unknown): value is LedgerEntry {
  if (!isObject(value) || !isObject(value['mark'])) return false;
  const { stage, own, mark, holders, role, secureBootOff } = value;
  const texts = [
    value['fingerprint'],
    value['version'],
    value['at'],
    value['other'],
    mark['version'],
    mark['publishes'],
  ];
  return (
    STAGES.has(stage) &&
    typeof own === 'boolean' &&
    [mark['owner'], mark['operation'], mark['digest'], mark['release']].every(isText) &&
    [...texts, role].every((text) => text === undefined || isText(text)) &&
    (role === undefined || ROLES.has(role)) &&
    (secureBootOff === undefined || secureBootOff === true) &&
    (holders === undefined || (Array.isArray(holders) && holders.every(isText)))
  );
}

const STAGES: ReadonlySet<unknown> = new Set<LedgerEntry['stage']>(['importing', 'imported', 'marking', 'template']);
const ROLES: ReadonlySet<unknown> = new Set<LedgerEntry['role']>(['adopted', 'retired', 'staged']);

/** Sightings that cannot be read count as none: silence and grace are then measured from now on. */
function seenOf(text: string): Seen {
  const value = parsed(text);
  const read = Object.entries(isObject(value) ? value : {}).filter((entry): entry is [string, Sighting] => {
    const [, sighting] = entry;
    return (
      isObject(sighting) && isText(sighting['value']) && isText(sighting['boot']) && Number.isFinite(sighting['at'])
    );
  });
  return Object.fromEntries(read);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}
