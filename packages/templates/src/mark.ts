import type { MoRef, VmSummary } from '@drydock/vsphere';
import { BIRTH_KEY, CONTENT_KEY, type ReadBirthMark, readBirthMark } from './mark/birth-mark.ts';
import { type Identity, identityKey, identityOf } from './mark/identity.ts';
import type { Content, LedgerEntry } from './mark/ledger.ts';
import { OWNERSHIP, type RecordReading, readOwnership } from './mark/ownership-record.ts';
import { noWitnesses, type Proof, type Witnesses } from './mark/witness.ts';

/** What is known of a VM that Drydock imported, adopted or claimed. */
export interface Mark extends Content {
  /** Identity of the Lease holder that imported it; '' where nobody did. */
  readonly holder: string;
  readonly instanceUuid: string;
  /** `adopted`: made by hand, owned by adoption; `retired`: a swap put it away; `staged`: a swap is about to publish it. */
  readonly role?: NonNullable<LedgerEntry['role']>;
  /** When it was retired, RFC 3339. */
  readonly at?: string;
  /** Identity key of the template that replaced it (retired), or that it replaces (staged). */
  readonly other?: string;
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
      /** It was imported under another identity. */
      readonly registeredAgain?: true;
    }
  | ({ readonly kind: 'ours'; readonly mark: Mark } & Evidence);

/** How far a mark is believed. */
export interface Evidence {
  readonly proof: Proof;
  /** Every byte was acknowledged and secure boot is settled; or it was adopted or claimed. */
  readonly verified: boolean;
  /** It was imported with its mark; else it was adopted, or put away by a swap. */
  readonly born: boolean;
  /** Uploaded whole, and not yet reconfigured: `finish` is the next step. */
  readonly uploaded: boolean;
  /** The ledger entry says that this installation imported, adopted or claimed it. */
  readonly own: boolean;
  /** Its ownership record is missing, or its code is not by the current key: it is to be written. */
  readonly renew: boolean;
}

/** By whom a mark is read. */
export interface Reader {
  /** Whose marks need a proof; undefined: everybody's. */
  readonly owner: string | undefined;
  readonly witnesses: Witnesses;
}

/** Everything that bears on whose a VM is. */
export interface Testimony {
  readonly identity: Identity | undefined;
  /** Identity key; without an identity the value of the moref, under which nothing is ever recorded. */
  readonly key: string;
  readonly entry: LedgerEntry | undefined;
  /** See `Ledger`. */
  readonly entryUnreadable: boolean;
  /** Its own birth mark, not one that a clone copied. */
  readonly birth: ReadBirthMark | undefined;
  readonly copied: ReadBirthMark | undefined;
  readonly record: RecordReading;
}

/** Reads what bears on whose a VM is, without weighing it. */
export function testimonyOf(vm: VmSummary, { vcenter, keys, ledger }: Witnesses): Testimony {
  const identity = identityOf(vcenter, vm);
  const key = identity === undefined ? vm.ref.value : identityKey(identity);
  const read = readBirthMark(vm, keys);
  const own = read !== undefined && read.instanceUuid.toLowerCase() === vm.instanceUuid?.toLowerCase();
  const birth = own ? read : undefined;
  const record = readOwnership(vm, identity, birth, keys);
  const entry = ledger.get(key);
  const entryUnreadable = entry === undefined && ledger.unreadable(key);
  return { identity, key, entry, entryUnreadable, birth, copied: own ? undefined : read, record };
}

/**
 * Reads the mark of a machine. **Clones inherit extraConfig, and may inherit attributes; whoever may create VMs or set attributes can copy both.** So a finished import or a template counts only if its
 * ownership record bears a code over this VM's identity, or the ledger has that identity. An unfinished import counts by the code of its birth mark, because only sweeping follows from it. What has
 * the sign of a finished import and no record that counts is unknown: it is kept and never used.
 */
export function readMark(
  vm: VmSummary,
  folder: MoRef,
  { owner, witnesses }: Reader = { owner: undefined, witnesses: noWitnesses() },
  testimony: Testimony = testimonyOf(vm, witnesses),
): MarkReading {
  const { birth, copied, record, entry } = testimony;
  const claim = entry?.mark ?? birth ?? (record.kind === 'read' ? record.record.mark : undefined);
  if (claim === undefined) {
    if (copied === undefined && record.kind === 'absent') return { kind: 'none' };
    const mark = { ...BLANK, ...contentOf(copied ?? BLANK), instanceUuid: vm.instanceUuid ?? '' };
    return { kind: 'invalid', mark, reason: copied === undefined ? doubtOf(testimony) : COPIED };
  }
  const mark: Mark = {
    ...contentOf(claim),
    holder: birth?.holder ?? '',
    instanceUuid: vm.instanceUuid ?? '',
    ...roleOf(testimony),
  };
  const invalid = (reason: string): MarkReading => ({ kind: 'invalid', mark, reason });
  if (vm.parent === undefined || vm.parent.type !== folder.type || vm.parent.value !== folder.value)
    return invalid('it is not directly in the publication folder');
  if (!vm.isTemplate && vm.powerState !== 'poweredOff') return invalid('it is a machine that is not powered off');
  const evidence = weigh(vm, testimony, witnesses);
  const provable = witnesses.keys.known.size > 0 || witnesses.ledger.kind === 'cluster';
  const unproven = evidence.proof === 'none' || evidence.proof === 'noted';
  if (provable && unproven && (owner === undefined || mark.owner === owner)) {
    const again = isRegisteredAgain(testimony, witnesses);
    const reason = again && record.kind === 'absent' ? REGISTERED_AGAIN : doubtOf(testimony);
    return { kind: 'invalid', mark, reason, unproven: true, ...(again ? { registeredAgain: true } : {}) };
  }
  return { kind: 'ours', mark, ...evidence };
}

