import type { MoRef, VmSummary } from '@drydock/vsphere';

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
  publishes: 'drydock.publishes',
  replaces: 'drydock.replaces',
} as const;

/** Set to the digest when every byte was acknowledged and the lease was completed: only then a template may be made of it. */
export const VERIFIED_KEY = 'drydock.verified';

/**
 * The custom attribute that marks templates: their extraConfig cannot be changed any more. Its value is JSON with what it says anew; what it leaves out,
 * extraConfig says.
 */
export const MARK_ATTRIBUTE = 'drydock';

/** The mark as extraConfig, from birth. */
export function markConfig(mark: Mark): ReadonlyMap<string, string> {
  const { owner, operation, digest, release, holder, instanceUuid, publishes, replaces } = mark;
  const config = new Map<string, string>();
  for (const [field, value] of Object.entries({ owner, operation, digest, release, holder, instanceUuid, publishes }))
    if (value !== undefined) config.set(MARK_KEYS[field as keyof typeof MARK_KEYS], value);
  if (replaces !== undefined) config.set(MARK_KEYS.replaces, JSON.stringify(replaces));
  return config;
}

/** The value of {@link MARK_ATTRIBUTE} that says `role` of a template. What it was imported as stays in its extraConfig. */
export function markAttribute(mark: AttributeMark): string {
  const { instanceUuid, owner, role, at, by, publishes, release, replaces } = mark;
  return JSON.stringify({ instanceUuid, owner, role, at, by, publishes, release, replaces });
}

/** What the attribute holds. */
export type AttributeMark = Pick<
  Mark,
  'instanceUuid' | 'owner' | 'role' | 'at' | 'by' | 'publishes' | 'release' | 'replaces'
>;

/** What a machine's mark is worth. Only `ours` may ever be touched. */
export type MarkReading =
  | { readonly kind: 'none' }
  | { readonly kind: 'invalid'; readonly mark: Mark; readonly reason: string }
  | { readonly kind: 'ours'; readonly mark: Mark; readonly verified: boolean };

/**
 * Reads the mark of a machine. **Clones inherit extraConfig, and may inherit attributes**, so a mark counts only if it repeats the machine's own instance
 * UUID, the machine sits directly in the publication folder, and it is a template or powered off.
 */
export function readMark(vm: VmSummary, folder: MoRef): MarkReading {
  const own = (mark: { readonly instanceUuid: string } | undefined): boolean =>
    mark !== undefined && vm.instanceUuid !== undefined && sameUuid(vm.instanceUuid, mark.instanceUuid);
  const born = bornMark(vm);
  const said = saidMark(vm);
  const attribute = own(said) ? said : undefined;
  const config = own(born) ? born : undefined;
  if (attribute === undefined && config === undefined) {
    const copied = born ?? said;
    return copied === undefined
      ? { kind: 'none' }
      : { kind: 'invalid', mark: { ...BLANK, ...copied }, reason: 'its mark was copied from another machine' };
  }
  const mark: Mark = { ...BLANK, ...config, ...attribute, instanceUuid: vm.instanceUuid ?? '' };
  if (vm.parent === undefined || vm.parent.type !== folder.type || vm.parent.value !== folder.value) {
    return { kind: 'invalid', mark, reason: 'it is not directly in the publication folder' };
  }
  if (!vm.isTemplate && vm.powerState !== 'poweredOff') {
    return { kind: 'invalid', mark, reason: 'it is a machine that is not powered off' };
  }
  // Only templates are ever given the attribute, and only whole ones.
  const whole = config !== undefined && vm.extraConfig.get(VERIFIED_KEY) === config.digest;
  return { kind: 'ours', mark, verified: whole || (attribute !== undefined && vm.isTemplate) };
}

const BLANK = { owner: '', operation: '', digest: '', release: '', holder: '', instanceUuid: '' };

function bornMark(vm: VmSummary): Mark | undefined {
  const read = (key: string): string => vm.extraConfig.get(key) ?? '';
  const publishes = read(MARK_KEYS.publishes);
  const replaces = readReplaced(parse(read(MARK_KEYS.replaces)));
  const mark: Mark = {
    owner: read(MARK_KEYS.owner),
    operation: read(MARK_KEYS.operation),
    digest: read(MARK_KEYS.digest),
    release: read(MARK_KEYS.release),
    holder: read(MARK_KEYS.holder),
    instanceUuid: read(MARK_KEYS.instanceUuid),
    ...(publishes === '' ? {} : { publishes }),
    ...(replaces === undefined ? {} : { replaces }),
  };
  const { owner, digest, holder, instanceUuid } = mark;
  return [owner, digest, holder, instanceUuid].includes('') ? undefined : mark;
}

const ROLES: readonly string[] = ['adopted', 'retired', 'staged'] satisfies readonly MarkRole[];

function saidMark(vm: VmSummary): (Partial<Mark> & Pick<Mark, 'instanceUuid' | 'owner'>) | undefined {
  const value = record(parse(vm.customValues.get(MARK_ATTRIBUTE) ?? ''));
  const { instanceUuid, owner, role } = value;
  if (typeof instanceUuid !== 'string' || typeof owner !== 'string' || owner === '') return undefined;
  if (typeof role !== 'string' || !ROLES.includes(role)) return undefined;
  const texts = Object.fromEntries(
    ['operation', 'digest', 'release', 'holder', 'publishes', 'at', 'by'].flatMap((field) => {
      const text = value[field];
      return typeof text === 'string' ? [[field, text]] : [];
    }),
  );
  const replaces = readReplaced(value['replaces']);
  return {
    ...texts,
    instanceUuid,
    owner,
    role: role as MarkRole,
    ...(replaces === undefined ? {} : { replaces }),
  };
}

function readReplaced(value: unknown): Replaced | undefined {
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
