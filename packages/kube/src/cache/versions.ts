/**
 * Which of two resourceVersions is newer: negative, 0 or positive as in a sort. Undefined where one is absent or no decimal number; then
 * nothing is known. Versions of one resource are comparable numbers (KEP-5504), of any length.
 */
export function compareVersions(a: string | undefined, b: string | undefined): number | undefined {
  if (a === undefined || b === undefined || !isDecimal(a) || !isDecimal(b)) return undefined;
  if (a.length !== b.length) return a.length - b.length;
  return a === b ? 0 : a < b ? -1 : 1;
}

function isDecimal(text: string): boolean {
  for (let at = 0; at < text.length; at++) {
    const digit = text.charCodeAt(at);
    if (digit < 48 || digit > 57) return false;
  }
  return text !== '';
}
