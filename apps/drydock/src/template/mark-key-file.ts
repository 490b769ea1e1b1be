import { keysOfText } from '@drydock/templates';

/** How the file remembers a key that was revoked: a comment, which every version leaves out. */
const REVOKED = (id: string): RegExp => new RegExp(`^# revoked ${id}\\b`, 'm');

/** Whether a key file says that the key of this id was revoked. */
export function wasRevoked(text: string, id: string): boolean {
  return /^[0-9a-f]{12}$/.test(id) && REVOKED(id).test(text);
}

/**
 * The text of a key file without a key: a comment stands in place of each of its lines, and `fresh`, a line with a new key, in front of the first. All else stays as it
 * is, byte for byte.
 */
export function withoutKey(
  text: string,
  id: string,
  options: { readonly day: string; readonly fresh?: string },
): string {
  let { fresh } = options;
  const lines = text.split('\n').flatMap((line) => {
    const { keys } = keysOfText(line);
    if (keys.current?.id !== id) return [line];
    const comment = `# revoked ${id} on ${options.day}: its codes do not count`;
    if (fresh === undefined) return [comment];
    const put = [fresh, comment];
    fresh = undefined;
    return put;
  });
  return lines.join('\n');
}
