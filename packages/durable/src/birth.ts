import { basename, dirname } from 'node:path';
import { isStagingName } from './names.ts';
import type { OpenFile } from './ops.ts';

/**
 * Asks once what is the same for all new files of one directory, such as their owner: in a directory of ours that is in the making, where nobody else changes
 * anything. Elsewhere, and of directories, it asks each time.
 */
export function oncePerDirectory<T>(): (file: OpenFile, ask: () => T) => T {
  let known: { readonly dir: string; readonly answer: T } | undefined;
  return ({ path, how }, ask) => {
    if (how !== 'new') return ask();
    const dir = dirname(path);
    if (known?.dir === dir) return known.answer;
    const answer = ask();
    if (isStagingName(basename(dir))) known = { dir, answer };
    return answer;
  };
}