function weigh(vm: VmSummary, testimony: Testimony, { keys, ledger, imported }: Witnesses): Evidence {
  const { birth, record, entry, key } = testimony;
  const vouches = ledger.kind === 'cluster' || (ledger.kind === 'file' && keys.known.size > 0);
  const code = record.kind === 'read' ? record.code : 'absent';
  const coded = code === 'current' || code === 'older';
  const recorded: Proof = imported.has(key) ? 'here' : coded ? 'keyed' : vouches ? 'recorded' : 'noted';
  const fresh = code === 'current' || (keys.current === undefined && record.kind === 'read');
  const base = { born: birth !== undefined, own: entry?.own === true };
  const finished = vm.extraConfig.has(CONTENT_KEY);
  if (entry !== undefined && entry.stage !== 'importing') {
    const uploaded = entry.stage === 'imported' && !finished && !vm.isTemplate;
    return { ...base, proof: recorded, verified: !uploaded, uploaded, renew: !fresh };
  }
  if (coded) {
    // The import ended right after the record was written: the ledger knows the attempt, and finishing is safe.
    const uploaded = entry !== undefined && !finished && !vm.isTemplate;
    return { ...base, proof: 'keyed', verified: !uploaded, uploaded, renew: !fresh };
  }
  const claims = finished || vm.isTemplate || record.kind !== 'absent' || birth === undefined;
  if (claims)
    return { ...base, proof: 'none', verified: finished || birth === undefined, uploaded: false, renew: false };
  const swept: Proof =
    entry !== undefined ? recorded : birth.code === 'current' || birth.code === 'older' ? 'keyed' : 'none';
  return { ...base, proof: swept, verified: false, uploaded: false, renew: false };
}

/** What became of a template since its birth, by the ledger alone; that it was adopted its record says, too. */
function roleOf({ entry, record }: Testimony): Partial<Pick<Mark, 'role' | 'at' | 'other'>> {
  const adopted = entry === undefined && record.kind === 'read' && record.record.kind === 'adopted';
  const { role = adopted ? ('adopted' as const) : undefined, at, other } = entry ?? {};
  return {
    ...(role === undefined ? {} : { role }),
    ...(at === undefined ? {} : { at }),
    ...(other === undefined ? {} : { other }),
  };
}

const COPIED = 'its mark was copied from another machine';

const REGISTERED_AGAIN =
  'it was registered again, restored or copied, and lost its ownership record: adopt it if it is what it should be';

/** Its birth mark is its own, but its record, or the ledger, is about another identity. vCenter drops custom attributes when a VM is unregistered. */
function isRegisteredAgain({ birth, record, entry, entryUnreadable }: Testimony, { ledger }: Witnesses): boolean {
  if (birth === undefined || entry !== undefined || entryUnreadable) return false;
  return record.kind === 'moved' || (record.kind === 'absent' && ledger.knows(birth.operation));
}

/** Why nothing proves it, and what to do. */
function doubtOf({ identity, entryUnreadable, birth, record }: Testimony): string {
  const adopt = 'adopt it if it is what it should be';
  if (identity === undefined)
    return `vCenter does not give its creation date and instance UUID: ${adopt} after an upgrade`;
  if (entryUnreadable) return `its entry in the ownership ledger cannot be read: ${adopt}`;
  switch (record.kind) {
    case 'moved':
      return `its ownership record is about another VM (it was registered again, restored or cloned): ${adopt}`;
    case 'torn':
      return `its ownership record is not whole: ${adopt}`;
    case 'read':
      return `its ownership record was made with a key that is gone, or by somebody without the key: ${adopt}`;
    case 'absent':
      if (birth?.legacy === true) return `version 0.1.0 made it, and it has no ownership record: ${adopt}`;
      return `it has no ownership record: ${adopt}, or remove it by hand if nothing needs it`;
  }
}

/** The lasting part of a mark. */
export function contentOf({ owner, operation, digest, release, version, publishes }: Content): Content {
  return {
    ...{ owner, operation, digest, release },
    ...(version === undefined ? {} : { version }),
    ...(publishes === undefined ? {} : { publishes }),
  };
}

const BLANK = { owner: '', operation: '', digest: '', release: '', holder: '' };

/** Whether a machine was imported with a mark of its own. */
export function isBorn(vm: VmSummary): boolean {
  const birth = readBirthMark(vm, noWitnesses().keys);
  return birth !== undefined && birth.instanceUuid.toLowerCase() === vm.instanceUuid?.toLowerCase();
}

/** Ids of the keys whose codes a machine bears, unchecked. */
export function keyIdsOf({ extraConfig, customValues }: VmSummary): readonly string[] {
  const texts = [extraConfig.get(BIRTH_KEY), customValues.get(OWNERSHIP)];
  return [...new Set(texts.flatMap((text) => /"code":"([a-z0-9-]{1,32}):/.exec(text ?? '')?.[1] ?? []))];
}

/** A release that says no more than the product version is not said: it would make two texts of one thing. */
export function otherRelease(release: string | undefined, { productVersion }: VmSummary): string | undefined {
  return release === '' || release === productVersion ? undefined : release;
}
