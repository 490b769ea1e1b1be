/** Makes secrets of a kind, each another one, and keeps what it made. */
export interface SecretMaker {
  /** So many characters of an alphabet. */
  readonly hex: (length: number) => string;
  readonly alphanumeric: (length: number) => string;
  readonly lower: (length: number) => string;
  readonly upper: (length: number) => string;
  readonly base64: (bytes: number) => string;
  readonly base64url: (bytes: number) => string;
  /** What a person chose: short, and like a word. */
  readonly password: () => string;
  /** Several words. */
  readonly phrase: () => string;
  /** Marks a text as a secret. */
  readonly secret: (text: string) => string;
}

const UPPER = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ';
const DIGITS = '0123456789';
const LOWER = UPPER.toLowerCase();

/** Secrets from bytes of a seed; `made` has the parts by which each is found again, however it was escaped. */
export function secretMaker(next: () => number): SecretMaker & { readonly made: string[] } {
  const made: string[] = [];
  const secret = (text: string): string => {
    const parts = text.split(/[^A-Za-z0-9]+/).filter((part) => part.length > 4);
    made.push(...(parts.length > 0 ? parts : [text]));
    return text;
  };
  const of = (alphabet: string, length: number): string =>
    Array.from({ length }, () => alphabet[next() % alphabet.length]).join('');
  // Names, and the end of an address, have words as well; a secret here has what no other text has.
  const unlike = (length: number, alphabet: string): string =>
    `${of(alphabet, length - 3)}${of(DIGITS, 1)}${of(alphabet, 2)}`;
  const bytes = (length: number): Buffer => Buffer.from(Array.from({ length }, next));
  const password = (): string => secret(`pw${unlike(8, LOWER)}`);
  return {
    made,
    secret,
    password,
    hex: (length) => secret(of('0123456789abcdef', length)),
    alphanumeric: (length) => secret(unlike(length, `${LOWER}${UPPER}${DIGITS}`)),
    lower: (length) => secret(unlike(length, `${LOWER}${DIGITS}`)),
    upper: (length) => secret(unlike(length, `${UPPER}234567`)),
    base64: (length) => secret(bytes(length).toString('base64')),
    base64url: (length) => secret(bytes(length).toString('base64url')),
    phrase: () => secret(`${password()} marmalade ${password()}`),
  };
}

/** A generator that repeats itself after a long time. */
export function seededBytes(seed: number): () => number {
  let state = seed | 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 8) & 0xff;
  };
}

/** How a secret of one kind stands in a text. */
export interface SecretKind {
  readonly name: string;
  readonly text: (make: SecretMaker) => string;
}

const kind = (name: string, text: (make: SecretMaker) => string): SecretKind => ({ name, text });
const lines = (...all: readonly string[]): string => all.join('\n');
const pem = (what: string, make: SecretMaker, head: readonly string[] = []): string =>
  lines(`-----BEGIN ${what}-----`, ...head, make.base64(48), make.base64(48), make.base64(7), `-----END ${what}-----`);
const jwt = (make: SecretMaker): readonly [string, string, string] => [
  make.secret(Buffer.from(`{"alg":"RS256","kid":"${make.alphanumeric(8)}"}`).toString('base64url')),
  make.secret(Buffer.from(`{"sub":"system","aud":"${make.alphanumeric(8)}"}`).toString('base64url')),
  make.base64url(64),
];
const json = (value: unknown, levels = 1): string => {
  let text = JSON.stringify(value);
  for (let level = 1; level < levels; level += 1) text = JSON.stringify({ level, text });
  return text;
};

