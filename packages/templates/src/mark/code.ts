import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto';
import type { MarkKeys } from './keys.ts';

/** What a keyed code is about. It is worth nothing on a machine with another instance UUID, and vCenter gives each its own. */
export interface CodeSubject {
  readonly owner: string;
  readonly operation: string;
  readonly digest: string;
  readonly instanceUuid: string;
}

/**
 * What a code is worth. `current`: the current key made it. `older`: another key at hand made it, or the current one under an earlier id. `gone`: none of the keys at hand made
 * it, so its key is gone or not known here, or it was forged: an earlier id may have been given to another key since, so that nobody can tell which. `absent`: there is none.
 */
export type CodeReading = 'current' | 'older' | 'gone' | 'absent';

/** `<key id>:<base64url of the HMAC-SHA256>`; undefined where there is no current key. */
export function codeOf({ current }: MarkKeys, subject: CodeSubject): string | undefined {
  return current === undefined ? undefined : `${current.id}:${macOf(current.key, subject).toString('base64url')}`;
}

/** Checks a code by every key, its id only says by which one first: an earlier id was a name that a key may have changed. Compares in constant time. */
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

/** Two subjects never have one text: JSON keeps the fields apart. */
function macOf(key: KeyObject, { owner, operation, digest, instanceUuid }: CodeSubject): Buffer {
  const text = JSON.stringify(['drydock.mark/1', owner, operation, digest, instanceUuid.toLowerCase()]);
  return createHmac('sha256', key).update(text).digest();
}
