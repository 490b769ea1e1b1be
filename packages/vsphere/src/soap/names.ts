import { VimError } from '../errors.ts';

/** vCenter's limit, in characters. */
const MAX_NAME = 80;

/** A name as vCenter stores it: `%`, `/` and `\` escaped (ManagedEntity.name). */
export function escapeName(name: string): string {
  return name.replaceAll(/[%/\\]/g, (character) => `%${character.charCodeAt(0).toString(16)}`);
}

/** A stored name as a person reads it. Only the three escapes are undone. */
export function unescapeName(stored: string): string {
  return stored.replaceAll(/%(25|2f|5c)/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}

/** Refuses a name before it is sent: an empty one wedges some servers, an over-long one is accepted by others. */
export function checkName(op: string, name: string): void {
  const length = Array.from(name).length;
  if (length >= 1 && length <= MAX_NAME) return;
  throw new VimError({
    kind: 'protocol',
    code: 'VIM_INVALID_NAME',
    op,
    message: length === 0 ? 'the name is empty' : `the name "${name}" has ${length} characters`,
    sent: false,
  });
}
