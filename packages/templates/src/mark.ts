import type { MoRef, VmSummary } from '@drydock/vsphere';
import { readAttribute } from './mark/attribute.ts';
import { type CodeReading, checkCode, codeOf } from './mark/code.ts';
import { birthSubject, keptSubject, noteSubject } from './mark/subject.ts';
import { NO_WITNESSES, type Proof, type Witnesses } from './mark/witness.ts';

/** The template that a swap puts away, as it was seen before the first rename: what its recovery needs. */
export interface Replaced {
  /** Value of its moref. */
  readonly ref: string;
  readonly instanceUuid: string;
  /** The stable name that it bore. */
  readonly name: string;
}

/** What says that a machine of vCenter is ours: owner, operation and content. */
export interface Mark {
  /** UID of the cluster that owns it. */
  readonly owner: string;
  /** '' for what we did not import. */
  readonly operation: string;
  /** SHA-256 of the OVA, lower-case hex; '' for what we did not import. */
  readonly digest: string;
  readonly release: string;
  /** Identity of the Lease holder that imported it. */
  readonly holder: string;
  /** Chosen by us for the import; a clone copies the mark but has another one of its own. */
  readonly instanceUuid: string;
  /** Product version that its OVA had, where it had one. */
  readonly version?: string;
  /** The stable name that it is, was or will be published under by a swap; absent for pointer publications. */
  readonly publishes?: string;
  readonly replaces?: Replaced;
  /** Only in the custom attribute: what was said of it after it had become a template. */
  readonly role?: MarkRole;
  /** When it was retired, RFC 3339. */
  readonly at?: string;
  /** Instance UUID of the template that took its place then. */
  readonly by?: string;
}

/** `adopted`: made by hand, ours by adoption; `retired`: a swap put it away; `staged`: a swap is about to publish it. */
export type MarkRole = 'adopted' | 'retired' | 'staged';

/** The keys in extraConfig. */
export const MARK_KEYS = {
  owner: 'drydock.owner',
  operation: 'drydock.operation',
  digest: 'drydock.digest',
  release: 'drydock.release',
  holder: 'drydock.holder',
  instanceUuid: 'drydock.instanceUuid',
  version: 'drydock.version',
  publishes: 'drydock.publishes',
  replaces: 'drydock.replaces',
} as const;

/** Set to the digest when every byte was acknowledged and the lease was completed: only then a template may be made of it. */
export const VERIFIED_KEY = 'drydock.verified';

/** The custom attribute of templates, whose extraConfig cannot be changed any more: role, time, successor and stable name. Whoever may set attributes can write it. */
export const MARK_ATTRIBUTE = 'drydock';

/** A keyed code: in extraConfig from birth, and as a custom attribute for what was not born with one of ours. */
export const PROOF = 'drydock.proof';

/** The mark as extraConfig, from birth, with its code where there is a key. */
export function markConfig(mark: Mark, witnesses: Pick<Witnesses, 'keys'> = NO_WITNESSES): ReadonlyMap<string, string> {
  const { owner, operation, digest, release, holder, instanceUuid, version, publishes, replaces } = mark;
  const config = new Map<string, string>();
  const said = { owner, operation, digest, release, holder, instanceUuid, version, publishes };
  for (const [field, value] of Object.entries(said))
    if (value !== undefined) config.set(MARK_KEYS[field as keyof typeof MARK_KEYS], value);
  if (replaces !== undefined) config.set(MARK_KEYS.replaces, JSON.stringify(replaces));
  const code = codeOf(witnesses.keys, birthSubject(mark));
  if (code !== undefined) config.set(PROOF, code);
  return config;
}

