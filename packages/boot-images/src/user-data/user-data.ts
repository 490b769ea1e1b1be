import { type BootImageStatus, type MachineSet, Secret } from '@drydock/api';
import { type Client, isConflict, isForbidden, isNotFound } from '@drydock/kube';
import { BootImageError, errorText } from '../errors.ts';
import { at, nonEmpty } from '../observe/json.ts';
import { controlPlanes, type KeptSet, kindOf, specOf } from '../observe/kept-set.ts';
import type { LeafEdit } from '../observe/provider-spec.ts';
import { rfc3339 } from '../status/conditions.ts';
import { stubDistrusts } from '../stub-authority.ts';
import type { Pin } from '../way-back/pin.ts';
import { convertStub, replacesStub, stubVersion } from './ignition.ts';
import { machineApiNamespace } from './machine-api.ts';
import {
  firstConversion,
  firstUse,
  isBefore,
  keepOldStub,
  keptFor,
  oldStubName,
  oldStubOf,
  placeForOldStub,
  sealOldStub,
  upgradedAtAnnotation,
} from './old-stub.ts';

/** Set on a secret whose stub was converted: the version it was converted to. */
const upgradedToAnnotation = 'machineconfiguration.openshift.io/stub-ignition-upgraded-to';

/** Codes of failures that another content of the Secret may cure. */
export const stubFailures: ReadonlySet<string> = new Set([
  ...stubDistrusts,
  'OldStubNotKept',
  'StubInvalid',
  'StubNotConvertible',
  'UserDataUnreadable',
  'UserDataWriteFailed',
]);

/** Name of the secret that a set's `providerSpec.userDataSecret` refers to. */
export function userDataSecret(set: MachineSet): string | undefined {
  return nonEmpty(at(specOf(set), ['userDataSecret', 'name']));
}

/** How a set comes to a stub that the new image understands: its own Secret is converted, or it is switched to the managed one beside it. */
export type StubSecret = 'InPlace' | 'Managed';

/** The way of one set: what names another Secret is another machine to whoever compares control planes, and would replace every one of them. */
export function stubSecretOf(set: KeptSet, wanted: StubSecret | undefined): StubSecret | undefined {
  return kindOf(set) === controlPlanes ? 'InPlace' : wanted;
}

/** Options of {@link checkUserData} and {@link upgradeUserData}. */
export interface UserDataOptions {
  /** Name of the secret that `providerSpec.userDataSecret.name` refers to. */
  readonly secret: string;
  /** Default 'InPlace'. */
  readonly stubSecret?: StubSecret | undefined;
  /** See {@link wayBackOf}. */
  readonly wayBack?: WayBack | undefined;
  readonly now: Date;
  readonly signal?: AbortSignal | undefined;
  /** Called right before a Secret is written, with the name of the one that is converted; what it throws stops that. */
  readonly beforeWrite?: (converts: string) => void;
}

/** A set that is pinned to an image of its history. */
export interface WayBack {
  readonly history: NonNullable<BootImageStatus['history']>;
  readonly image: NonNullable<BootImageStatus['history']>[number];
}

/** The image that a pin takes a set back to; undefined where nothing is pinned, where the history does not have the image, and for control planes, whose Secret is never another one. */
export function wayBackOf(
  set: KeptSet,
  status: BootImageStatus | undefined,
  pin: Pin | undefined,
): WayBack | undefined {
  const image = pin === undefined ? undefined : firstUse(status?.history, pin);
  return image === undefined || kindOf(set) === controlPlanes ? undefined : { history: status?.history ?? [], image };
}

/** What is to become of a set's stub: nothing, another content of its Secret, or another Secret, which the set is to name by `edit`. */
interface StubStep {
  readonly convert?: {
    readonly from: Secret;
    readonly to: Secret;
    /** Keeps what is converted. */
    readonly place: Secret;
  };
  readonly edit?: LeafEdit;
  /** See {@link ForeseenStub.oldStubMissing}. */
  readonly oldStubMissing?: true;
}

const CURRENT: StubStep = {};
const OLD_STUB_MISSING: StubStep = { oldStubMissing: true };

