import { Secret } from '@drydock/api';
import { type Client, isForbidden, isNotFound, type Key } from '@drydock/kube';
import { keysOfSecret, type ListedKey, type MarkKeys, NO_KEYS, type ReadKeys } from '@drydock/templates';
import type { Command } from 'commander';
import { UsageError } from './exit.ts';
import { freeKeyName } from './mark-key-text.ts';

/** Where the installation puts the key that proves marks, unless a flag says otherwise. */
export const MARK_KEY_SECRET = 'drydock/drydock-mark-key';

/** The flag that names the Secret. */
export interface MarkKeyFlags {
  readonly markKeySecret: string;
}

/** Adds the flag that names the Secret with the keys. */
export function markKeyFlags(command: Command): Command {
  return command.option(
    '--mark-key-secret <namespace/name>',
    'Secret with the keys that sign the codes of templates in vCenter',
    MARK_KEY_SECRET,
  );
}

/** The Secret that a flag names. */
export function markKeySecret(flag: string): Key & { readonly namespace: string } {
  const [namespace = '', name = '', ...rest] = flag.split('/');
  if (namespace === '' || name === '' || rest.length > 0)
    throw new UsageError(`--mark-key-secret ${flag}: use NAMESPACE/NAME`);
  return { namespace, name };
}

/** The command that makes the Secret; a person runs it, once. The key gets its id by itself: `key` is only what its entry is called. */
export function createCommand({ namespace, name }: Key & { readonly namespace: string }): string {
  return `kubectl create secret generic ${name} -n ${namespace} --from-literal=key="$(openssl rand -hex 32)"`;
}

/** The command that adds a key to the Secret and has it sign from now on. No key has that name yet, so that none is lost. */
export function addKeyCommand(secret: Key & { readonly namespace: string }, keys: MarkKeys): string {
  return patchCommand(secret, {}, freeKeyName(keys));
}

/** The command that takes a key out of the Secret, whatever its entries are called there; in place of the current key it puts a new one. */
export function revokeCommand(secret: Key & { readonly namespace: string }, keys: MarkKeys, key: ListedKey): string {
  const data = Object.fromEntries(key.names.map((name) => [name, null]));
  return patchCommand(secret, { data }, key.current ? freeKeyName(keys) : undefined);
}

function patchCommand(
  { namespace, name }: Key & { readonly namespace: string },
  patch: object,
  fresh: string | undefined,
): string {
  const stringData = fresh === undefined ? {} : { stringData: { current: fresh, [fresh]: RANDOM } };
  const text = JSON.stringify({ ...patch, ...stringData }).replace(RANDOM, `'$(openssl rand -hex 32)'`);
  return `kubectl patch secret ${name} -n ${namespace} -p '${text}'`;
}

/** Where the shell puts the key. */
const RANDOM = 'RANDOM';

/** Reads the Secret once; undefined: it does not exist. */
export async function readMarkKeys(
  client: Pick<Client, 'get'>,
  key: Key,
  options: { readonly signal?: AbortSignal } = {},
): Promise<ReadKeys | undefined> {
  try {
    return keysOfSecret((await client.get(Secret, key, options)).data);
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/** How long an answer counts: a pass asks for every set. */
const FRESH_MS = 5000;

/**
 * The keys of the operator, read when they are needed. A Secret that is not there, or may not be read, is no key: nothing is destroyed then but what the cluster
 * recorded. Where the API server does not answer, the keys that were read last still count.
 */
export function markKeys(
  client: Pick<Client, 'get'>,
  key: Key & { readonly namespace: string },
  log: { warn(fields: object, message: string): void },
  now: () => number = () => performance.now(),
): () => Promise<MarkKeys> {
  let last: MarkKeys = NO_KEYS;
  let said = '';
  let reading: { readonly at: number; readonly keys: Promise<MarkKeys> } | undefined;
  const say = (problem: string): void => {
    if (problem !== '' && problem !== said)
      log.warn({ secret: `${key.namespace}/${key.name}` }, `marks cannot be proven as they should: ${problem}`);
    said = problem;
  };
  const read = async (): Promise<MarkKeys> => {
    try {
      const found = await readMarkKeys(client, key);
      say(found === undefined ? `there is no such Secret: ${createCommand(key)}` : found.problems.join('; '));
      last = found?.keys ?? NO_KEYS;
    } catch (error) {
      const forbidden = isForbidden(error);
      if (forbidden) last = NO_KEYS;
      say(forbidden ? 'the Secret may not be read' : 'the API server could not be asked');
    }
    return last;
  };
  return () => {
    const at = now();
    if (reading === undefined || at - reading.at > FRESH_MS) reading = { at, keys: read() };
    return reading.keys;
  };
}
