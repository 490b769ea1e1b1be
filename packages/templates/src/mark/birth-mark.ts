import type { VmSummary } from '@drydock/vsphere';
import { type CodeReading, checkCode, codeOf } from './code.ts';
import type { MarkKeys } from './keys.ts';
import type { Content } from './ledger.ts';

/**
 * In extraConfig from birth: what is imported, by whom, and a code. Everybody may read it and write it onto a VM of their own, so it proves one thing: that an unfinished import may be swept.
 */
export const BIRTH_KEY = 'drydock.birth';

/** In extraConfig: the import is complete, and this is its fingerprint. A VM that has it is never swept. */
export const CONTENT_KEY = 'drydock.content';

/** In extraConfig from birth: the importer writes {@link HEARTBEAT_ATTRIBUTE} once a minute. */
export const HEARTBEAT_KEY = 'drydock.heartbeat';

/** The custom attribute that an importer keeps changing. */
export const HEARTBEAT_ATTRIBUTE = 'drydock.heartbeat';

/** See {@link BIRTH_KEY}. */
export interface BirthMark extends Content {
  /** Identity of the Lease holder that imports it. */
  readonly holder: string;
  /** Chosen for the import; a clone copies the mark, but has another instance UUID. */
  readonly instanceUuid: string;
}

/** A birth mark as it was read. */
export interface ReadBirthMark extends BirthMark {
  readonly code: CodeReading;
  /** Version 0.1.0 wrote it, and its code says nothing of the release. */
  readonly legacy: boolean;
}

/** The birth mark as extraConfig, with its code where there is a key. */
export function birthConfig(mark: BirthMark, keys: MarkKeys): ReadonlyMap<string, string> {
  const code = codeOf(keys, subjectOf(mark));
  return new Map([
    [BIRTH_KEY, JSON.stringify({ ...mark, ...(code === undefined ? {} : { code }) })],
    [HEARTBEAT_KEY, 'PT1M'],
    ...guardConfig(mark),
  ]);
}

/**
 * What version 0.1.0 reads as the mark of another owner, and this version never reads. A swap of 0.1.0 retires a template without a mark, and later collects it; another owner's template stops the swap.
 */
function guardConfig({ owner, digest, holder, instanceUuid }: BirthMark): readonly (readonly [string, string])[] {
  const mark = { owner: `a later version of Drydock for ${owner}`, digest, holder, instanceUuid };
  return Object.entries(mark).map(([field, value]) => [`drydock.${field}`, value]);
}

/** The birth mark of a VM, whatever it is worth; undefined where there is none, or half of one. */
export function readBirthMark(
  { extraConfig }: Pick<VmSummary, 'extraConfig'>,
  keys: MarkKeys,
): ReadBirthMark | undefined {
  const text = extraConfig.get(BIRTH_KEY);
  if (text === undefined) return readLegacy(extraConfig, keys);
  const value = fieldsOf(text);
  const read = (field: string): string => {
    const given = value[field];
    return typeof given === 'string' ? given : '';
  };
  const mark = birthMarkOf(read);
  return mark === undefined
    ? undefined
    : { ...mark, code: checkCode(keys, read('code'), subjectOf(mark)), legacy: false };
}

/** What version 0.1.0 wrote: one key per field. */
function readLegacy(extraConfig: VmSummary['extraConfig'], keys: MarkKeys): ReadBirthMark | undefined {
  const mark = birthMarkOf((field) => extraConfig.get(`drydock.${field}`) ?? '');
  if (mark === undefined) return undefined;
  const subject = ['drydock.mark/1', mark.owner, mark.operation, mark.digest, mark.instanceUuid.toLowerCase()];
  return { ...mark, code: checkCode(keys, extraConfig.get('drydock.proof'), subject), legacy: true };
}

function birthMarkOf(read: (field: string) => string): BirthMark | undefined {
  const [version, publishes] = [read('version'), read('publishes')];
  const mark = {
    owner: read('owner'),
    operation: read('operation'),
    digest: read('digest'),
    release: read('release'),
    holder: read('holder'),
    instanceUuid: read('instanceUuid'),
    ...(version === '' ? {} : { version }),
    ...(publishes === '' ? {} : { publishes }),
  };
  const { owner, digest, holder, instanceUuid } = mark;
  return [owner, digest, holder, instanceUuid].includes('') ? undefined : mark;
}

function subjectOf({
  owner,
  operation,
  digest,
  release,
  version = '',
  publishes = '',
  instanceUuid,
}: BirthMark): string[] {
  return ['drydock.birth/2', owner, operation, digest, release, version, publishes, instanceUuid.toLowerCase()];
}

function fieldsOf(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
  } catch {
    return {};
  }
}
