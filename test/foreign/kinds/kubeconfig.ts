import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readYamlDocument } from '@drydock/api/yaml';
import {
  ApiError,
  type ClusterConfig,
  loadKubeconfig,
  readStatusNote,
  STATUS_NOTE,
  type StatusNote,
} from '@drydock/kube';
import { errorOfStatus } from '../../../packages/kube/src/errors.ts';
import { htmlTitle, statusOfBody } from '../../../packages/kube/src/transport/transport-errors.ts';
import { type Format, growing, type Hostile, pieces, SECRET } from '../format.ts';

// Ten thousand texts in one file: a disk would write each of them, since it was emptied and closed again.
const folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'drydock-foreign-'));
process.once('exit', () => rmSync(folder, { recursive: true }));
const file = join(folder, 'config');

function load(bytes: Buffer | string): Promise<ClusterConfig> {
  writeFileSync(file, bytes);
  return loadKubeconfig({ kubeconfig: file, env: {} });
}

/** Kubeconfigs: tokens, keys and passwords are in them. */
export const kubeconfig: Format<ClusterConfig> = {
  name: 'kubeconfigs',
  examples: [
    `apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters:\n- name: k\n  cluster: {server: "https://a:6443"}\ncontexts:\n- name: c\n  context: {cluster: k, user: u, namespace: n}\nusers:\n- name: u\n  user: {token: ${SECRET}}\n`,
    `{"kind":"Config","current-context":"c","clusters":[{"name":"k","cluster":{"server":"https://a","insecure-skip-tls-verify":true,"tls-server-name":"b","proxy-url":"http://p:${SECRET}@proxy"}}],"contexts":[{"name":"c","context":{"cluster":"k","user":"u"}}],"users":[{"name":"u","user":{"username":"n","password":"${SECRET}"}}]}`,
    `current-context: c\nclusters: [{name: k, cluster: {server: http://a}}]\ncontexts: [{name: c, context: {cluster: k, user: u}}]\nusers:\n- name: u\n  user:\n    exec: {apiVersion: client.authentication.k8s.io/v1, command: login, args: [--key, ${SECRET}], env: [{name: A, value: "${SECRET}"}], interactiveMode: Never}\n    as: z\n    as-groups: [g]\n    as-user-extra: {reason: [${SECRET}]}\n`,
  ],
  pieces: [
    ...[': ', '- ', '&a ', '*a', '!t ', '"', "'", '{', '}', '[', ']', '\n', '\n  ', '<<: ', '~', 'kind: Pod', 'true'],
    ...[
      'server:',
      'cluster:',
      'contexts:',
      'users:',
      'name: k',
      'auth-provider: {name: gcp}',
      'client-key-data:',
      'https://',
      'ftp://',
      '@',
    ],
  ],
  nest: ['[', ']'],
  read: load,
  refuses: (error) => error instanceof ApiError && ['Kubeconfig', 'Credentials'].includes(error.code),
  check: async (config, bytes) => {
    const said = readYamlDocument(bytes.toString()) as Readonly<Record<string, unknown>>;
    const entry = (list: string, name: unknown, field: string): Readonly<Record<string, unknown>> => {
      const found = ((said[list] ?? []) as readonly Readonly<Record<string, unknown>>[]).find(
        (one) => one['name'] === name,
      );
      return (found?.[field] ?? {}) as Readonly<Record<string, unknown>>;
    };
    const context = entry('contexts', said['current-context'], 'context');
    const cluster = entry('clusters', context['cluster'], 'cluster');
    assert.equal(config.server, cluster['server']);
    assert.equal(config.context, said['current-context'] ?? '');
    assert.equal(config.namespace, context['namespace'] || 'default');
    assert.equal(config.insecureSkipTlsVerify ?? false, cluster['insecure-skip-tls-verify'] ?? false);
    assert.equal(config.tlsServerName, cluster['tls-server-name'] || undefined);
    assert.equal(config.impersonate?.user, entry('users', context['user'], 'user')['as'] || undefined);
  },
};

