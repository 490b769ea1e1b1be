/** A simple command: its words without their quotes. Substitutions stay as they are written. */
export type Words = readonly string[];

const ENDS: ReadonlySet<string> = new Set(['|', ';', '&', '(', ')', '\n']);

/**
 * The simple commands of a line of a shell: what stands between `|`, `;`, `&&` and parentheses, without comments, redirections and assignments before a command. Those within `$( )` come after them.
 * Throws where a quote is not closed.
 */
export function commandsOf(line: string): readonly Words[] {
  const commands: Words[] = [];
  const nested: string[] = [];
  let words: string[] = [];
  let word: string | undefined;
  let quote = '';
  const endWord = (): void => {
    if (word !== undefined) words.push(word);
    word = undefined;
  };
  const endCommand = (): void => {
    endWord();
    const plain = withoutRedirections(words);
    const first = plain.findIndex((one) => !/^[A-Za-z_]\w*=/.test(one));
    if (first >= 0) commands.push(plain.slice(first));
    words = [];
  };
  for (let at = 0; at < line.length; at += 1) {
    const char = line[at] ?? '';
    if (quote !== "'" && char === '$' && line[at + 1] === '(') {
      const end = closing(line, at + 1);
      nested.push(line.slice(at + 2, end));
      word = `${word ?? ''}${line.slice(at, end + 1)}`;
      at = end;
    } else if (quote !== '') {
      if (char === quote) quote = '';
      else word = `${word ?? ''}${char}`;
    } else if (char === "'" || char === '"') {
      quote = char;
      word ??= '';
    } else if (char === '#' && word === undefined) break;
    else if (char === ' ') endWord();
    else if (char === '<' && line[at + 1] === '(') endCommand();
    else if (ENDS.has(char) && !/[<>]$/.test(word ?? '')) endCommand();
    else if (char === '>' || char === '<') {
      if (!/^\d$/.test(word ?? '')) endWord();
      word = `${word ?? ''}${char}`;
      endWord();
    } else word = `${word ?? ''}${char}`;
  }
  if (quote !== '') throw new Error(`${line}: a quote (${quote}) is not closed`);
  endCommand();
  return [...commands, ...nested.flatMap(commandsOf)];
}

function withoutRedirections(words: readonly string[]): readonly string[] {
  return words.filter((one, at) => !/^\d?[<>]$/.test(one) && !/^\d?[<>]$/.test(words[at - 1] ?? ''));
}

function closing(line: string, open: number): number {
  let depth = 0;
  for (let at = open; at < line.length; at += 1) {
    if (line[at] === '(') depth += 1;
    if (line[at] === ')' && --depth === 0) return at;
  }
  throw new Error(`${line}: $( is not closed`);
}
