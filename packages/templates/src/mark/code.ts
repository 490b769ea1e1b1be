import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto';
import type { MarkKeys } from './keys.ts';

/** What a code is about: the kind of statement, then its fields in order. JSON keeps the fields apart, so two subjects never have one text. */
export type CodeSubject = readonly (string | number)[];

/** What a code is worth. `gone`: no key that is known here made it, which may mean a lost key or a forger. */
export type CodeReading = 'current' | 'older' | 'gone' | 'absent';

/** `<key id>:<base64url of the HMAC-SHA256>`; undefined where there is no current key. */
export function codeOf({ current }: MarkKeys, subject: CodeSubject): string | undefined {
  return current === undefined ? undefined : `${current.id}:${macOf(current.key, subject).toString('base64url')}`;
}

/** Compares in constant time. */
export function checkCode({ known, current }: MarkKeys, code: string | undefined, subject: CodeSubject): CodeReading {
  if (code === undefined || code === '') return 'absent';
  const [, id = '', mac = ''] = /^([a-z0-9-]{1,32}):([\w-]{43})$/.exec(code) ?? [];
  const key = known.get(id);
  if (key === undefined) return 'gone';
  const given = Buffer.from(mac, 'base64url');
  const right = macOf(key, subject);
  if (given.length !== right.length || !timingSafeEqual(given, right)) return 'gone';
  return id === current?.id ? 'current' : 'older';
}

function macOf(key: KeyObject, subject: CodeSubject): Buffer {
  return createHmac('sha256', key).update(JSON.stringify(subject)).digest();
}
