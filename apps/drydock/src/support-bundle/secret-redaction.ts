/**
 * The one redactor of a support bundle: takes what may be secret out of a text that somebody else wrote. Fields that are known are chosen by name
 * (`fields.ts`); this is for the texts in them, in which anybody may have put anything.
 *
 * It keeps no list of secrets. It removes the values of names that announce one (`named-values.ts`), users and queries of addresses, and each word that could
 * be a key (`opaque-words.ts`). When in doubt, the text goes: up to the end of its line, or of all of it. Each step takes linear time.
 */
import { shortText } from '@drydock/api/text';
import { withoutNamedValues } from './named-values.ts';
import { withoutOpaqueWords } from './opaque-words.ts';
import { secretExtent } from './secret-names.ts';

const GONE = '***';
/** Characters that are read, and that are kept. What is cut before it is read could leave half a secret. */
const MOST_READ = 16_384;
const MOST_KEPT = 2_000;
const STEPS = [withoutEscapes, withoutKeyFiles, withoutElements, withoutLogins, withoutNamedValues, withoutOpaqueWords];

/** A text of somebody else, shortened, without what may be secret in it. */
export function redacted(text: string): string {
  return shortText(
    STEPS.reduce((left, step) => step(left), beginning(text)),
    MOST_KEPT,
  );
}

/** Without the word in which it is cut. */
function beginning(text: string): string {
  if (text.length <= MOST_READ) return text;
  const read = text.slice(0, MOST_READ);
  return `${read.slice(0, Math.max(0, read.lastIndexOf(' '), read.lastIndexOf('\n')))}…`;
}

/** Letters and signs that JSON escaped without need, by which a name or a quote would not be seen. */
function withoutEscapes(text: string): string {
  return text.replaceAll(/\\{1,64}u00([2-7][0-9a-f])/gi, (_all, code: string) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  );
}

/** Keys and certificates in PEM, whole or cut at either end. */
function withoutKeyFiles(text: string): string {
  const [head = '', ...blocks] = text.split('-----BEGIN');
  const behind = (block: string): string => {
    const end = block.lastIndexOf('-----END');
    return end < 0 ? GONE : `${GONE}${block.slice(end + 8).replace(/^[A-Z0-9 ]*(?:-----)?/, '')}`;
  };
  return [head.includes('-----END') ? behind(head) : head, ...blocks.map(behind)].join('');
}

const [OPEN, CLOSE] = ['(?:<|&lt;)', '(?:>|&gt;)'];

/** The contents of XML elements with secret names, also where the XML is escaped. */
function withoutElements(text: string): string {
  const begin = new RegExp(`${OPEN}(?:[\\w-]{1,60}:)?([\\w.-]{1,128})(?:\\s[^<>&]{0,300}?)?${CLOSE}`, 'gi');
  const end = new RegExp(`${OPEN}/`, 'gi');
  const kept: string[] = [];
  let at = 0;
  for (const { 0: tag, 1: name = '', index } of text.matchAll(begin)) {
    if (index < at || secretExtent(name) === undefined) continue;
    end.lastIndex = index + tag.length;
    kept.push(text.slice(at, end.lastIndex), GONE);
    at = end.exec(text)?.index ?? text.length;
  }
  return `${kept.join('')}${text.slice(at)}`;
}

/** Users and queries of addresses, with a scheme (`https://user:password@host/path?query`) and without (`user:password@host`). */
function withoutLogins(text: string): string {
  const words = text.replaceAll(/[^\s"<>]+/g, (word) => {
    const scheme = word.indexOf('://');
    const query = word.search(/[?#]/);
    const given = query >= 0 && (word.includes('=', query) || (scheme >= 0 && word[query] === '?'));
    return withoutUser(given ? `${word.slice(0, query + 1)}${GONE}` : word, scheme < 0 ? 0 : scheme + 3);
  });
  // A password with a blank in it.
  return words.replaceAll(/:\/\/[^\s/:@"*]{0,256}:(?!\d{1,5}(?:[\s/?#,;:.)\]']|$))[^\n"]{1,256}@/g, `://${GONE}@`);
}

function withoutUser(address: string, start: number): string {
  // `image:tag@sha256:…` names nobody.
  const named = address.replaceAll(/@sha(?:256|512):[0-9a-f]{64,128}/g, (digest) => '.'.repeat(digest.length));
  const at = named.lastIndexOf('@');
  const user = named.slice(start, Math.max(start, at));
  // An account such as administrator@vsphere.local, or an @ in a path.
  const harmless = start === 0 ? !user.includes(':') : /^[^:]*\/[^:]*$/.test(user);
  return at < start || harmless ? address : `${address.slice(0, start)}${GONE}${address.slice(at)}`;
}
