import { type MachineSet, Secret } from '@drydock/api';
import { type Client, isForbidden, isNotFound } from '@drydock/kube';
import { BootImageError, type BootImageErrorCode, errorText } from '../errors.ts';
import { rfc3339 } from '../status/conditions.ts';
import { convertStub, stubVersion } from './ignition.ts';

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
  const reference = set.spec?.template?.spec?.providerSpec?.value?.['userDataSecret'];
  const name = (reference as { readonly name?: unknown } | null | undefined)?.name;
  return typeof name === 'string' && name !== '' ? name : undefined;
}

/** Options of {@link checkUserData} and {@link upgradeUserData}. */
export interface UserDataOptions {
  /** Name of the secret that `providerSpec.userDataSecret.name` refers to. */
  readonly secret: string;
  readonly now: Date;
  readonly signal?: AbortSignal;
  /** Called right before the Secret is written; what it throws stops that. */
  readonly beforeWrite?: () => void;
}

/** Reads the secret and tries the conversion without writing: a bad stub must stop an update before anything is uploaded. */
export async function checkUserData(client: Pick<Client, 'get'>, options: UserDataOptions): Promise<void> {
  await converted(client, options);
}

/**
 * Converts a spec 2 stub in place; a spec 3 stub causes no write. The secret is read again just before, and the write is guarded
 * by that reading, because another controller rotates the CA in it. Returns whether it wrote.
 */
export async function upgradeUserData(client: Client, options: UserDataOptions): Promise<boolean> {
  const next = await converted(client, options);
  if (next === undefined) return false;
  options.beforeWrite?.();
  try {
    await client.replace(Secret, next, call(options));
  } catch (error) {
    throw new BootImageError('UserDataWriteFailed', `could not update secret ${options.secret}: ${errorText(error)}`, {
      cause: error,
      nextStep: 'it is tried again; check the permission to update secrets in openshift-machine-api if it persists',
    });
  }
  return true;
}

async function converted(client: Pick<Client, 'get'>, options: UserDataOptions): Promise<Secret | undefined> {
  const secret = await read(client, options);
  const text = Buffer.from(secret.data?.['userData'] ?? '', 'base64').toString('utf8');
  const stub = convertStub(text, options.secret);
  if (stub.kind === 'current') return undefined;
  return {
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
  };
}

async function read(client: Pick<Client, 'get'>, options: UserDataOptions): Promise<Secret> {
  try {
    return await client.get(Secret, { namespace: machineApiNamespace, name: options.secret }, call(options));
  } catch (error) {
    const said = isNotFound(error) ? `secrets "${options.secret}" not found` : errorText(error);
    throw new BootImageError(
      'UserDataUnreadable',
      `error grabbing user data secret referenced in machineset: ${said}`,
      {
        cause: error,
        nextStep: isForbidden(error)
          ? `allow get, list, watch and update of secret ${machineApiNamespace}/${options.secret}, as for worker-user-data in deploy/rbac`
          : `create secret ${machineApiNamespace}/${options.secret} or correct userDataSecret of the set`,
      },
    );
  }
}

function call(options: UserDataOptions): { readonly signal?: AbortSignal } {
  return options.signal === undefined ? {} : { signal: options.signal };
}
