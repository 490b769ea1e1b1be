const LT = 0x3c;
const GT = 0x3e;
const SLASH = 0x2f;
const BANG = 0x21;
const QUESTION = 0x3f;
const QUOTE = 0x22;
const APOSTROPHE = 0x27;
const COLON = 0x3a;

/**
 * Calls back with the bounds of each child element of an element, and where its content starts, in its bytes, until it is told to stop by `false`. Answers `false` then, and where there is something in it that
 * only a real parser should judge (a comment, CDATA, text between the children); nothing that was said before counts.
 */
export function eachChild(bytes: Uint8Array, child: (from: number, to: number, content: number) => boolean): boolean {
  let depth = 0;
  let start = 0;
  let content = 0;
  for (let at = 0; at < bytes.length; ) {
    if (bytes[at] !== LT) {
      if (depth === 1 && !isSpace(bytes[at])) return false;
      at += 1;
      continue;
    }
    const next = bytes[at + 1];
    if (next === BANG || next === QUESTION) return false;
    const end = tagEnd(bytes, at);
    if (end < 0) return false;
    if (next === SLASH) {
      depth -= 1;
      if (depth === 1 && !child(start, end, content)) return false;
    } else {
      if (depth === 1) {
        start = at;
        content = end;
      }
      if (bytes[end - 2] === SLASH) {
        if (depth === 1 && !child(start, end, content)) return false;
      } else depth += 1;
    }
    at = end;
    if (depth === 0) return at === bytes.length;
  }
  return false;
}

/** Where a text lies in some bytes. */
export class TextRange {
  from = 0;
  to = 0;

  /** Finds the text of the child element of this local name in the content `from..to`; `false`: there is none, or it is no plain text. */
  find(bytes: Uint8Array, from: number, to: number, name: string): boolean {
    for (let at = from; at < to; at += 1) {
      if (bytes[at] !== LT || !isNamed(bytes, at + 1, name)) continue;
      const open = tagEnd(bytes, at);
      if (open < 0 || open > to) return false;
      this.from = open;
      let end = open;
      // Of an empty element that is all.
      while (bytes[open - 2] !== SLASH && end < to && bytes[end] !== LT) {
        // An entity: for the real parser.
        if (bytes[end] === 0x26) return false;
        end += 1;
      }
      this.to = end;
      return bytes[open - 2] === SLASH || bytes[end + 1] === SLASH;
    }
    return false;
  }
}

function isNamed(bytes: Uint8Array, from: number, name: string): boolean {
  let start = from;
  for (let at = from; ; at += 1) {
    const byte = bytes[at];
    if (byte === COLON) start = at + 1;
    else if (byte === undefined || byte === GT || byte === SLASH || isSpace(byte)) {
      if (at - start !== name.length) return false;
      for (let n = 0; n < name.length; n += 1) if (bytes[start + n] !== name.charCodeAt(n)) return false;
      return true;
    }
  }
}

function tagEnd(bytes: Uint8Array, from: number): number {
  for (let at = from + 1; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? 0;
    // Letters, nearly always.
    if (byte > GT) continue;
    if (byte === GT) return at + 1;
    if (byte !== QUOTE && byte !== APOSTROPHE) continue;
    at += 1;
    while (at < bytes.length && bytes[at] !== byte) at += 1;
  }
  return -1;
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}