/** What {@link upgradeUserData} would do. */
export interface ForeseenStub {
  /** The Secret that it would convert. */
  readonly converts?: string;
  /** What it would edit in the set. */
  readonly edit?: LeafEdit;
  /** The set goes back to an image from before the conversion, but nothing keeps the stub of that time. The image may not understand the new one. */
  readonly oldStubMissing?: true;
}

/** Reads the secret and tries the conversion without writing: a bad stub must stop an update before anything is uploaded. */
export async function foreseeUserData(client: Pick<Client, 'get'>, options: UserDataOptions): Promise<ForeseenStub> {
  return foreseen(await stepFor(client, options));
}

function foreseen({ convert, ...rest }: StubStep): ForeseenStub {
  return { ...rest, ...(convert === undefined ? {} : { converts: convert.to.metadata.name }) };
}

/** So often a Secret is read anew that somebody else has just written: another set with the same stub, or whoever rotates the CA in it. */
const MOST_READS = 4;

/**
 * Converts a spec 2 stub in place; a spec 3 stub causes no write. What it said before is kept first. The secret is read again just before, and the
 * write is guarded by that reading, because another controller rotates the CA in it. Resolves to what has to change in the set besides its image.
 */
export async function upgradeUserData(client: Client, options: UserDataOptions): Promise<readonly LeafEdit[]> {
  for (let reads = 1; ; reads += 1) {
    const { convert, edit } = await stepFor(client, options);
    const edits = edit === undefined ? [] : [edit];
    if (convert === undefined) return edits;
    const last = reads === MOST_READS;
    const { name } = convert.to.metadata;
    const kept = await written(name, () => keepOldStub(client, convert.place, convert.from, options), options, last);
    if (kept === CHANGED) continue;
    const done = await written(
      name,
      () => client.replace(Secret, convert.to, { signal: options.signal }),
      options,
      last,
    );
    if (done === CHANGED) continue;
    options.beforeWrite?.(name);
    // The conversion is done. What keeps the old stub is sealed by the next collection, too.
    await sealOldStub(client, kept, { signal: options.signal }).catch(() => options.signal?.throwIfAborted());
    return edits;
  }
}

/** Somebody else has written the object since it was read. */
const CHANGED = Symbol('changed');

async function written<T>(
  secret: string,
  write: () => Promise<T>,
  options: UserDataOptions,
  last: boolean,
): Promise<T | typeof CHANGED> {
  options.beforeWrite?.(secret);
  try {
    return await write();
  } catch (error) {
    if (isConflict(error) && !last) return CHANGED;
    throw new BootImageError('UserDataWriteFailed', `could not update secret ${secret}: ${errorText(error)}`, {
      cause: error,
      nextStep: `it is tried again; check the permission to update secrets ${secret} and ${oldStubName(secret)} in openshift-machine-api if it persists`,
    });
  }
}

/** What is done about stubs for the sets of one pass, most of which have the same one. */
export interface Stubs {
  /** See {@link foreseeUserData}. */
  readonly check: (options: UserDataOptions) => Promise<ForeseenStub>;
  /** See {@link upgradeUserData}. */
  readonly upgrade: (options: UserDataOptions) => Promise<readonly LeafEdit[]>;
}

/** For so long (ms) nobody reads again a stub with which there was nothing to do. One that is to be converted is read anew, right before it is. */
const CURRENT_MS = 2_000;

/** A thousand sets with one Secret would read it two thousand times. `elapsed` is a monotonic clock. */
export function sharedStubs(client: Client, elapsed: () => number = () => performance.now()): Stubs {
  const known = new Map<string, { readonly at: number; readonly step: Promise<StubStep> }>();
  const stepOf = (options: UserDataOptions): Promise<StubStep> => {
    const { secret, stubSecret, wayBack } = options;
    const key = JSON.stringify([secret, stubSecret, wayBack?.image.id]);
    const before = known.get(key);
    if (before !== undefined && elapsed() - before.at < CURRENT_MS) return before.step;
    const step = stepFor(client, options);
    known.set(key, { at: elapsed(), step });
    const forget = (): void => {
      if (known.get(key)?.step === step) known.delete(key);
    };
    step.then((found) => found === CURRENT || forget(), forget);
    return step;
  };
  return {
    check: async (options) => foreseen(await stepOf(options)),
    upgrade: async (options) => ((await stepOf(options)) === CURRENT ? [] : upgradeUserData(client, options)),
  };
}

