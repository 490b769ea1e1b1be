import type { Unverified } from '../cloud/availability.ts';
import { type CredentialSource, firstCredentials } from '../cloud/credentials.ts';
import type { PlatformInput } from '../platform.ts';
import type { AwsKeys } from './signature.ts';

/** How keys are had: they are there, or a role is assumed, by a token or by other keys. */
export type KeySource =
  | { readonly kind: 'static'; readonly keys: AwsKeys }
  /** AssumeRoleWithWebIdentity with a token that is projected into our own pod. */
  | { readonly kind: 'web'; readonly role: Role; readonly file: string }
  /** AssumeRole with the keys of somebody who may. */
  | { readonly kind: 'assumed'; readonly role: Role; readonly by: KeySource };

/** A role of IAM. */
export interface Role {
  readonly arn: string;
  readonly externalId: string | undefined;
}

/** Credentials of a Secret; `version` is another one after each change of it. */
export interface AwsCredentials {
  readonly where: string;
  readonly version: string;
  readonly source: KeySource;
}

/** The first Secret with credentials that may be used. */
export function awsCredentials(input: Pick<PlatformInput, 'secret'>): AwsCredentials | Unverified {
  return firstCredentials(input, { platform: 'AWS', cloud: 'AWS' }, (secret) => {
    const { where, version } = secret;
    const source = readSource(secret);
    return typeof source === 'string' ? `Secret ${where} ${source}` : { where, version, source };
  });
}

/** Settings by their names: the keys of a Secret, or a section of its file. */
type Settings = (name: string) => string | undefined;

/** Key source, or why there is none, as a clause. Nothing of the Secret is in the reason but names. */
function readSource(secret: CredentialSource): KeySource | string {
  const text = secret.text('credentials');
  const file = text === undefined ? undefined : readIni(text);
  const profile = file?.get('default');
  // The operator that makes these Secrets writes the same keys into the file; a role is there alone.
  const chained = file !== undefined && profile?.has('role_arn') === true;
  const found = chained ? profileOf(file, 'default', []) : fromKeys(secret, profile);
  if (typeof found === 'string' || secret.own || !isFederated(found)) return found;
  return "has no static keys, and its tokens are machine-api's own";
}

function fromKeys(secret: CredentialSource, profile: ReadonlyMap<string, string> | undefined): KeySource | string {
  const role = secret.text('role_arn');
  const file = secret.text('web_identity_token_file');
  if (role !== undefined && file !== undefined) return webOf(role, file);
  if (secret.text('aws_access_key_id') !== undefined || secret.text('aws_secret_access_key') !== undefined)
    return keysOf(secret.text);
  if (profile !== undefined) return keysOf((name) => profile.get(name));
  return 'contains neither static credentials (aws_access_key_id/aws_secret_access_key) nor STS credentials (role_arn/web_identity_token_file)';
}

/** Longer chains than this are circles or mistakes. */
const MOST_ROLES = 4;

/** Profiles that stand on one another, as `source_profile` says (docs.aws.amazon.com/sdkref/latest/guide/feature-assume-role-credentials.html). */
function profileOf(file: Ini, name: string, above: readonly string[]): KeySource | string {
  const settings = file.get(name);
  if (settings === undefined) return 'names a source_profile that is not in key credentials';
  const setting: Settings = (key) => settings.get(key);
  const [role, tokenFile, sourceProfile] = ['role_arn', 'web_identity_token_file', 'source_profile'].map(setting);
  if (role === undefined || role === '') return keysOf(setting);
  if (tokenFile !== undefined && tokenFile !== '') return webOf(role, tokenFile, setting('external_id'));
  if (sourceProfile === undefined)
    return 'has a role_arn without web_identity_token_file or source_profile; programs and metadata services are not asked for keys';
  // A profile may name itself: its own keys assume its role.
  const self = sourceProfile === name && settings.has('aws_access_key_id');
  if (!self && (above.includes(sourceProfile) || sourceProfile === name || above.length >= MOST_ROLES))
    return `has profiles in key credentials that stand on one another in a circle, or more than ${MOST_ROLES} deep`;
  const by = self ? keysOf(setting) : profileOf(file, sourceProfile, [...above, name]);
  if (typeof by === 'string') return by;
  const assumed = roleOf(role, setting('external_id'));
  return typeof assumed === 'string' ? assumed : { kind: 'assumed', role: assumed, by };
}

/** The keys go into headers, and a fault in them must not be told by quoting them. */
const KEY = /^[\w+/=.-]{1,8192}$/;
const ARN = /^arn:aws[a-z-]*:iam::\d{12}:role\/[\w+=,.@/-]{1,512}$/;
const EXTERNAL_ID = /^[\w+=,.@:/-]{2,1224}$/;

function keysOf(setting: Settings): KeySource | string {
  const [id, secret, token] = ['aws_access_key_id', 'aws_secret_access_key', 'aws_session_token'].map(setting);
  if (id === undefined || id === '') return 'lacks aws_access_key_id';
  if (secret === undefined || secret === '') return 'lacks aws_secret_access_key';
  if (!KEY.test(id)) return 'has an aws_access_key_id that is none';
  if (!KEY.test(secret)) return 'has an aws_secret_access_key that is none';
  if (token !== undefined && !KEY.test(token)) return 'has an aws_session_token that is none';
  return { kind: 'static', keys: { id, secret, ...(token === undefined ? {} : { token }) } };
}

function webOf(arn: string, file: string, externalId?: string): KeySource | string {
  const role = roleOf(arn, externalId);
  return typeof role === 'string' ? role : { kind: 'web', role, file };
}

function roleOf(arn: string, externalId: string | undefined): Role | string {
  if (!ARN.test(arn)) return 'has a role_arn that names no role of IAM';
  if (externalId !== undefined && !EXTERNAL_ID.test(externalId)) return 'has an external_id that is none';
  return { arn, externalId };
}

/** Whether a token of somebody stands at the beginning. */
function isFederated(source: KeySource): boolean {
  return source.kind === 'web' || (source.kind === 'assumed' && isFederated(source.by));
}

/** Sections of a file by their names, each with its settings. */
export type Ini = ReadonlyMap<string, ReadonlyMap<string, string>>;

/**
 * Reads a file of credentials as the tools of AWS have it (docs.aws.amazon.com/sdkref/latest/guide/file-format.html): `[name]` or `[profile name]`, then `key = value`. What is
 * none of these is passed over.
 */
export function readIni(text: string): Ini {
  const sections = new Map<string, Map<string, string>>();
  let section: Map<string, string> | undefined;
  for (const line of text.split(/\r?\n/)) {
    const trimmed = line.trim();
    if (trimmed.startsWith('[') && trimmed.endsWith(']')) {
      const name = trimmed
        .slice(1, -1)
        .trim()
        .replace(/^profile\s+/, '');
      section = sections.getOrInsertComputed(name, () => new Map());
      continue;
    }
    const equals = trimmed.indexOf('=');
    // An indented line belongs to the setting above it, and none that is used has such.
    if (equals <= 0 || /^[#;]/.test(trimmed) || /^\s/.test(line)) continue;
    section?.set(trimmed.slice(0, equals).trim().toLowerCase(), trimmed.slice(equals + 1).trim());
  }
  return sections;
}
