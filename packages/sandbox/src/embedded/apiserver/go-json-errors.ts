/** Why Go's encoding/json refuses a text, in its words; undefined for a valid one. Clients match on them. */
export function goJsonError(text: string): string | undefined {
  const at = { text, position: 0 };
  try {
    value(at);
    space(at);
    if (at.position < text.length) fail(at, 'after top-level value');
    return undefined;
  } catch (error) {
    if (error instanceof GoJsonError) return error.message;
    throw error;
  }
}

class GoJsonError extends Error {}

interface Cursor {
  readonly text: string;
  position: number;
}

function fail({ text, position }: Cursor, where: string): never {
  const char = text[position];
  if (char === undefined) throw new GoJsonError('unexpected end of JSON input');
  const shown =
    char === "'"
      ? `'\\''`
      : char === '"'
        ? `'"'`
        : `'${JSON.stringify(char)
            .slice(1, -1)
            .replace(/\\u00(..)/, '\\x$1')}'`;
  throw new GoJsonError(`invalid character ${shown} ${where}`);
}

function space(at: Cursor): void {
  while (/[ \t\r\n]/.test(at.text[at.position] ?? '')) at.position += 1;
}

/** Open brackets, instead of calls: a text may nest deeper than the stack. */
function value(at: Cursor): void {
  const open: ('{' | '[')[] = [];
  for (;;) {
    space(at);
    const char = at.text[at.position];
    if (char === '{') {
      at.position += 1;
      space(at);
      if (at.text[at.position] === '}') at.position += 1;
      else {
        key(at, 'looking for beginning of object key string');
        open.push('{');
        continue;
      }
    } else if (char === '[') {
      at.position += 1;
      space(at);
      if (at.text[at.position] === ']') at.position += 1;
      else {
        open.push('[');
        continue;
      }
    } else scalar(at);
    for (;;) {
      const inside = open.at(-1);
      if (inside === undefined) return;
      space(at);
      const next = at.text[at.position];
      if (next === ',') {
        at.position += 1;
        if (inside === '{') {
          space(at);
          key(at, 'looking for beginning of object key string');
        }
        break;
      }
      if (next !== (inside === '{' ? '}' : ']'))
        fail(at, inside === '{' ? 'after object key:value pair' : 'after array element');
      at.position += 1;
      open.pop();
    }
  }
}

function key(at: Cursor, where: string): void {
  if (at.text[at.position] !== '"') fail(at, where);
  string(at);
  space(at);
  if (at.text[at.position] !== ':') fail(at, 'after object key');
  at.position += 1;
}

function scalar(at: Cursor): void {
  const char = at.text[at.position] ?? '';
  const word = ['true', 'false', 'null'].find((one) => one[0] === char);
  if (char === '"') string(at);
  else if (word !== undefined) literal(at, word);
  else if (char === '-' || /\d/.test(char)) number(at);
  else fail(at, 'looking for beginning of value');
}

function literal(at: Cursor, word: string): void {
  for (const letter of word) {
    if (at.text[at.position] !== letter) fail(at, `in literal ${word} (expecting '${letter}')`);
    at.position += 1;
  }
}

function number(at: Cursor): void {
  const digits = (where: string): void => {
    if (!/\d/.test(at.text[at.position] ?? '')) fail(at, where);
    while (/\d/.test(at.text[at.position] ?? '')) at.position += 1;
  };
  if (at.text[at.position] === '-') at.position += 1;
  if (at.text[at.position] === '0') at.position += 1;
  else digits('in numeric literal');
  if (at.text[at.position] === '.') {
    at.position += 1;
    digits('after decimal point in numeric literal');
  }
  if (/[eE]/.test(at.text[at.position] ?? '')) {
    at.position += 1;
    if (/[+-]/.test(at.text[at.position] ?? '')) at.position += 1;
    digits('in exponent of numeric literal');
  }
}

function string(at: Cursor): void {
  at.position += 1;
  for (;;) {
    const char = at.text[at.position];
    if (char === undefined || char < ' ') fail(at, 'in string literal');
    at.position += 1;
    if (char === '"') return;
    if (char !== '\\') continue;
    const escaped = at.text[at.position] ?? '';
    if (escaped === '' || !/["\\/bfnrtu]/.test(escaped)) fail(at, 'in string escape code');
    at.position += 1;
    if (escaped !== 'u') continue;
    for (let digit = 0; digit < 4; digit += 1) {
      if (!/[0-9A-Fa-f]/.test(at.text[at.position] ?? '')) fail(at, 'in \\u hexadecimal character escape');
      at.position += 1;
    }
  }
}
