import { type MachineSet, Secret } from '@drydock/api';
import { type Client, isConflict, isForbidden, isNotFound } from '@drydock/kube';
import { BootImageError, type BootImageErrorCode, errorText } from '../errors.ts';
import { at, nonEmpty } from '../observe/json.ts';
import { controlPlanes, type KeptSet, kindOf, specOf } from '../observe/kept-set.ts';
import { type LeafEdit, leafText } from '../observe/provider-spec.ts';
import { rfc3339 } from '../status/conditions.ts';
import { convertStub, replacesStub, stubVersion } from './ignition.ts';

/** Namespace of machine-api's sets, machines and user-data secrets. */
export const machineApiNamespace = 'openshift-machine-api';
/** Set on a secret whose stub was converted: the version it was converted to. */
const upgradedToAnnotation = 'machineconfiguration.openshift.io/stub-ignition-upgraded-to';
/** Set on a secret whose stub was converted: when (RFC 3339). */
const upgradedAtAnnotation = 'machineconfiguration.openshift.io/stub-ignition-upgraded-at';

/** Codes of failures that another content of the Secret may cure. */
export const stubFailures: ReadonlySet<string> = new Set([
  'StubInvalid',
  'UserDataUnreadable',
  'UserDataWriteFailed',
] satisfies readonly BootImageErrorCode[]);

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
  readonly now: Date;
  readonly signal?: AbortSignal | undefined;
  /** Called right before the Secret is written; what it throws stops that. */
  readonly beforeWrite?: () => void;
}

/**
 * What is to become of a set's stub: nothing, another content, or another Secret, which the set is to name by `edit`.
 */
type StubStep =
  | { readonly kind: 'current' }
  | { readonly kind: 'convert'; readonly secret: Secret }
  | { readonly kind: 'switch'; readonly edit: LeafEdit };

/** Reads the secret and tries the conversion without writing: a bad stub must stop an update before anything is uploaded. Resolves to the managed Secret that the set would be switched to. */
export async function checkUserData(
  client: Pick<Client, 'get'>,
  options: UserDataOptions,
): Promise<string | undefined> {
  const step = await stepFor(client, options);
  return step.kind === 'switch' ? leafText(step.edit.to) : undefined;
}

/** What {@link upgradeUserData} would do: nothing, write the Secret, or edit the set. It writes nothing. */
export async function foreseeUserData(
  client: Pick<Client, 'get'>,
  options: UserDataOptions,
): Promise<'current' | 'convert' | LeafEdit> {
  const step = await stepFor(client, options);
  return step.kind === 'switch' ? step.edit : step.kind;
}

/** So often a Secret is read anew that somebody else has just written: another set with the same stub, or whoever rotates the CA in it. */
const MOST_READS = 4;

/**
 * Converts a spec 2 stub in place; a spec 3 stub causes no write. The secret is read again just before, and the write is guarded
 * by that reading, because another controller rotates the CA in it. Resolves to what has to change in the set besides its image.
 */
export async function upgradeUserData(client: Client, options: UserDataOptions): Promise<readonly LeafEdit[]> {
  for (let reads = 1; ; reads += 1) {
    const step = await stepFor(client, options);
    if (step.kind === 'switch') return [step.edit];
    if (step.kind === 'current') return [];
    options.beforeWrite?.();
    try {
      await client.replace(Secret, step.secret, { signal: options.signal });
      return [];
    } catch (error) {
      if (isConflict(error) && reads < MOST_READS) continue;
      throw new BootImageError(
        'UserDataWriteFailed',
        `could not update secret ${options.secret}: ${errorText(error)}`,
        {
          cause: error,
          nextStep: 'it is tried again; check the permission to update secrets in openshift-machine-api if it persists',
        },
      );
    }
  }
}

/** What is done about stubs for the sets of one pass, most of which have the same one. */
export interface Stubs {
  /** See {@link checkUserData}. */
  readonly check: (options: UserDataOptions) => Promise<string | undefined>;
  /** See {@link upgradeUserData}. */
  readonly upgrade: (options: UserDataOptions) => Promise<readonly LeafEdit[]>;
}

/** For so long (ms) nobody reads again a stub with which there was nothing to do. One that is to be converted is read anew, right before it is. */
const CURRENT_MS = 2_000;

/** A thousand sets with one Secret would read it two thousand times. `elapsed` is a monotonic clock. */
export function sharedStubs(client: Client, elapsed: () => number = () => performance.now()): Stubs {
  const known = new Map<string, { readonly at: number; readonly step: Promise<StubStep> }>();
  const stepOf = (options: UserDataOptions): Promise<StubStep> => {
    const key = JSON.stringify([options.secret, options.stubSecret]);
    const before = known.get(key);
    if (before !== undefined && elapsed() - before.at < CURRENT_MS) return before.step;
    const step = stepFor(client, options);
    known.set(key, { at: elapsed(), step });
    const forget = (): void => {
      if (known.get(key)?.step === step) known.delete(key);
    };
    step.then(({ kind }) => kind === 'current' || forget(), forget);
    return step;
  };
  return {
    check: async (options) => {
      const step = await stepOf(options);
      return step.kind === 'switch' ? leafText(step.edit.to) : undefined;
    },
    upgrade: async (options) => ((await stepOf(options)).kind === 'current' ? [] : upgradeUserData(client, options)),
  };
}

async function stepFor(client: Pick<Client, 'get'>, options: UserDataOptions): Promise<StubStep> {
  const secret = await read(client, options);
  const text = userDataOf(secret);
  const stub = convertStub(text, options.secret);
  if (stub.kind === 'current') return stub;
  if (options.stubSecret === 'Managed') {
    const name = `${options.secret}-managed`;
    const managed = await read(client, { ...options, secret: name }, true);
    if (managed !== undefined && replacesStub(userDataOf(managed), stub.text))
      return { kind: 'switch', edit: { path: ['userDataSecret', 'name'], from: options.secret, to: name } };
  }
  return {
    kind: 'convert',
    secret: {
      ...secret,
      metadata: {
        ...secret.metadata,
        annotations: {
          ...secret.metadata.annotations,
          [upgradedToAnnotation]: stubVersion,
          [upgradedAtAnnotation]: rfc3339(options.now),
        },
      },
      data: { ...secret.data, userData: Buffer.from(stub.text, 'utf8').toString('base64') },
    },
  };
}

function userDataOf({ data }: Secret): string {
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
    const said = isNotFound(error) ? `secrets "${options.secret}" not found` : errorText(error);
    throw new BootImageError(
      'UserDataUnreadable',
      `error grabbing user data secret referenced in machineset: ${said}`,
      {
        cause: error,
        nextStep: isForbidden(error)
          ? `allow get, list, watch and update of secret ${machineApiNamespace}/${options.secret}, as for worker-user-data in deploy/rbac${optional ? '/managed-stub' : ''}`
          : `create secret ${machineApiNamespace}/${options.secret} or correct userDataSecret of the set`,
      },
    );
  }
}
