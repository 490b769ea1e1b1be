import { keysOfText, type MarkKeys, NO_KEYS } from '@drydock/templates';
import { signingText } from '../mark-key-text.ts';
import type { CheckLine } from './check-line.ts';
import { shell } from './next-command.ts';
import { readNamedFile, TemplateProblem } from './problem.ts';
import type { Settings } from './settings.ts';

/** Makes a key file, and never writes over one that is there. */
const CREATE = '(umask 077 && set -C && openssl rand -hex 32 > mark.key)';

/** The keys that were given. Keys that cannot be used are an error: going on without them would leave what is proven by them. */
export async function markKeysOf({ markKey, origins }: Settings): Promise<MarkKeys> {
  if (markKey === undefined) return NO_KEYS;
  const where = 'file' in markKey ? markKey.file : `DRYDOCK_MARK_KEY (${origins.markKey})`;
  const text = 'file' in markKey ? await readKeyFile(markKey.file) : markKey.value;
  const { keys, problems } = keysOfText(text);
  if (problems.length === 0) return keys;
  throw new TemplateProblem({
    code: 'MARK_KEY_UNUSABLE',
    message: `the mark keys in ${where} cannot be used: ${problems.join('; ')}`,
    next: 'file' in markKey ? shell`\${EDITOR:-vi} ${markKey.file}` : CREATE,
  });
}

/** What can be proven, for `doctor`. */
export function markKeyLine({ origins }: Settings, keys: MarkKeys): CheckLine {
  const name = 'mark key';
  if (keys.current === undefined) {
    const detail = 'none: only templates that the same run imported are used or removed';
    return { name, state: 'warn', detail, next: `${CREATE}, and give --mark-key mark.key` };
  }
  return { name, state: 'ok', detail: `${signingText(keys)} (${origins.markKey})` };
}

/** The text of a key file. */
export function readKeyFile(file: string): Promise<string> {
  return readNamedFile(file, 'the mark key file ');
}

/** Whether a key file says, in a comment, that the key of this id was revoked. */
export function wasRevoked(text: string, id: string): boolean {
  return /^[0-9a-f]{12}$/.test(id) && new RegExp(`^# revoked ${id}\\b`, 'm').test(text);
}

/**
 * The text of a key file without a key: a comment stands in place of each of its lines, and `fresh`, a line with a new key, in front of the first. All else stays as it
 * is, byte for byte.
 */
export function withoutKey(
  text: string,
  id: string,
  { day, fresh }: { readonly day: string; readonly fresh?: string | undefined },
): string {
  const comment = `# revoked ${id} on ${day}: its codes do not count`;
  const lines = text.split('\n').map((line) => (keysOfText(line).keys.current?.id === id ? comment : line));
  if (fresh !== undefined) lines.splice(lines.indexOf(comment), 0, fresh);
  return lines.join('\n');
}
