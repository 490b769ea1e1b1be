const UNSAFE = 'it switches a check of a server off: that is said on the line alone';
const CONSENT = 'it consents to something for one run: a variable would consent for all';
const SUBJECT =
  'it names what one run is about: from a variable it would be about something that the line does not show';
const EFFECT = 'it says what one run does or does not do: from a variable the line would not show it';
const OWN = 'it runs by what its line says alone';

/** Verbs, and whole groups, that take nothing from variables and contexts. */
const VERBS: Readonly<Record<string, string>> = {
  operator:
    "a Deployment says in its args what runs: its environment changes nothing about it, nor a Service's variables",
  node: 'a pod of a node says in its args what runs, as the operator',
  demo: `${OWN}, on servers that it starts`,
  'release rehearse': `${OWN}, on servers that it starts`,
  completion: 'it has no flags',
  config: 'it shows and changes what the others take: what it was given itself would be in between',
};

const FLAGS: Readonly<Record<string, string>> = {
  ...each(UNSAFE, 'insecure', 'insecure-skip-tls-verify', 'vcenter-insecure', 'registry-plain', 'plain'),
  ...each(CONSENT, 'yes', 'accept', 'ack', 'server-probe', 'login-now', 'show-values', 'retire-unmarked'),
  ...each(CONSENT, 'all-on-name', 'undo', 'restart', 'force-delete'),
  ...each(SUBJECT, 'to', 'for', 'name', 'version', 'release', 'sha256', 'image', 'out', 'output-file', 'role'),
  ...each(SUBJECT, 'export'),
  ...each(SUBJECT, 'pointer', 'pointer-variable', 'target-version', 'writer', 'forget', 'until', 'wait'),
  ...each(EFFECT, 'dry-run', 'watch', 'privileges', 'in-cluster', 'port-forward'),
  token: 'a bearer token belongs into a kubeconfig that only its owner can read',
  vcenter: 'it is --url under another name',
  'image-mirror':
    'DRYDOCK_IMAGE_MIRRORS has the same, one a line, also with user and password; so has DRYDOCK_IMAGE_MIRRORS_FILE',
  config: 'it names the file of drydock template, of which a context has all',
  'drydock-config': 'DRYDOCK_CONFIG is its variable, and a config file names no other',
  'drydock-context': 'DRYDOCK_CONTEXT is its variable, and current-context says it in the config file',
};

const KEPT = 'it says what may be destroyed: that is said on the line';

const FLAGS_OF_VERBS: Readonly<Record<string, string>> = {
  'template gc --keep': KEPT,
  'template gc --grace': KEPT,
  'template gc --kubeconfig': KEPT,
  'template gc --kube-context': KEPT,
  'template plan gc --keep': KEPT,
  'template plan gc --grace': KEPT,
  'template plan gc --kubeconfig': KEPT,
  'template plan gc --kube-context': KEPT,
  'template mark-key revoke --kubeconfig': SUBJECT,
  'template mark-key revoke --kube-context': SUBJECT,
  'template mark-key revoke --mark-key-secret': SUBJECT,
  'release plan --owner': SUBJECT,
  'crd bridge --store': SUBJECT,
  'release verify --store': 'where signatures come from is said beside the keys',
  'release verify --keyring': 'who must have signed is said on the line',
};

function each(reason: string, ...flags: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(flags.map((flag) => [flag, reason]));
}

/** Why a flag of a verb has no variable, and no context can have it; undefined: it has one. */
export function exceptionOf(verb: string, flag: string): string | undefined {
  return verbExceptionOf(verb) ?? FLAGS_OF_VERBS[`${verb} --${flag}`] ?? FLAGS[flag];
}

/** Why none of the flags of a verb has one. */
export function verbExceptionOf(verb: string): string | undefined {
  return Object.entries(VERBS).find(([name]) => verb === name || verb.startsWith(`${name} `))?.[1];
}

/** All exceptions, for the book and for the test that none is of nothing: `--flag`, `verb` or `verb --flag`, with the reason. */
export const EXCEPTIONS: ReadonlyMap<string, string> = new Map([
  ...Object.entries(VERBS),
  ...Object.entries(FLAGS).map(([flag, reason]) => [`--${flag}`, reason] as const),
  ...Object.entries(FLAGS_OF_VERBS),
]);
