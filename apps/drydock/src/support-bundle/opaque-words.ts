const UUID = /[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}/gi;
/** Ids of clouds that say nothing more than which one: `ami-0123456789abcdef0`. */
const CLOUD_ID = /\b(?:acl|ami|eni|i|igw|lt|rtb|sg|snap|subnet|vol|vpc)-[0-9a-f]{8}(?:[0-9a-f]{9})?\b/g;
const TIME = /\b\d{8}T\d{4,6}Z?\b/g;
const LICENSE = /\b(?:[A-Z0-9]{5}-){4}[A-Z0-9]{5}\b/;
/** Tokens that say what they are; some of them consist of nothing but short words. */
const ISSUED =
  /(?:^|[^A-Za-z0-9])(?:A(?:KIA|SIA|IDA|ROA|GPA|NPA|NVA|IPA)[A-Z0-9]{12}|AIza|xox[a-z]-|xapp-|[srp]k_(?:live|test)_|whsec_|gh[pousr]_|github_pat_|glpat-|hvs\.|SG\.|ya29\.|eyJ)[\w-]{4}/;
/** Shorter words can be anything, such as names and numbers. */
const LEAST = 16;

/** `sha256` in front of a word or of a part of it: what comes next is a digest. */
const DIGEST_NAME = /(?:^|[^A-Za-z0-9])sha(?:256|512)$/i;
const DIGEST = /^(?:[0-9a-f]{64}|[0-9a-f]{128})$/i;

/**
 * Replaces words that could be keys: of 16 characters or more with a part that is no word, number, id, time or digest. What such words hide cannot be
 * told by how they look (a session, a key and a checksum are all hex), so that each that is not known to be harmless goes. Linear.
 */
export function withoutOpaqueWords(text: string): string {
  // Lines of one base64 text: the last one is short.
  let end = -1;
  return text.replaceAll(/(?:[A-Za-z0-9_+/=.~%-]|\\{1,64}\/)+/g, (word, at: number) => {
    const between = end < 0 ? '' : text.slice(end, at);
    const goesOn =
      /^[\w+/=]+[.,]?$/.test(word) &&
      (/^[ \t]*\r?\n[ \t]*$/.test(between) || (/^\\+$/.test(between) && /^[rn]/.test(word)));
    if (!goesOn && !isOpaque(word, text.slice(Math.max(0, at - 8), at))) {
      end = -1;
      return word;
    }
    end = at + word.length;
    return '***';
  });
}

function isOpaque(word: string, before: string): boolean {
  if (ISSUED.test(word) || LICENSE.test(word)) return true;
  // Base64 is padded at its end; `name=` is not.
  const padded = word.endsWith('.') ? word.slice(0, -1) : word;
  if (padded.length >= 8 && padded.length % 4 === 0 && /=$/.test(padded) && /[a-z]/.test(word) && /[A-Z]/.test(word))
    return true;
  if (word.length < LEAST) return false;
  const parts = word
    .replaceAll(UUID, '-')
    .replaceAll(CLOUD_ID, '-')
    .replaceAll(TIME, '-')
    .split(/[^A-Za-z0-9]+/);
  return parts.some((part, at) => {
    if (!DIGEST.test(part)) return !isWord(part);
    const named = at === 0 || parts[at - 1] === '' ? before.replace(/[:= ]$/, '') : (parts[at - 1] ?? '');
    return !DIGEST_NAME.test(named);
  });
}

const CAMEL = /^(?:[a-z]{2,})?(?:[A-Z]{1,5}[a-z]{2,}|By|I[dnps]|No|O[fns]|To)*(?:[A-Z]{2,4})?\d{0,4}$/;

/** A word, a name or a number as people and programs give them. */
function isWord(part: string): boolean {
  if (part.length <= 4 || /^\d{1,20}$/.test(part)) return true;
  if (/^[a-z0-9]{1,12}$|^[A-Z0-9]{1,8}$/.test(part)) return true;
  if (/^(?:[a-z]{1,34}|[A-Z]{1,20})$/.test(part)) return !/[bcdfghjklmnpqrstvwxz]{6}/i.test(part);
  // Camel case, with numbers at the end alone.
  return part.length <= 48 && CAMEL.test(part) && !/[bcdfghjklmnpqrstvwxz]{6}/.test(part);
}
