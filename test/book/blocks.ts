import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The root of the checkout. */
export const root: string = join(import.meta.dirname, '../..');

/** Why a block of commands is not executed, by the word behind its language. docs/testing.md tells the same to people. */
export const CLASSES: Readonly<Record<string, string>> = {
  cluster: 'it changes a cluster of your own, or needs one that runs pods',
  endless: 'it goes on until you end it',
  home: 'it changes your shell, or this machine beyond one folder',
  long: 'it builds or plays for minutes',
  node: 'it is for a node of a control plane',
  others: 'it needs programs, releases or files of others',
};

/** What stands between two fences. */
export interface Block {
  readonly file: string;
  /** Of the fence that opens it, from 1. */
  readonly line: number;
  readonly language: string;
  /** Words behind the language. */
  readonly words: readonly string[];
  readonly text: string;
}

/** Texts for people in the repository, from its root; the changelog tells of what is gone, too. */
export function pages(): readonly string[] {
  const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '*.md'], {
    cwd: root,
    encoding: 'utf8',
  });
  return listed.split('\n').filter((file) => file !== '' && file !== 'CHANGELOG.md');
}

/** The text of a page. */
export const textOf = (file: string): string => readFileSync(join(root, file), 'utf8');

/** The blocks of a text, without the indentation of their fences. */
export function blocksOf(file: string, text: string): readonly Block[] {
  const blocks: Block[] = [];
  let open: { line: number; indent: string; info: string; lines: string[] } | undefined;
  for (const [at, line] of text.split('\n').entries()) {
    const [, indent = '', info] = /^( *)```(.*)$/.exec(line) ?? [];
    if (open === undefined) {
      if (info !== undefined) open = { line: at + 1, indent, info, lines: [] };
    } else if (info === undefined) {
      open.lines.push(line.startsWith(open.indent) ? line.slice(open.indent.length) : line);
    } else {
      const [language = '', ...words] = open.info.trim().split(/ +/);
      blocks.push({ file, line: open.line, language, words, text: open.lines.join('\n') });
      open = undefined;
    }
  }
  return blocks;
}

/** A command of a block and what it says. */
export interface Transcript {
  readonly command: string;
  /** Lines of a `console` block up to the next command; undefined in a block of commands alone. */
  readonly output: readonly string[] | undefined;
}

/** The commands of a `sh` or `console` block, with lines that go on put together. */
export function transcriptsOf(block: Block): readonly Transcript[] {
  const joined = block.text.replaceAll(/ *\\\n */g, ' ').split('\n');
  if (block.language !== 'console')
    return joined.filter((line) => !/^\s*(?:#|$)/.test(line)).map((command) => ({ command, output: undefined }));
  const found: { command: string; output: string[] }[] = [];
  for (const line of joined)
    if (line.startsWith('$ ')) found.push({ command: line.slice(2), output: [] });
    else found.at(-1)?.output.push(line);
  return found.map(({ command, output }) => ({
    command,
    output: output.at(-1) === '' ? output.slice(0, -1) : output,
  }));
}
