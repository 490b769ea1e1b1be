import { realpath, stat } from 'node:fs/promises';
import { replaceFileDurable } from '@drydock/durable';
import { isMap, isNode, isScalar, parseDocument } from 'yaml';
import { UsageError } from '../exit.ts';
import { readSmallFile } from '../small-file.ts';
import { configOf, MAX_BYTES } from './config-file.ts';

/** Writes the name of the context into the config file. Everything else in it stays as it is, byte for byte. */
export async function useContext(path: string, name: string): Promise<void> {
  // It may be a link into a folder that is kept elsewhere.
  const file = await realpath(path);
  const before = await readSmallFile(file, MAX_BYTES);
  const { mode } = await stat(file);
  const text = withContext(before, name);
  if (text === undefined || configOf(text, path).current !== name)
    throw new UsageError(`${path} cannot be changed without changing its form: write current-context: ${name} into it`);
  if (text !== before) await replaceFileDurable(file, text, { mode: mode & 0o777 });
}

/** The text with that name as its context; undefined where it has no lines of its own for keys. */
export function withContext(text: string, name: string): string | undefined {
  const { contents } = parseDocument(text);
  const written = /^[A-Za-z][\w.-]*$/.test(name) ? name : JSON.stringify(name);
  if (isMap(contents)) {
    const value = contents.items.find(({ key }) => isScalar(key) && key.value === 'current-context')?.value;
    const [from, to] = (isNode(value) ? value.range : undefined) ?? [];
    if (from !== undefined && to !== undefined && to > from) return `${text.slice(0, from)}${written}${text.slice(to)}`;
    if (contents.flow === true || value != null) return undefined;
  }
  const [, marks = '', rest = ''] = /^((?:\s*(?:#[^\n]*)?\n|---[^\n]*\n)*)([\s\S]*)$/.exec(text) ?? [];
  return `${marks}current-context: ${written}\n${rest}`;
}
