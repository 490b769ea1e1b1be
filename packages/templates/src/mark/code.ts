import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto';
import type { MarkKeys } from './keys.ts';

/** What a code is about: the kind of statement, then its fields in order. JSON keeps the fields apart, so two subjects never have one text. */
export type CodeSubject = readonly (string | number)[];

/**
 * What a code is worth. `current`: the current key made it. `older`: another key at hand made it, or the current one under an earlier id. `gone`: none of the keys at hand made it, which may mean a lost
 * key or a forger: an earlier id may have been given to another key since. `absent`: there is none.
 */
export type CodeReading = 'current' | 'older' | 'gone' | 'absent';

/** `<key id>:<base64url of the HMAC-SHA256>`; undefined where there is no current key. */
export function codeOf({ current }: MarkKeys, subject: CodeSubject): string | undefined {
  return current === undefined ? undefined : `${current.id}:${macOf(current.key, subject).toString('base64url')}`;
}

/** Checks a code by every key; its id only says which one to try first, because an earlier id was a name that another key may have now. Compares in constant time. */
export function checkCode({ known, current }: MarkKeys, code: string | undefined, subject: CodeSubject): CodeReading {
  if (code === undefined || code === '') return 'absent';
  const [, id = '', mac = ''] = /^([a-z0-9-]{1,32}):([\w-]{43})$/.exec(code) ?? [];
  const given = Buffer.from(mac, 'base64url');
  for (const key of new Set([known.get(id), ...known.values()])) {
    if (key === undefined) continue;
    const right = macOf(key, subject);
    if (given.length !== right.length || !timingSafeEqual(given, right)) continue;
    return key === current?.key && id === current.id ? 'current' : 'older';
  }
  return 'gone';
}

function macOf(key: KeyObject, subject: CodeSubject): Buffer {
  return createHmac('sha256', key).update(JSON.stringify(subject)).digest();
}