async function stepFor(client: Pick<Client, 'get'>, options: UserDataOptions): Promise<StubStep> {
  const secret = await read(client, options);
  const of = keptFor(secret);
  if (of !== undefined) return leavingOldStub(client, of, options);
  const stub = convertStub(userDataOf(secret), options.secret);
  if (stub.kind === 'current') return goesBack(secret, options) ? toOldStub(client, options) : CURRENT;
  if (options.stubSecret === 'Managed') {
    const name = `${options.secret}-managed`;
    const managed = await read(client, { ...options, secret: name }, true);
    if (managed !== undefined && replacesStub(userDataOf(managed), stub.text))
      return { edit: nameEdit(options.secret, name) };
  }
  const place = await placeForOldStub(client, secret, { signal: options.signal });
  const since = firstConversion(place, secret) ?? rfc3339(options.now);
  return { convert: { from: secret, to: convertedSecret(secret, stub.text, since), place } };
}

/** A set that goes back to an image of before the conversion names the old stub: that image may understand no other. */
async function toOldStub(client: Pick<Client, 'get'>, options: UserDataOptions): Promise<StubStep> {
  const { secret, signal } = options;
  const kept = await oldStubOf(client, secret, { signal }).catch((error: unknown) => {
    throw unreadable(error, { ...options, secret: oldStubName(secret) });
  });
  return kept === undefined ? OLD_STUB_MISSING : { edit: nameEdit(secret, kept.metadata.name) };
}

/** A set that names an old stub: it stays there as long as a pin wants an image of before the conversion. */
async function leavingOldStub(client: Pick<Client, 'get'>, of: string, options: UserDataOptions): Promise<StubStep> {
  const own = await read(client, { ...options, secret: of });
  const step = await stepFor(
    { get: client.get },
    { ...options, secret: of, stubSecret: 'InPlace', wayBack: undefined },
  );
  if (step.convert === undefined && goesBack(own, options)) return CURRENT;
  return { ...step, edit: nameEdit(options.secret, of) };
}

function goesBack({ metadata }: Secret, { wayBack }: UserDataOptions): boolean {
  return (
    wayBack !== undefined && isBefore(wayBack.history, wayBack.image, metadata.annotations?.[upgradedAtAnnotation])
  );
}

function nameEdit(from: string, to: string): LeafEdit {
  return { path: ['userDataSecret', 'name'], from, to };
}

function convertedSecret(secret: Secret, text: string, since: string): Secret {
  const annotations = {
    ...secret.metadata.annotations,
    [upgradedToAnnotation]: stubVersion,
    [upgradedAtAnnotation]: since,
  };
  const data = { ...secret.data, userData: Buffer.from(text, 'utf8').toString('base64') };
  return { ...secret, metadata: { ...secret.metadata, annotations }, data };
}

/** The text of its stub. */
export function userDataOf({ data }: Secret): string {
  return Buffer.from(data?.['userData'] ?? '', 'base64').toString('utf8');
}

async function read(client: Pick<Client, 'get'>, options: UserDataOptions): Promise<Secret>;
async function read(client: Pick<Client, 'get'>, options: UserDataOptions, optional: true): Promise<Secret | undefined>;
async function read(
  client: Pick<Client, 'get'>,
  options: UserDataOptions,
  optional: boolean = false,
): Promise<Secret | undefined> {
  try {
    return await client.get(
      Secret,
      { namespace: machineApiNamespace, name: options.secret },
      { signal: options.signal },
    );
  } catch (error) {
    if (optional && isNotFound(error)) return undefined;
    throw unreadable(error, options, optional);
  }
}

function unreadable(error: unknown, { secret }: UserDataOptions, managed: boolean = false): BootImageError {
  const said = isNotFound(error) ? `secrets "${secret}" not found` : errorText(error);
  return new BootImageError('UserDataUnreadable', `error grabbing user data secret referenced in machineset: ${said}`, {
    cause: error,
    nextStep: isForbidden(error)
      ? `allow get, list, watch and update of secret ${machineApiNamespace}/${secret}, as for worker-user-data in deploy/rbac${managed ? '/managed-stub' : ''}`
      : `create secret ${machineApiNamespace}/${secret} or correct userDataSecret of the set`,
  });
}