/** What a machine's mark is worth. Only `ours` may ever be touched. */
export type MarkReading =
  | { readonly kind: 'none' }
  | {
      readonly kind: 'invalid';
      readonly mark: Mark;
      readonly reason: string;
      /** It is the machine's own mark, and only lacks a proof. */
      readonly unproven?: true;
    }
  | {
      readonly kind: 'ours';
      readonly mark: Mark;
      readonly verified: boolean;
      /** It was imported with this mark; else it was adopted, or put away by a swap. */
      readonly born: boolean;
      readonly proof: Proof;
      /** It is proven, and not by a code of the current key: a new one is to be written before the old proof goes. */
      readonly renew: boolean;
    };

/** By whom a mark is read. */
export interface Reader {
  /** Whose marks need a proof; undefined: everybody's. */
  readonly owner: string | undefined;
  readonly witnesses: Witnesses;
}

const NOBODY: Reader = { owner: undefined, witnesses: NO_WITNESSES };

/**
 * Reads the mark of a machine. **Clones inherit extraConfig, and may inherit attributes**, so a mark counts only if it repeats the machine's own instance
 * UUID, the machine sits directly in the publication folder, and it is a template or powered off. **A mark is a claim**: whoever makes machines or sets
 * attributes can write one. So where there are witnesses, one that names their owner counts only if one of them proves it.
 */
export function readMark(vm: VmSummary, folder: MoRef, reader: Reader = NOBODY): MarkReading {
  const own = (mark: { readonly instanceUuid: string } | undefined): boolean =>
    mark !== undefined && vm.instanceUuid !== undefined && sameUuid(vm.instanceUuid, mark.instanceUuid);
  const born = bornMark(vm);
  const said = saidMark(vm);
  const instanceUuid = vm.instanceUuid ?? '';
  const claim = own(said) ? said : undefined;
  if (!own(born) && claim?.owner === undefined) {
    const copied = born ?? (said?.owner === undefined ? undefined : said);
    return copied === undefined
      ? { kind: 'none' }
      : { kind: 'invalid', mark: { ...BLANK, ...copied }, reason: 'its mark was copied from another machine' };
  }
  const reading = own(born) && born !== undefined ? readBorn(vm, born, claim, reader) : readKept(vm, claim, reader);
  const mark: Mark = { ...reading.mark, instanceUuid };
  const invalid = (reason: string): MarkReading => ({ kind: 'invalid', mark, reason });
  if (vm.parent === undefined || vm.parent.type !== folder.type || vm.parent.value !== folder.value)
    return invalid('it is not directly in the publication folder');
  if (!vm.isTemplate && vm.powerState !== 'poweredOff') return invalid('it is a machine that is not powered off');
  const { witnesses, owner } = reader;
  const provable = witnesses.keys.known.size > 0 || witnesses.cluster !== undefined;
  if (provable && reading.proof === 'none' && (owner === undefined || mark.owner === owner))
    return { kind: 'invalid', mark, reason: reading.doubt, unproven: true };
  const { verified, proof } = reading;
  const renew = proof !== 'none' && witnesses.keys.current !== undefined && !reading.fresh;
  return { kind: 'ours', mark, verified, born: reading.born, proof, renew };
}

/** A mark with what speaks for it. */
interface Weighed {
  readonly mark: Mark;
  readonly born: boolean;
  readonly verified: boolean;
  readonly proof: Proof;
  /** A code of the current key is among its proofs. */
  readonly fresh: boolean;
  /** Why it does not count where nothing proves it. */
  readonly doubt: string;
}

