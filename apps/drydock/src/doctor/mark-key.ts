import { type Client, isForbidden, type Key } from '@drydock/kube';
import { type ListedTemplate, NO_KEYS, type ReadKeys } from '@drydock/templates';
import { codeLines, signingText } from '../mark-key-text.ts';
import { addKeyCommand, createCommand, readMarkKeys } from '../mark-keys.ts';
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
      next: addKeyCommand(key, keys),
    };
  if (problems.length > 0)
    return { name: NAME, state: 'warn', detail: `${secret} has a key that cannot be used: ${problems.join('; ')}` };
  return { name: NAME, state: 'ok', detail: signingText(keys) };
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

/** What the codes of templates say of the keys of the operator. */
export function operatorCodeLines(templates: readonly ListedTemplate[], read: ReadKeys | undefined): readonly Line[] {
  return codeLines(templates, read?.keys ?? NO_KEYS, 'the operator signs them again when it collects');
}