/** Kinds of secrets in texts that people and programs write, by what tells that they are secret. */
export const SECRET_KINDS: readonly SecretKind[] = [
  // Words in names.
  kind('password=', (make) => `login failed, password=${make.password()}`),
  kind('password = with blanks', (make) => `password = ${make.phrase()}`),
  kind('PASSWORD with an underscore', (make) => `GOVC_PASSWORD=${make.password()} GOVC_URL=vc.example`),
  kind('PGPASSWORD', (make) => `env PGPASSWORD=${make.password()}`),
  kind('clientSecret in camel case', (make) => `clientSecret: ${make.password()}`),
  kind('ClientSecret mid-line', (make) => `sent {TenantID:t ClientSecret:${make.password()} Scope:s}`),
  kind('vcenterPassword', (make) => `options: vcenterPassword: ${make.phrase()}`),
  kind('pwd=', (make) => `Server=vc.example;Uid=admin;Pwd=${make.password()};`),
  kind('pwd with semicolon', (make) => `pwd=${make.password()};${make.password()}`),
  kind('passphrase', (make) => `passphrase: ${make.phrase()}`),
  kind('api key', (make) => `api_key=${make.password()}`),
  kind('x-api-key', (make) => `x-api-key: ${make.password()}`),
  kind('APIKey', (make) => `{"APIKey":"${make.password()}"}`),
  kind('access key in words', (make) => `Secret Access Key: ${make.password()}`),
  kind('AccountKey', (make) => `DefaultEndpointsProtocol=https;AccountName=a;AccountKey=${make.base64(64)};`),
  kind('token', (make) => `token: ${make.password()}`),
  kind('accessToken', (make) => `got accessToken=${make.password()}, expires soon`),
  kind('private_key_id', (make) => `{"private_key_id":"${make.hex(40)}"}`),
  kind('session id', (make) => `session_id=${make.password()}`),
  kind('credential as an object', (make) => `credentials: {user: a, key: ${make.password()}}`),
  kind('credential as a list', (make) => `{"tokens":["${make.password()}]","${make.password()}"],"a":1}`),
  kind('arrow', (make) => `:password=>"${make.password()}"`),
  kind('percent-encoded', (make) => `body user%3Da%26password%3D${make.password()}`),
  kind('name and value', (make) => json({ name: 'GOVC_PASSWORD', value: make.password() })),
  kind('name and value on one line', (make) => `- name: DB_PASSWORD   value: ${make.phrase()}`),
  kind('name and value in YAML', (make) => lines('- name: DB_PASSWORD', `  value: ${make.phrase()}`)),
  kind('a word within camel case', (make) => `{tokenValue:${make.password()} userAuth:${make.password()}}`),
  // Keys that stand alone.
  kind('AWS key id', (make) => `key ${make.secret(`AKIA${make.upper(16)}`)} is unknown`),
  kind('AWS key id of a session', (make) => make.secret(`ASIA${make.upper(16)}`)),
  kind('AWS secret key', (make) => `signed by ${make.base64(30)}, refused`),
  kind(
    'AWS secret key with escaped slashes',
    (make) =>
      `signed by ${make.secret(`${make.alphanumeric(12)}\\/${make.alphanumeric(13)}\\/${make.alphanumeric(13)}`)}`,
  ),
  kind('Google API key', (make) => `key ${make.secret(`AIza${make.base64url(26).slice(0, 35)}`)} is unknown`),
  kind('Google access token', (make) => make.secret(`ya29.${make.base64url(60)}`)),
  kind(
    'Slack bot token',
    (make) => `posting as ${make.secret(`xoxb-123456789012-1234567890123-${make.alphanumeric(24)}`)}`,
  ),
  kind(
    'Slack webhook',
    (make) => `POST https://hooks.slack.example/services/T01234567/B01234567/${make.alphanumeric(24)}`,
  ),
  kind('Stripe key', (make) => make.secret(`sk_live_${make.alphanumeric(24)}`)),
  kind('GitHub token', (make) => `cloned with ${make.secret(`ghp_${make.alphanumeric(36)}`)}`),
  kind('GitHub fine-grained token', (make) => `github_pat_${make.alphanumeric(22)}_${make.alphanumeric(59)}`),
  kind('GitLab token', (make) => make.secret(`glpat-${make.base64url(15)}`)),
  kind('Vault token', (make) => make.secret(`hvs.${make.base64url(60)}`)),
  kind('bootstrap token', (make) => `joined with ${make.secret(`${make.lower(6)}.${make.lower(16)}`)}`),
  kind('OpenShift token', (make) => `sha256~${make.base64url(32)}`),
  kind(
    'VMware license',
    (make) => `license ${make.secret([5, 5, 5, 5, 5].map((length) => make.upper(length)).join('-'))} expired`,
  ),
  kind('JWT', (make) => `as ${jwt(make).join('.')}`),
  kind('head of a JWT', (make) => `header ${jwt(make)[0]}`),
  kind('claims of a JWT', (make) => `claims ${jwt(make)[1]} are old`),
  kind('signature of a JWT', (make) => `signed ${jwt(make)[2]}`),
  kind('64 hex digits', (make) => `mark key ${make.hex(64)} does not fit`),
  kind('40 hex digits', (make) => `session ${make.hex(40)} has ended`),
  kind('32 hex digits', (make) => `as ${make.hex(32)}`),
  kind('base32', (make) => `seed ${make.upper(32)}`),
  // Headers.
  kind('Authorization: Basic', (make) => `Authorization: Basic ${make.base64(9)}`),
  kind(
    'Authorization with more',
    (make) => `> authorization: Digest username="${make.password()}", response="${make.hex(32)}"`,
  ),
  kind('Bearer alone', (make) => `sent Bearer ${make.password()} to vc.example`),
  kind('Cookie', (make) => `Cookie: vmware_soap_session="${make.hex(40)}"; Path=/`),
  kind('second cookie', (make) => `cookie: a=${make.password()}; b=${make.password()}; c="${make.password()}"`),
  kind('Set-Cookie', (make) => `< Set-Cookie: JSESSIONID=${make.password()}; Secure, Set-Cookie: x=${make.password()}`),
  kind('vmware-api-session-id', (make) => `vmware-api-session-id: ${make.password()}`),
  kind(
    'headers of Go',
    (make) => `map[Authorization:[Bearer ${make.password()}] Cookie:[a=${make.password()}; b=${make.password()}]]`,
  ),
  kind('folded header', (make) => lines(`Cookie: a=${make.password()};`, ` b=${make.password()}`)),
  kind('quoted cookies', (make) => `Cookie: "a=${make.password()}"; b="${make.password()}"`),
  // Docker, npm, curl.
  kind('docker auth', (make) => `{"auths":{"quay.example":{"auth":"${make.base64(9)}","email":"a@b.example"}}}`),
  kind('npm _authToken', (make) => `//registry.example/:_authToken=${make.password()}`),
  kind('flag', (make) => `ran login --password ${make.password()} --user a`),
  kind('flag in a list', (make) => `args ["login","--token","${make.password()}"]`),
  kind('curl -u', (make) => `curl -u admin:${make.password()} vc.example`),
  kind('oc login -p', (make) => `oc login -u admin -p ${make.password()}`),
  kind('netrc', (make) => `machine vc.example login admin password ${make.password()}`),
  kind('a sentence', (make) => `the password is "${make.phrase()}" now`),
  kind('a sentence with a colon', (make) => `the password is: ${make.password()}`),
  kind('a word behind a dash', (make) => `password - ${make.password()}`),
  kind('a cell of a table', (make) => `| password | ${make.password()} |`),
  kind('a prompt', (make) => `Password for admin: ${make.password()}`),
  kind('a bearer token in a sentence', (make) => `the bearer token is ${make.password()}`),
  kind('ticket of a vCenter', (make) => `ticket cst-VCT-${make.hex(12)}--tp-0A`),
  // YAML.
  kind('YAML block', (make) => lines('password: |', `  ${make.phrase()}`, '', `  ${make.phrase()}`, 'user: a')),
  kind('YAML folded block in a list', (make) =>
    lines('- user: a', '  token: >-', `    ${make.phrase()}`, `    ${make.phrase()}`),
  ),
  kind('YAML value of several lines', (make) => lines(`password: ${make.password()}`, `  ${make.phrase()}`)),
  kind('YAML list', (make) => lines('tokens:', `- ${make.password()}`, `- ${make.password()}`)),
  kind('YAML value on the next line', (make) => lines('secret:', `  ${make.phrase()}`)),
  kind('YAML tag', (make) => `password: !!str ${make.phrase()}`),
  kind('YAML data of a Secret', (make) =>
    lines('kind: Secret', 'data:', `  login: ${make.base64(6)}`, '  more: |', `    ${make.phrase()}`),
  ),
  kind('stringData', (make) => lines('stringData:', `  login: ${make.phrase()}`)),
  kind('user data', (make) => `userData: ${make.base64(9)}`),
  // Quotes.
  kind('double quotes with escapes', (make) => `password="${make.password()}\\"${make.password()}", user=a`),
  kind(
    'double quotes, a backslash at the end',
    (make) => `{"password":"${make.password()}\\\\","token":"${make.password()}"}`,
  ),
  kind('single quotes, doubled', (make) => `password: '${make.password()}''${make.phrase()}'`),
  kind('single quotes of a shell', (make) => `PASSWORD='${make.password()}'\\''${make.phrase()}'`),
  kind('quotes over lines', (make) => lines(`password: "${make.password()}`, `${make.phrase()}"`)),
  kind('quotes that do not end', (make) => `{"password":"${make.phrase()}`),
  kind('bytes of Python', (make) => `token=b'${make.password()}'`),
  // JSON in JSON.
  kind('JSON', (make) => json({ password: make.phrase(), user: 'a' })),
  kind('JSON with quotes in it', (make) => json({ password: `${make.password()}"${make.phrase()}\\` })),
  kind('JSON in JSON', (make) => json({ password: `${make.password()}"${make.phrase()}` }, 2)),
  kind('JSON in JSON in JSON', (make) => json({ clientSecret: `${make.password()}"${make.phrase()}\\` }, 3)),
  kind('JSON four times', (make) => json({ auth: `${make.password()}"${make.password()}` }, 4)),
  kind('JSON over lines', (make) =>
    JSON.stringify({ password: make.phrase(), list: { token: make.phrase() } }, undefined, 2),
  ),
  kind('YAML in JSON', (make) => json({ config: lines('password: |', `  ${make.phrase()}`) })),
  kind('YAML in JSON, a word', (make) => json({ config: lines('tokens:', `- ${make.password()}`) })),
  kind('object under a secret name', (make) =>
    json({ secret: { a: make.phrase(), b: [make.phrase(), `]${make.phrase()}`] } }),
  ),
  kind('JSON with escaped letters', (make) => `{"pass\\u0077ord":\\u0022${make.phrase()}\\u0022}`),
  kind('JSON in HTML', (make) => `{&quot;password&quot;:&quot;${make.phrase()}&quot;}`),
  kind('JSON in a query', (make) => `body %7B%22token%22%3A%22${make.password()}%22%7D`),
  // Addresses.
  kind('user of an address', (make) => `GET https://admin:${make.password()}@vc.example/sdk`),
  kind(
    'user with signs',
    (make) => `proxy http://a:${make.password()}@${make.password()}/${make.password()}@proxy.example:3128`,
  ),
  kind('user with a blank', (make) => `proxy http://a:${make.phrase()}@proxy.example:3128 is away`),
  kind('name alone', (make) => `https://${make.password()}@git.example/x`),
  kind('user without a scheme', (make) => `govc -u admin@x:${make.password()}@vc.example`),
  kind(
    'signed query',
    (make) => `https://images.example/a.ova?X-Amz-Signature=${make.password()}&b=${make.password()}`,
  ),
  kind('query without a scheme', (make) => `GET /sdk?a=1&ticket=${make.password()} failed`),
  kind('fragment', (make) => `https://page.example/#access_token=${make.password()}`),
  kind('redis', (make) => `redis://:${make.password()}@cache.example`),
  // Key files, and XML.
  kind('private key', (make) => pem('EC PRIVATE KEY', make)),
  kind('encrypted private key', (make) =>
    pem('RSA PRIVATE KEY', make, ['Proc-Type: 4,ENCRYPTED', `DEK-Info: AES-256-CBC,${make.hex(32)}`, '']),
  ),
  kind('OpenSSH key on one line', (make) => pem('OPENSSH PRIVATE KEY', make).replaceAll('\n', '\\n')),
  kind('key without its end', (make) => lines('-----BEGIN PRIVATE KEY-----', make.base64(48), make.base64(7))),
  kind('key of words', (make) => lines('-----BEGIN PGP PRIVATE KEY BLOCK-----', `Comment: ${make.phrase()}`)),
  kind('key without its beginning', (make) => lines(make.base64(7), make.base64(48), '-----END PRIVATE KEY-----')),
  kind('base64 over lines', (make) => lines(make.base64(48), make.base64(48), make.base64(7))),
  kind(
    'SOAP',
    (make) => `<Login><userName>a</userName><ns:password type="string">${make.phrase()}</ns:password></Login>`,
  ),
  kind('escaped XML', (make) => `&lt;password&gt;${make.phrase()}&lt;/password&gt;`),
];