/** What was imported with a mark. What it is stands in extraConfig alone; the attribute adds only what became of it. */
function readBorn(vm: VmSummary, born: Mark, said: Statement | undefined, { witnesses }: Reader): Weighed {
  const { keys, cluster, imported } = witnesses;
  const subject = birthSubject(born);
  const atBirth = checkCode(keys, vm.extraConfig.get(PROOF), subject);
  const later = checkCode(keys, proofAttribute(vm), subject);
  const codes: readonly CodeReading[] = [atBirth, later];
  const keyed = codes.includes('current') || codes.includes('older');
  // A code that no key at hand made is as good as none: the cluster may know better, whether its key was lost or it was forged.
  const recorded =
    cluster !== undefined && (cluster.recorded(born.operation, born.instanceUuid) || cluster.refers(vm.name));
  const proof: Proof = imported.has(born.instanceUuid) ? 'here' : keyed ? 'keyed' : recorded ? 'recorded' : 'none';
  const replaces = believedNote(born, said, witnesses) ?? born.replaces;
  const { role, at, by } = said ?? {};
  const mark: Mark = {
    ...born,
    ...(role === undefined ? {} : { role }),
    ...(at === undefined ? {} : { at }),
    ...(by === undefined ? {} : { by }),
    ...(replaces === undefined ? {} : { replaces }),
  };
  return {
    mark,
    born: true,
    verified: vm.extraConfig.get(VERIFIED_KEY) === born.digest,
    proof,
    fresh: codes.includes('current'),
    doubt: `${doubtOf(codes)}; give the key that made it, or remove it by hand if nothing needs it`,
  };
}

/** What we did not import: adopted, or put away by a swap. Its code says which, under which stable name and release, whatever the attribute says. */
function readKept(vm: VmSummary, said: Statement | undefined, { witnesses }: Reader): Weighed {
  const { keys, cluster } = witnesses;
  const { owner = '', role, at, by, publishes } = said ?? {};
  const release = otherRelease(said?.release, vm);
  const claim = { owner, publishes, release, instanceUuid: vm.instanceUuid ?? '' };
  const code = proofAttribute(vm);
  const kinds = (['adopted', 'retired'] as const).map((kind) => ({
    kind,
    code: checkCode(keys, code, keptSubject(kind, claim)),
  }));
  const right = kinds.find((one) => one.code === 'current' || one.code === 'older');
  const recorded = role === 'retired' && cluster?.retired(vm.name) === true;
  const replaces = said === undefined ? undefined : believedNote({ ...claim, publishes }, said, witnesses);
  const mark: Mark = {
    ...BLANK,
    owner,
    release: release ?? vm.productVersion ?? '',
    ...(publishes === undefined ? {} : { publishes }),
    // The attribute may say that it is about to be published again; never that what was adopted was put away.
    ...(right !== undefined && role !== 'staged' ? { role: right.kind } : role === undefined ? {} : { role }),
    ...(at === undefined ? {} : { at }),
    ...(by === undefined ? {} : { by }),
    ...(replaces === undefined ? {} : { replaces }),
  };
  return {
    mark,
    born: false,
    verified: vm.isTemplate,
    proof: right !== undefined ? 'keyed' : recorded ? 'recorded' : 'none',
    fresh: right?.code === 'current',
    doubt: `${doubtOf(kinds.map((one) => one.code))}; adopt it again if it is what it should be`,
  };
}

/** The attribute may note what a template replaces where that was coded, or where nobody could tell a code. */
function believedNote(
  {
    owner,
    instanceUuid,
    publishes,
  }: Pick<Mark, 'owner' | 'instanceUuid'> & { readonly publishes?: string | undefined },
  said: Statement | undefined,
  { keys }: Witnesses,
): Replaced | undefined {
  const { replaces, code } = said ?? {};
  if (replaces === undefined || publishes === undefined || replaces.name !== publishes) return undefined;
  if (keys.known.size === 0) return replaces;
  const reading = checkCode(keys, code, noteSubject({ owner, instanceUuid }, replaces));
  return reading === 'current' || reading === 'older' ? replaces : undefined;
}

/** The best that can be said of codes that prove nothing. */
function doubtOf(codes: readonly CodeReading[]): string {
  if (codes.includes('gone')) return 'its code was made with a key that is gone or is not known here, or is forged';
  return 'nothing proves that it is ours';
}

/** Ids of the keys whose codes a machine bears, unchecked. */
export function keyIdsOf(vm: VmSummary): readonly string[] {
  const codes = [vm.extraConfig.get(PROOF), proofAttribute(vm)];
  return [...new Set(codes.flatMap((code) => /^[a-z0-9-]{1,32}(?=:)/.exec(code ?? '') ?? []))];
}

