// Where a value ends in the notations that people and programs write. Each answer is a place in the text; when in doubt, a later one.

/** Schemes of an Authorization header, and what people write in front of a token. */
const SCHEME = /^(?:bearer|basic|digest|negotiate|ntlm|jwt|token|key)$/i;

/** Where a sticky pattern that matches at a place ends; undefined where it does not match. */
export function endOf(pattern: RegExp, text: string, at: number): number | undefined {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : undefined;
}

/** Where it ends, or the place itself. */
export function skip(pattern: RegExp, text: string, at: number): number {
  return endOf(pattern, text, at) ?? at;
}

function endOfLine(text: string, at: number): number {
  const end = text.indexOf('\n', at);
  return end < 0 ? text.length : end;
}

/** The end of a line and of those that belong to it: indented further than its name, or items of a list under it. */
export function endOfLines(text: string, at: number, indent: number): number {
  let end = endOfLine(text, at);
  const rest = text.slice(at, end);
  // A quote that begins here ends on a later line.
  if (rest.split('"').length % 2 === 0) return text.length;
  const empty = /^\s*$|:\s*$/.test(rest);
  for (let taken = 0; end < text.length; taken += 1) {
    const line = text.slice(end + 1, endOfLine(text, end + 1));
    const deep = line.length - line.trimStart().length;
    const more = line.trim() === '' || deep > indent || (empty && deep >= indent && line.trimStart().startsWith('- '));
    // What was asked for at a prompt comes on the next line.
    const answer = empty && taken === 0 && !/^\s*[\w.-]+\s*[:=]/.test(line);
    if (!more && !answer) break;
    end += 1 + line.length;
  }
  return end;
}

/**
 * The end of a text in quotes, from its first quote or the backslashes before it. In JSON in JSON, each level doubles the backslashes before a quote and adds
 * one, so that a quote of the same level has as many as the first, or as many more as a multiple of what a backslash has become.
 */
export function endOfQuoted(text: string, at: number): number {
  const open = skip(/\\*/y, text, at);
  const [level, quote = '"'] = [open - at, text[open]];
  const marks = new RegExp(`\\\\{0,64}${quote}`, 'g');
  marks.lastIndex = open + 1;
  for (let found = marks.exec(text); found !== null; found = marks.exec(text)) {
    if ((found[0].length - 1) % (2 * (level + 1)) !== level) continue;
    const mark = text.slice(at, open + 1);
    // `'it''s'` of YAML, `'it'\''s'` of a shell.
    if (text.startsWith(mark, marks.lastIndex)) marks.lastIndex += mark.length;
    else if (quote === "'" && endOf(/\\+''/y, text, marks.lastIndex) !== undefined)
      marks.lastIndex = skip(/\\+''/y, text, marks.lastIndex);
    else return skip(/[^\s,;)}\]&<>"'`\\:]*/y, text, marks.lastIndex);
  }
  return text.length;
}

/** The end of a word: at a blank or a quote that is in no brackets of it. A scheme of a header has a second word. */
export function endOfWord(text: string, start: number): number {
  let at = start;
  for (let deep = 0; at < text.length; at += 1) {
    const sign = text[at] ?? '';
    if ('[{('.includes(sign)) deep += 1;
    else if (')}]'.includes(sign)) deep -= 1;
    else if (deep > 0 && (/["`]/.test(sign) || (sign === "'" && /[[{(,:=\s]/.test(text[at - 1] ?? '')))) {
      let open = at;
      while (text[open - 1] === '\\') open -= 1;
      at = endOfQuoted(text, open) - 1;
    } else if (deep <= 0 && /[\s"'`]/.test(sign)) break;
    if (deep <= 0 && ')}]'.includes(sign) && '[{('.includes(text[start] ?? ' ')) {
      at += 1;
      break;
    }
  }
  if (!SCHEME.test(text.slice(start, Math.min(at, start + 16)))) return at;
  return skip(/\s+[^\s"'`]*/y, text, at);
}
