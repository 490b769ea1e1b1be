import type { ListedTemplate } from '../library.ts';
import { keyIdOf, type MarkKeys } from './keys.ts';

/** Codes of one template: their ids, and what proves it. A template that nothing proves has no `proof`. */
export type BornCodes = Pick<ListedTemplate, 'name' | 'proof' | 'keyIds'>;

/**
 * Names of keys that did not make the codes under their name, each with the templates that bear such codes. Either another key had the name when these were made, or they are forged. Ids
 * that are derived from a key cannot change hands.
 */
export function changedKeys(
  { known }: MarkKeys,
  templates: readonly BornCodes[],
): ReadonlyMap<string, readonly string[]> {
  const changed = new Map<string, readonly string[]>();
  for (const { name, proof, keyIds = [] } of templates) {
    // One of the codes is right: the others no longer matter.
    if (proof === 'keyed') continue;
    for (const id of keyIds) {
      const key = known.get(id);
      if (key !== undefined && keyIdOf(key) !== id) changed.set(id, [...(changed.get(id) ?? []), name]);
    }
  }
  return changed;
}

/** What {@link changedKeys} found of one key, as a sentence for people; without advice. */
export function changedKeyText(key: string, templates: readonly string[]): string {
  const shown = templates.slice(0, 3).join(', ');
  const more = templates.length > 3 ? ` and ${templates.length - 3} more` : '';
  return `the key ${key} is another one than the codes under this name were made with, or they are forged: ${shown}${more}`;
}
