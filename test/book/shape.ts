/**
 * Why a text is not of the shape that the book shows, or undefined. Words must be the same; a word with a digit in it stands for any such word, a unit for any other one, `…` for anything within a line, and a line of `…` alone for
 * any lines. How wide columns are says nothing.
 */
export function misshapen(shown: readonly string[], printed: readonly string[]): string | undefined {
  const lines = printed.filter((line) => line.trim() !== '');
  let at = 0;
  let anything = false;
  for (const line of shown) {
    if (line.trim() === '') continue;
    if (line.trim() === '…') {
      anything = true;
      continue;
    }
    const pattern = patternOf(line);
    const found = lines.findIndex((one, index) => index >= at && pattern.test(squeezed(one)));
    if (found < 0 || (!anything && found !== at))
      return `the book shows "${squeezed(line)}", where "${squeezed(lines[at] ?? '(the end)')}" was printed`;
    at = found + 1;
    anything = false;
  }
  return anything || at === lines.length ? undefined : `the book does not show "${squeezed(lines[at] ?? '')}"`;
}

/** Units of what is counted, which are as good as a digit. */
const UNIT = /^(?:B|KiB|MiB|GiB|TiB|ms|s|m|h)(?:\/s)?$/;

const squeezed = (line: string): string => line.trim().replaceAll(/\s+/g, ' ');

function patternOf(line: string): RegExp {
  const words = squeezed(line).split(' ');
  return new RegExp(`^${words.map(wordPattern).join(' ')}$`, 'u');
}

function wordPattern(word: string): string {
  const literal = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
  if (word.includes('…'))
    return word
      .split('…')
      .map((part) => (/\d/.test(part) ? '\\S*\\d\\S*' : literal(part)))
      .join('.*');
  const [, unit = '', end = ''] = /^(\w+(?:\/s)?)([,;:)]*)$/.exec(word) ?? [];
  if (UNIT.test(unit)) return `(?:[KMGT]?i?B|ms|[smh])(?:/s)?${literal(end)}`;
  return /\d/.test(word) ? '\\S*\\d\\S*' : literal(word);
}