/** A release that says no more than the product version is not said: it would make two texts of one thing. */
export function otherRelease(release: string | undefined, { productVersion }: VmSummary): string | undefined {
  return release === '' || release === productVersion ? undefined : release;
}

/** Whether a machine was imported with a mark of its own. */
export function isBorn(vm: VmSummary): boolean {
  const born = bornMark(vm);
  return born !== undefined && vm.instanceUuid !== undefined && sameUuid(born.instanceUuid, vm.instanceUuid);
}

const BLANK = { owner: '', operation: '', digest: '', release: '', holder: '', instanceUuid: '' };

function bornMark(vm: VmSummary): Mark | undefined {
  const read = (key: string): string => vm.extraConfig.get(key) ?? '';
  const publishes = read(MARK_KEYS.publishes);
  const version = read(MARK_KEYS.version);
  const replaces = readReplaced(parse(read(MARK_KEYS.replaces)));
  const mark: Mark = {
    owner: read(MARK_KEYS.owner),
    operation: read(MARK_KEYS.operation),
    digest: read(MARK_KEYS.digest),
    release: read(MARK_KEYS.release),
    holder: read(MARK_KEYS.holder),
    instanceUuid: read(MARK_KEYS.instanceUuid),
    ...(version === '' ? {} : { version }),
    ...(publishes === '' ? {} : { publishes }),
    ...(replaces === undefined ? {} : { replaces }),
  };
  const { owner, digest, holder, instanceUuid } = mark;
  return [owner, digest, holder, instanceUuid].includes('') ? undefined : mark;
}

const ROLES: readonly string[] = ['adopted', 'retired', 'staged'] satisfies readonly MarkRole[];

/** What the attribute says. Never operation, digest, or that something is whole. */
interface Statement {
  readonly instanceUuid: string;
  readonly owner?: string;
  readonly role: MarkRole;
  readonly at?: string;
  readonly by?: string;
  readonly publishes?: string;
  readonly release?: string;
  readonly replaces?: Replaced;
  readonly code?: string;
}

function saidMark(vm: VmSummary): Statement | undefined {
  const reading = readAttribute(vm.customValues, MARK_ATTRIBUTE);
  const value = record(reading.kind === 'value' ? reading.value : undefined);
  // Earlier versions wrote the longer names.
  const text = (field: string, before = field): string | undefined => {
    const given = value[field] ?? value[before];
    return typeof given === 'string' && given !== '' ? given : undefined;
  };
  const instanceUuid = text('id', 'instanceUuid');
  const role = text('role');
  if (instanceUuid === undefined || role === undefined || !ROLES.includes(role)) return undefined;
  const publishes = text('name', 'publishes');
  const replaces = readReplaced(value['replaces'], publishes);
  const rest = { owner: text('owner'), at: text('at'), by: text('by'), publishes, release: text('release'), replaces };
  const given = Object.fromEntries(
    Object.entries({ ...rest, code: text('code') }).filter(([, one]) => one !== undefined),
  );
  return { ...given, instanceUuid, role: role as MarkRole };
}

function proofAttribute(vm: VmSummary): string | undefined {
  const reading = readAttribute(vm.customValues, PROOF);
  return reading.kind === 'value' && typeof reading.value === 'string' ? reading.value : undefined;
}

/** As extraConfig has it, or in the attribute's short form `vm-12 <instance UUID>`, whose name is the stable one. */
function readReplaced(value: unknown, stable?: string): Replaced | undefined {
  if (typeof value === 'string' && stable !== undefined) {
    const [ref = '', instanceUuid = ''] = value.split(' ');
    return ref === '' ? undefined : { ref, instanceUuid, name: stable };
  }
  const { ref, instanceUuid, name } = record(value);
  return typeof ref === 'string' && typeof instanceUuid === 'string' && typeof name === 'string'
    ? { ref, instanceUuid, name }
    : undefined;
}

function parse(text: string): unknown {
  if (text === '') return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
}

function sameUuid(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase();
}
