import { UsageError } from './exit.ts';

/**
 * A list as a flag gives it, separated by commas: `default` stands for the built-in list, `-name` takes one off what came before it. Without a flag it is the built-in
 * list. What is taken off must be there, or it is misspelt (`UsageError`); so must something be left.
 */
export function chosen(flag: string, text: string | undefined, defaults: readonly string[]): readonly string[] {
  if (text === undefined) return defaults;
  const list = new Set<string>();
  for (const item of text.split(',').map((part) => part.trim())) {
    if (item === 'default') for (const one of defaults) list.add(one);
    else if (!item.startsWith('-') && item !== '') list.add(item);
    else if (item !== '' && !list.delete(item.slice(1)))
      throw new UsageError(`${flag}: ${item.slice(1)} is not in the list from which it is taken; begin with default`);
  }
  if (list.size === 0) throw new UsageError(`${flag}: the list is empty`);
  return [...list];
}
