import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto';
import type { MarkKeys } from './keys.ts';

/** What a keyed code is about. It is worth nothing on a machine with another instance UUID, and vCenter gives each its own. */
export interface CodeSubject {
  readonly owner: string;
  readonly operation: string;
  readonly digest: string;
  readonly instanceUuid: string;
}

/** What a code is worth: made by a key that is known (and whether by the current one), by one that is not, by none of them, or not there. */
export type CodeReading = 'current' | 'older' | 'unknown key' | 'false' | 'absent';

/** `<key id>:<base64url of the HMAC-SHA256>`; undefined where there is no current key. */
export function codeOf({ current }: MarkKeys, subject: CodeSubject): string | undefined {
  return current === undefined ? undefined : `${current.id}:${macOf(current.key, subject).toString('base64url')}`;
}

/** Compares in constant time. Nothing of a code is believed but what it proves. */
export function checkCode({ known, current }: MarkKeys, code: string | undefined, subject: CodeSubject): CodeReading {
  if (code === undefined || code === '') return 'absent';
  const [, id = '', mac = ''] = /^([a-z0-9-]{1,32}):([\w-]{43})$/.exec(code) ?? [];
  if (mac === '') return 'false';
  const key = known.get(id);
  if (key === undefined) return 'unknown key';
  const given = Buffer.from(mac, 'base64url');
  const right = macOf(key, subject);
  if (given.length !== right.length || !timingSafeEqual(given, right)) return 'false';
  return id === current?.id ? 'current' : 'older';
}

/** Two subjects never have one text: JSON keeps the fields apart. */
function macOf(key: KeyObject, { owner, operation, digest, instanceUuid }: CodeSubject): Buffer {
  const text = JSON.stringify(['drydock.mark/1', owner, operation, digest, instanceUuid.toLowerCase()]);
  return createHmac('sha256', key).update(text).digest();
}