/** What the operator leaves on its Lease for others to read. */
export const statusNote: Format<StatusNote | undefined> = {
  name: 'notes on a Lease',
  examples: [
    '{"degraded":1,"blocked":0,"named":[{"definition":"d","object":"n/a","state":"cut","since":"2026-01-01T00:00:00Z","why":"w"}],"more":0}',
    '{"degraded":0,"blocked":2,"named":[],"more":7}',
  ],
  pieces: ['{', '}', '[', ']', ':', ',', '"', '\\', 'null', '"named":', '"why":1', '[null]', '{}'],
  nest: ['[', ']'],
  takesAll: true,
  read: (bytes) => readStatusNote({ [STATUS_NOTE]: bytes.toString() }),
  refuses: () => false,
  check: (note) => {
    if (note === undefined) return;
    assert.deepEqual(readStatusNote({ [STATUS_NOTE]: JSON.stringify(note) })?.named, note.named);
    for (const one of note.named)
      for (const key of ['definition', 'object', 'state', 'since', 'why'] as const)
        assert.equal(typeof one[key], 'string');
  },
};

/** What a server, or a proxy before it, answers where it fails. */
export const failedAnswer: Format<ApiError> = {
  name: 'answers that say failure',
  examples: [
    '{"kind":"Status","status":"Failure","message":"no","reason":"Invalid","details":{"name":"a","causes":[{"field":"spec.a","message":"b","reason":"c"}],"retryAfterSeconds":3},"code":422}',
    '<html><head><title>503 Service Unavailable</title></head><body>x</body></html>',
  ],
  pieces: [
    '{',
    '}',
    '[',
    ']',
    ':',
    ',',
    '"',
    '\\',
    'null',
    '"causes":',
    '"details":',
    '"message":',
    '<title>',
    '</title>',
    '1',
  ],
  nest: ['[', ']'],
  takesAll: true,
  read: (bytes) =>
    errorOfStatus(statusOfBody(bytes.toString()), 500, {
      action: `get ConfigMap (${htmlTitle(bytes.toString()) ?? ''})`,
    }),
  refuses: () => false,
  check: (error) => {
    assert.ok(error instanceof ApiError && error.message.length < 4_000, `${error.message.length} characters`);
    assert.ok(
      (error.details.causes ?? []).every(
        ({ field, message }) => typeof (field ?? '') === 'string' && typeof (message ?? '') === 'string',
      ),
    );
  },
};

const field = (n: string): string => `{name: c${n}, cluster: {server: "https://x"}, context: {cluster: c}, user: {}}`;
const listed = (size: number, piece: (number: string) => string): string => pieces(size, piece, ',');

export const kubeGrowth: readonly Hostile[] = [
  ...growing(
    'a kubeconfig',
    Object.fromEntries(
      ['clusters', 'users', 'contexts'].map((list) => [
        list,
        (size: number) => `${list}:\n- ${pieces(size, field, '\n- ')}\n`,
      ]),
    ),
    { limit: 2 ** 19, read: load },
  ),
  ...growing(
    'a failure',
    {
      causes: (size) => `{"kind":"Status","details":{"causes":[${listed(size, (n) => `{"field":"${n}"}`)}]}}`,
      'a long message': (size) => `{"kind":"Status","message":"${'\\n'.repeat(size / 2)}"}`,
      'a page': (size) => '<title>'.repeat(size / 7),
      nesting: (size) => `{"kind":"Status","details":${'['.repeat(size)}`,
    },
    { limit: 2 ** 20, read: (body) => [errorOfStatus(statusOfBody(body), 500, { action: 'get' }), htmlTitle(body)] },
  ),
  ...growing(
    'a note',
    { objects: (size) => `{"named":[${listed(size, (n) => `{"object":"${n}"}`)}]}` },
    {
      limit: 2 ** 18,
      read: (text) => readStatusNote({ [STATUS_NOTE]: text }),
    },
  ),
];
