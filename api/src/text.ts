/** Controls of a terminal, line ends, and what nobody sees but what changes what is seen: marks of direction, joiners, tags. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu;
/** The same, but for the line ends and the colours of our own. */
const UNPRINTABLE_IN_LINES = new RegExp(
  `(${String.fromCharCode(27)}\\[(?:0|2|22|3[0-9])m|\\n)|[\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}]`,
  'gu',
);

/** Text from elsewhere on one line: it moves no cursor, forges no row, and turns nothing around. Linear. */
export function oneLine(text: string): string {
  return text.replaceAll(UNPRINTABLE, ' ').trim();
}

/** What no name can have, and no XML can carry: controls, line ends, halves of characters. */
const UNNAMEABLE = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\ufffe\uffff]/u;

/** What stands against a text as a name, or as a path of names, in another system, as a clause; undefined where nothing does. `most`: so many UTF-16 units at most. */
export function nameFault(text: string, most: number): string | undefined {
  if (text.length > most) return `has ${text.length} characters, of which at most ${most} can be a name`;
  const at = text.search(UNNAMEABLE);
  if (at < 0) return undefined;
  const code = (text.codePointAt(at) ?? 0).toString(16).toUpperCase().padStart(4, '0');
  return `has a character that no name can have (U+${code}, the ${at + 1}. of it)`;
}

/** The beginning of a text that may be of any length, with how long it was. */
export function shortText(text: string, most: number): string {
  if (text.length <= most) return text;
  const end = most - (/[\ud800-\udbff]/.test(text[most - 1] ?? '') ? 1 : 0);
  return `${text.slice(0, end)}… (${text.length} characters)`;
}

/** So many characters of one text from elsewhere stand in a message. */
const MOST_SHOWN = 200;

/** A name or a word from elsewhere as it may stand in a message: on one line, and no longer than what a person reads. */
export function shownText(text: string): string {
  return oneLine(shortText(text, MOST_SHOWN));
}

/** So much of what another program says stands in a message. */
const MOST_QUOTED = 2_000;

/**
 * What another program says, marked as its words: on one line, in quotes that nothing inside can end. So it forges no line of ours and no next step, however
 * it is worded. Messages of errors quote with this and with nothing else.
 */
export function quotedText(text: string, most: number = MOST_QUOTED): string {
  return `“${oneLine(shortText(text, most)).replaceAll(/[“”]/g, '"')}”`;
}

/** A word of another program as it is, such as a code or a name; more than a word is quoted. */
export function quotedPhrase(text: string): string {
  return /^[\w.:/@+-]{0,200}$/.test(text) ? text : quotedText(text, MOST_SHOWN);
}

/** A value that should be one word, such as a kind, in a message. What is none is not shown: it may be a line that lost its end, with anything in it. */
export function wordText(value: unknown): string {
  return typeof value === 'string' && /^\w{1,60}$/.test(value) ? value : '(no word)';
}

/** What a program prints of its own, with texts from elsewhere in it: lines and colours stay, everything else that a terminal would obey goes. Linear. */
export function printable(text: string): string {
  return text.replaceAll(UNPRINTABLE_IN_LINES, (_found, own: string | undefined) => own ?? ' ');
}

/** JSON, or a text in double quotes of YAML, without a character that a terminal would obey: escaped, so that it still says the same. */
export function escapedText(text: string): string {
  return text.replaceAll(/[\u007f-\u009f\p{Cf}\p{Zl}\p{Zp}]/gu, (found) =>
    found
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  );
}

/** A value as JSON for a terminal as well as for a program. */
export function jsonText(value: unknown, indent?: number): string {
  return escapedText(JSON.stringify(value, undefined, indent));
}

/**
 * An address for a message: user, password and query may be secrets. What cannot be read as an address is not shown at all, because nobody knows where in it a
 * password ends.
 */
export function addressText(address: string): string {
  const url = URL.parse(address);
  // `user:password@host` is read as a scheme and a path.
  if (url === null || (url.host === '' && url.protocol !== 'file:')) return 'an address that cannot be read';
  return `${url.protocol}//${url.host}${url.pathname}`;
}

const SCHEME = /\b[a-z][a-z0-9+.-]{0,30}:\/\//gi;

/**
 * A text with addresses in it, without what may be secret: `***` in place of users and of queries (signed addresses have their signature there). An address ends
 * at a blank.
 */
export function withoutSecrets(text: string): string {
  return text.replaceAll(/\S+/g, (word) => addressesIn(word));
}

/** The same for one word, as of a command line, which may be any text: too much is taken away rather than too little. */
export function wordWithoutSecrets(word: string): string {
  const [first = word.length] = [...word.matchAll(SCHEME)].map(({ index }) => index);
  const before = word.slice(0, first);
  // `user:password@host` without a scheme, as govc takes it.
  const [at, colon, slash] = [before.lastIndexOf('@'), before.indexOf(':'), before.search(/[\s/]/)];
  const named = colon >= 0 && colon < at && (slash < 0 || slash > colon);
  return `${named ? `***${before.slice(at)}` : before}${addressesIn(word.slice(first))}`;
}

function addressesIn(word: string): string {
  const starts = [...word.matchAll(SCHEME)].map(({ index }) => index);
  const parts = starts.map((start, at) => withoutSecret(word.slice(start, starts[at + 1] ?? word.length)));
  return [word.slice(0, starts[0] ?? word.length), ...parts].join('');
}

function withoutSecret(address: string): string {
  const start = address.indexOf('://') + 3;
  const rest = address.slice(start);
  const at = rest.lastIndexOf('@');
  const path = rest.search(/[/?#]/);
  // An @ in the path of an address that nobody's name stands in front of.
  const plain = at >= 0 && path >= 0 && path < at && !rest.slice(0, path).includes(':');
  const shown = at < 0 || plain ? rest : `***${rest.slice(at)}`;
  return `${address.slice(0, start)}${shown.replace(/\?[^'"]*/, '?***')}`;
}

/** All of an error for whoever debugs: it and its causes with their traces, but none of their properties, which may hold headers, addresses and texts of files. */
export function debugText(error: unknown): string {
  const said: string[] = [];
  for (let at = error, depth = 0; at instanceof Error && depth < 8; at = at.cause, depth += 1) {
    const { code } = at as { readonly code?: unknown };
    said.push(
      `${depth === 0 ? '' : 'caused by '}${at.stack ?? at.message}${typeof code === 'string' ? ` (${code})` : ''}`,
    );
  }
  return said.map(withoutSecretsInLines).join('\n');
}

/** An error for a log: its name, code and message with those of its causes, and its trace. None of its other properties, and no address with a secret. */
export function loggedError(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const { code } = error as { readonly code?: unknown };
  const said: string[] = [];
  for (let at: unknown = error, depth = 0; at instanceof Error && depth < 8; at = at.cause, depth += 1) {
    const { message } = at;
    // Some have the words of their cause in their own.
    if (!said.some((before) => before.includes(message))) said.push(message);
  }
  return {
    type: error.name,
    ...(typeof code === 'string' ? { code } : {}),
    message: withoutSecrets(said.join(': ')),
    stack: debugText(error),
  };
}

function withoutSecretsInLines(text: string): string {
  // Own frames are addresses, too: `file:///…/main.ts:12:3`.
  return text
    .split('\n')
    .map((line) => (/^\s+at /.test(line) ? line : withoutSecrets(line)))
    .join('\n');
}
