import { createHash } from 'node:crypto';
import { ConfigMap } from '@drydock/api';
import { credentialsKey } from '@drydock/boot-images';
import { type Client, type ConfigMapStore, configMapStore, isForbidden, isNotFound } from '@drydock/kube';
import { LOGIN_NOW_ANNOTATION } from '@drydock/vm-watch';
import { isTold, type LoginNote, type LoginNotes, lateText, loginAccount, readLoginNotes } from '@drydock/vsphere';
import { LEASE_NAMESPACE } from './status-notes.ts';

/** ConfigMap beside the Leases of the operator, in which its roles and processes tell each other which logins were refused. */
export const LOGINS = 'drydock-logins';

/** Makes an operator try the password once more, at once. */
export const LOGIN_NOW: string = `kubectl -n ${credentialsKey.namespace} annotate secret ${credentialsKey.name} --overwrite ${LOGIN_NOW_ANNOTATION}="$(date)"`;

/** What a person does about a refused login. */
export const LOGIN_NEXT: string = `Drydock tries a new password at once, or three minutes after the third refusal. If this password is right again: ${LOGIN_NOW}`;

/** Whoever was refused so long ago (ms) and not since tries no more. */
const FORGOTTEN_MS = 24 * 60 * 60_000;

/** The notes of an operator for whoever only reads; none without the right to read them. */
export function readClusterLogins(client: Pick<Client, 'get'>, namespace: string): Pick<LoginNotes, 'read'> {
  return {
    read: async (server, user) => readLoginNotes((await loginTexts(client, namespace))[keyOf(server, user)]),
  };
}

/** The notes of an operator, guarded by resourceVersion. */
export function clusterLogins(client: Pick<Client, 'get' | 'create' | 'replace'>, namespace: string): LoginNotes {
  const store: ConfigMapStore = configMapStore({ client, namespace, name: LOGINS, component: 'logins' });
  return {
    read: async (server, user) => readLoginNotes((await store.read()).get(keyOf(server, user))),
    change: (server, user, next) =>
      store.change(keyOf(server, user), (text) => {
        const notes = next(readLoginNotes(text));
        return notes.length === 0 ? undefined : JSON.stringify(notes);
      }),
  };
}

/** All notes of an operator that are of this day; none without the right to read them. */
export async function refusedLogins(
  client: Pick<Client, 'get'>,
  namespace: string = LEASE_NAMESPACE,
): Promise<readonly LoginNote[]> {
  const notes = Object.values(await loginTexts(client, namespace)).flatMap((text) => readLoginNotes(text));
  return notes.filter((note) => isTold(note) && Date.now() - Date.parse(note.last) < FORGOTTEN_MS);
}

async function loginTexts(client: Pick<Client, 'get'>, namespace: string): Promise<Readonly<Record<string, string>>> {
  try {
    return (await client.get(ConfigMap, { namespace, name: LOGINS })).data ?? {};
  } catch (error) {
    if (isNotFound(error) || isForbidden(error)) return {};
    throw error;
  }
}

/** What {@link refusedLogins} found, a line each, and what to do about it. */
export function loginsText(notes: readonly LoginNote[]): string {
  if (notes.length === 0) return '';
  const lines = notes.map((note) => `${lateText(note)}.\n`).join('');
  return `${lines}${LOGIN_NEXT}\n`;
}

/** Names of users have characters that keys cannot have. */
function keyOf(server: string, user: string): string {
  return createHash('sha256')
    .update(`${server}\n${loginAccount(user)}`)
    .digest('hex')
    .slice(0, 32);
}
