/** Characters of markup, as bytes of any encoding that XML of vCenter comes in. */
export const LT = 0x3c;
export const GT = 0x3e;
export const SLASH = 0x2f;
export const BANG = 0x21;
export const QUESTION = 0x3f;
const QUOTE = 0x22;
const APOSTROPHE = 0x27;
const COLON = 0x3a;
const AMPERSAND = 0x26;

/** Offset behind the `>` that ends the tag at `from`; -1: it is not before `end`. A `>` inside an attribute value does not count. */
export function tagEnd(bytes: Uint8Array, from: number, end: number): number {
  let at = from + 1;
  // Of most tags that is all: a name, or one with a slash before it. Inside the array there is always a byte.
  while (at < end && isNameByte(bytes[at] as number)) at += 1;
  for (; at < end; at += 1) {
    const byte = bytes[at] as number;
    if (byte === GT) return at + 1;
    if (byte !== QUOTE && byte !== APOSTROPHE) continue;
    at += 1;
    while (at < end && bytes[at] !== byte) at += 1;
  }
  return -1;
}

/** Offset behind the closing tag at `from`, which has no attributes in which its `>` could be text; -1: it is not before `end`. */
export function endTagEnd(bytes: Uint8Array, from: number, end: number): number {
  let at = from + 2;
  while (at < end && bytes[at] !== GT) at += 1;
  return at < end ? at + 1 : -1;
}

/** Letters and digits, the slash of a closing tag, the colon of a prefix; nothing that means something in a tag. */
function isNameByte(byte: number): boolean {
  return byte > GT || (byte >= SLASH && byte <= COLON);
}

/** Offset behind the name that starts at `from`. */
export function nameEnd(bytes: Uint8Array, from: number): number {
  let at = from;
  for (;;) {
    const byte = bytes[at];
    if (byte === undefined || byte === GT || byte === SLASH || byte <= 0x20) return at;
    at += 1;
  }
}

/** Where the name at `from..end` starts behind its prefix. */
export function localName(bytes: Uint8Array, from: number, end: number): number {
  for (let at = from; at < end; at += 1) if (bytes[at] === COLON) return at + 1;
  return from;
}

/** Whether `from..to` holds these bytes. */
export function holds(bytes: Uint8Array, from: number, to: number, wanted: Uint8Array): boolean {
  const { length } = wanted;
  if (length !== to - from) return false;
  for (let at = 0; at < length; at += 1) if (wanted[at] !== bytes[from + at]) return false;
  return true;
}

/**
 * Calls back with the bounds of each child element of an element, and where its content starts, in its bytes, until it is told to stop by `false`. Answers `false` then, and where there is
 * something in it that only a real parser should judge (a comment, CDATA, text between the children); nothing that was said before counts.
 */
export function eachChild(bytes: Uint8Array, child: (from: number, to: number, content: number) => boolean): boolean {
  const { length } = bytes;
  let depth = 0;
  let start = 0;
  let content = 0;
  for (let at = 0; at < length; ) {
    if (bytes[at] !== LT) {
      if (depth === 1 && !isSpace(bytes[at])) return false;
      at += 1;
      if (depth > 1) while (at < length && bytes[at] !== LT) at += 1;
      continue;
    }
    const next = bytes[at + 1];
    if (next === BANG || next === QUESTION) return false;
    if (next === SLASH) {
      at = endTagEnd(bytes, at, length);
      if (at < 0) return false;
      depth -= 1;
      if (depth === 1 && !child(start, at, content)) return false;
    } else {
      const end = tagEnd(bytes, at, length);
      if (end < 0) return false;
      if (depth === 1) {
        start = at;
        content = end;
      }
      if (bytes[end - 2] === SLASH) {
        if (depth === 1 && !child(start, end, content)) return false;
      } else depth += 1;
      at = end;
    }
    if (depth === 0) return at === length;
  }
  return false;
}

/** Where a text lies in some bytes; kept, so that nobody makes an object for each. */
export class TextRange {
  from = 0;
  to = 0;

  /** Finds the text of the first element of this local name in the content `from..to`; `false`: there is none, or it is no plain text. */
  find(bytes: Uint8Array, from: number, to: number, name: Uint8Array): boolean {
    for (let at = from; at < to; at += 1) {
      if (bytes[at] !== LT) continue;
      const behind = nameEnd(bytes, at + 1);
      if (!holds(bytes, localName(bytes, at + 1, behind), behind, name)) continue;
      const open = tagEnd(bytes, at, to);
      if (open < 0) return false;
      this.from = open;
      this.to = open;
      // Of an empty element that is all.
      if (bytes[open - 2] === SLASH) return true;
      while (this.to < to && bytes[this.to] !== LT) {
        // An entity: for the real parser.
        if (bytes[this.to] === AMPERSAND) return false;
        this.to += 1;
      }
      return bytes[this.to + 1] === SLASH;
    }
    return false;
  }
}

/** Space as XML has it. */
export function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}
