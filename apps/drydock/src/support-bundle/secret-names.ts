/**
 * How much of a text a name makes secret. `line`: everything up to the end of the line, whatever it is quoted with. `phrase`: a value that may have blanks in
 * it, such as a password. `word`: a value without blanks, such as a token.
 */
export type SecretExtent = 'line' | 'phrase' | 'word';

const LINES = ['authorization', 'cookie', 'cookies'];
const PHRASES = [
  ...['password', 'passwords', 'passwd', 'passphrase', 'passcode', 'pwd', 'secret', 'secrets'],
  ...['credential', 'credentials', 'creds', 'stringdata', 'userdata', 'kubeconfig', 'dockerconfigjson'],
];
const WORDS = [
  ...['token', 'tokens', 'apikey', 'accesskey', 'secretkey', 'privatekey', 'accountkey', 'sharedkey', 'signingkey'],
  ...['encryptionkey', 'licensekey', 'sshkey', 'authkey', 'sessionid', 'sessid', 'signature', 'oauth', 'bearer', 'jwt'],
];
/** Words that end others (`PGPASSWORD`, `jsessionid`), by how much they make secret. */
const ENDINGS: readonly (readonly [SecretExtent, readonly string[]])[] = [
  ['line', LINES],
  ['phrase', PHRASES],
  ['word', WORDS],
];
/** Words that are secret only where they stand alone: `pass`, but not `compass`. */
const WHOLE: ReadonlyMap<string, SecretExtent> = new Map([
  ...['pass', 'pw', 'bindpw'].map((word) => [word, 'phrase'] as const),
  ...['auth', 'session', 'sid', 'sig', 'sas', 'otp', 'hmac', 'assertion', 'ticket'].map(
    (word) => [word, 'word'] as const,
  ),
]);
/** Two words that are secret together: `api_key`, `clientKey`, `tls.key`, `user-data`. */
const PAIR =
  /\b(?:(?:api|access|account|auth|client|encryption|license|mark|master|private|service|shared|signing|ssh|storage|subscription|tls) keys?|user data|string data|key data)\b/;
/** Most names have nothing of the kind in them. */
const HINT = new RegExp([...LINES, ...PHRASES, ...WORDS, ...WHOLE.keys(), 'key', 'data'].join('|'), 'i');
/** Last words of names whose values only say where a secret is, or how long it lasts. */
const ABOUT: ReadonlySet<string> = new Set([
  ...['name', 'names', 'namespace', 'file', 'path', 'ref', 'kind', 'type', 'version', 'expiry', 'ttl'],
]);
/** Characters of a name that are looked at: its end says what it is. */
const MOST_NAME = 128;

/** Whether the value of a field, a variable, a header or a flag with this name is secret, and how far it goes. */
export function secretExtent(name: string): SecretExtent | undefined {
  if (!HINT.test(name)) return undefined;
  const words = wordsOf(name);
  if (ABOUT.has(words.at(-1) ?? '')) return undefined;
  for (const [extent, endings] of ENDINGS)
    if (words.some((word) => endings.some((ending) => word.endsWith(ending)))) return extent;
  for (const word of words) if (WHOLE.has(word)) return WHOLE.get(word);
  return PAIR.test(words.join(' ')) ? 'word' : undefined;
}

/** `GOVC_PASSWORD`, `clientSecret` and `APIKey` as lower-case words. */
export function wordsOf(name: string): readonly string[] {
  return name
    .slice(-MOST_NAME)
    .replaceAll(/([a-z0-9])(?=[A-Z])|([A-Z])(?=[A-Z][a-z])/g, '$1$2 ')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== '');
}
