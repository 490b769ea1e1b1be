import { type Client, isForbidden, type Key } from '@drydock/kube';
import type { ListedTemplate, ReadKeys } from '@drydock/templates';
import { createCommand, readMarkKeys } from '../mark-keys.ts';
import type { Line } from './finding.ts';

const NAME = 'mark key';

/** Whether the operator has a key to prove its templates by. `undefined` keys: there is no Secret. */
export function markKeyLine(read: ReadKeys | undefined, key: Key & { readonly namespace: string }): Line {
  const secret = `Secret ${key.namespace}/${key.name}`;
  if (read === undefined) {
    const detail = `${secret} is not there: nothing is removed in vCenter but what the cluster recorded`;
    return { name: NAME, state: 'warn', detail, next: createCommand(key) };
  }
  const { keys, problems } = read;
  if (keys.current === undefined)
    return {
      name: NAME,
      state: 'FAIL',
      detail: `${secret} has no usable key: ${problems.join('; ')}`,
      next: addCommand(key),
    };
  if (problems.length > 0)
    return { name: NAME, state: 'warn', detail: `${secret} has a key that cannot be used: ${problems.join('; ')}` };
  const older = [...keys.known.keys()].filter((id) => id !== keys.current?.id);
  const more = older.length === 0 ? '' : `; ${older.join(', ')} ${older.length === 1 ? 'is' : 'are'} still accepted`;
  return { name: NAME, state: 'ok', detail: `${keys.current.id} proves what is ours${more}` };
}

/** Reads the Secret for {@link markKeyLine}; whoever may not read it learns nothing of it. */
export async function lookAtMarkKeys(
  client: Pick<Client, 'get'>,
  key: Key & { readonly namespace: string },
  signal: AbortSignal,
): Promise<{ readonly line: Line; readonly read: ReadKeys | undefined }> {
  try {
    const read = await readMarkKeys(client, key, { signal });
    return { line: markKeyLine(read, key), read };
  } catch (error) {
    if (!isForbidden(error)) throw error;
    const detail = `Secret ${key.namespace}/${key.name} may not be read by whoever asks`;
    return { line: { name: NAME, state: 'skip', detail }, read: undefined };
  }
}

/** Which templates still need another key than the current one; undefined: there is nothing to say. */
export function olderKeysLine(templates: readonly ListedTemplate[], read: ReadKeys | undefined): Line | undefined {
  const current = read?.keys.current?.id;
  if (current === undefined) return undefined;
  const behind = templates.filter(({ keyIds = [] }) => keyIds.length > 0 && !keyIds.includes(current));
  if (behind.length > 0) {
    const ids = [...new Set(behind.flatMap(({ keyIds = [] }) => keyIds))].join(', ');
    const many = behind.length === 1 ? '1 template still needs' : `${behind.length} templates still need`;
    const detail = `${many} ${ids}: keep it until the operator has proven them by ${current}, which it does when it collects`;
    return { name: NAME, state: 'warn', detail };
  }
  const older = [...(read?.keys.known.keys() ?? [])].filter((id) => id !== current);
  if (older.length === 0) return undefined;
  return { name: NAME, state: 'ok', detail: `no template here needs ${older.join(', ')} any more` };
}

/** Adds a key to a Secret that is there, and makes it the current one. */
function addCommand({ namespace, name }: Key & { readonly namespace: string }): string {
  return `kubectl patch secret ${name} -n ${namespace} -p '{"stringData":{"current":"k1","k1":"'$(openssl rand -hex 32)'"}}'`;
}
