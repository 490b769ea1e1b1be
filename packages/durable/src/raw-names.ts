/** Bytes from here on become the lone surrogates U+DC80 to U+DCFF, which no text holds. */
const ESCAPE = 0xdc00;

/**
 * The text of a name as the kernel has it. A name is bytes: what is not UTF-8 travels through this package as lone surrogates (as Python's surrogateescape
 * does it), so that a foreign file can be looked at and removed like any other.
 */
export function textOfName(name: Buffer): string {
  const text = name.toString('utf8');
  if (!text.includes('\ufffd') || Buffer.from(text).equals(name)) return text;
  return Array.from(name, (byte) => String.fromCharCode(byte < 0x80 ? byte : ESCAPE + byte)).join('');
}

/** A path for the kernel: text as it is, or bytes where a part of it came from {@link textOfName} and is not UTF-8. */
export function rawPath(path: string): string | Buffer {
  if (path.isWellFormed()) return path;
  const parts = Array.from(path, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return code >= ESCAPE + 0x80 && code <= ESCAPE + 0xff ? Buffer.of(code - ESCAPE) : Buffer.from(character);
  });
  return Buffer.concat(parts);
}
