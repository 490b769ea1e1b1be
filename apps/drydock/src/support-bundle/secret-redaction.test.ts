import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertLinear } from '@drydock/model';
import fc from 'fast-check';
import { SECRET_KINDS, type SecretKind, secretMaker, seededBytes } from '../testing/secret-kinds.ts';
import { pick } from './fields.ts';
import { shownLog, shownMetrics } from './log-lines.ts';
import { shownArguments } from './operator-flags.ts';
import { redacted } from './secret-redaction.ts';

/** Where a text of others comes into a bundle. */
const POSITIONS: Readonly<Record<string, (text: string) => unknown>> = {
  'a status or an Event': (text) =>
    pick({ message: text, note: [text] }, { message: 'kept', note: ['kept'] }, new Map(), ''),
  'a digest': (text) => pick({ digest: text }, { digest: 'digest' }, new Map(), ''),
  'a key of a map': (text) => pick({ [text]: 1 }, { '*': 'kept' }, new Map(), ''),
  'an error text': (text) => redacted(`cannot reach vc.example: ${text}. Try again later.`),
  'an error text in quotes': (text) => redacted(`patch MachineSet ns/a: the server says “${text}”. Log in again.`),
  'a log line': (text) =>
    shownLog(
      JSON.stringify({ level: 50, msg: text, err: { message: text, stack: `Error: ${text}\n    at a (a.js:1:2)` } }),
      new Map(),
      '',
    ),
  'a log line of no known shape': (text) =>
    shownLog(`{"level":50,"msg":${JSON.stringify(text)} broken\n${text}`, new Map(), ''),
  'JSON in a text': (text) => redacted(`said ${JSON.stringify({ a: 1, text, z: 'end' })}`),
  'JSON in JSON in a text': (text) => redacted(JSON.stringify({ body: JSON.stringify({ text }), z: 'end' })),
  'YAML in a text': (text) => redacted(`config:\n  ${text.replaceAll('\n', '\n  ')}\nend: 1`),
  'YAML after a list': (text) => redacted(`- a: 1\n- ${text.replaceAll('\n', '\n  ')}\n- b: 2`),
  'a label of a metric': (text) => shownMetrics(`drydock_up{a="b",said=${JSON.stringify(text)}} 1\n`),
  'a flag': (text) => shownArguments(['operator', `--vcenter-url=${text}`, '--vcenter', text]),
  'behind another secret': (text) => redacted(`token=abc ${text}`),
};

function leaks(kind: SecretKind, position: string, next: () => number): string | undefined {
  const make = secretMaker(next);
  const text = kind.text(make);
  const shown = JSON.stringify(POSITIONS[position]?.(text));
  assert.ok(make.made.length > 0, kind.name);
  const found = make.made.find((part) => shown.includes(part));
  return found === undefined ? undefined : `${kind.name} as ${position} leaks ${found}:\n  ${text}\n  ${shown}`;
}

test('FIND-5 none of more than a hundred kinds of secrets passes, in any place of a bundle', () => {
  assert.ok(SECRET_KINDS.length > 100);
  assert.equal(new Set(SECRET_KINDS.map(({ name }) => name)).size, SECRET_KINDS.length);
  const found = SECRET_KINDS.flatMap((kind, seed) =>
    Object.keys(POSITIONS).flatMap((position) => leaks(kind, position, seededBytes(seed + 1)) ?? []),
  );
  assert.deepEqual(found, [], `${found.length}\n${found.join('\n')}`);
});

test('FIND-5 no secret of any kind passes, whatever its letters are and wherever it stands', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...SECRET_KINDS),
      fc.constantFrom(...Object.keys(POSITIONS)),
      fc.infiniteStream(fc.nat(255)),
      (kind, position, stream) => {
        assert.equal(
          leaks(kind, position, () => stream.next().value ?? 0),
          undefined,
        );
      },
    ),
    { numRuns: 3_000 },
  );
});

/** Texts that begin something again and again, and end nothing. */
const HOSTILE: readonly string[] = [
  ...[
    'a',
    'aA1=',
    '\\',
    '\\"',
    'password="',
    'password:\n',
    'password\n',
    'token:[',
    'x{',
    '://a:b ',
    'a@',
    '?',
    '#',
    '-----BEGIN',
  ],
  ...[
    '<password ',
    '\\u003c',
    '- ',
    '-p ',
    '--token "',
    'name:PASSWORD value:',
    'password is ',
    'secrets ',
    '%26',
    "token=['",
    ' ',
  ],
];

test('FIND-5 a redaction costs what its text weighs, and no more than a bound', async () => {
  for (const unit of HOSTILE)
    await assertLinear({
      name: `redaction: ${JSON.stringify(unit)} without end`,
      input: (size) => unit.repeat(Math.ceil(size / unit.length)).slice(0, size),
      read: redacted,
      limit: 16_384,
    });
  assert.equal(redacted(`${'word '.repeat(100_000)}password=`).length, 2_000 + '… (16384 characters)'.length);
  // Where the reading ends in the middle of a secret, no half of it stays.
  const key = 'AKIAIOSFODNN7EXAMPLE';
  for (let at = 1; at < key.length; at += 1) {
    const long = `token="${'x'.repeat(16_384 - 10 - at)}" `;
    assert.match(redacted(`${long}${key} and more`), /^token=\*\*\*…?$/, `${at}`);
  }
});

/** What a maintainer reads a bundle for. */
const HARMLESS: readonly string[] = [
  `quay.example/openshift/release@sha256:${'0a1b2c3d'.repeat(8)}`,
  `quay.example:5000/drydock:v1.2.3@sha256:${'9f'.repeat(32)}`,
  `a.ova has sha256 ${'0a'.repeat(32)}, but ${'sha256:'}${'1b'.repeat(32)} was expected`,
  '6f1e2d3c-4b5a-4968-8776-655443322110',
  'resourceVersion 1844674407370955161',
  '2026-11-27T18:15:00.123456Z',
  '20261127T181500Z',
  'rhcos-9.8.20261127-0-vmware.x86_64-0a1b2c3d',
  'worker-us-east-1a-7x9kq',
  'drydock-operator-5d8f9c7b6-x7k2p',
  '/Datacenter1/vm/rhcos-418.94.202501221327-0-0a1b2c3d',
  'ami-0123456789abcdef0 in us-east-1a, i-0123456789abcdef0',
  'projects/rhcos-cloud/global/images/redhat-coreos-9-8-20261127-0-gcp-x86-64',
  '/subscriptions/6f1e2d3c-4b5a-4968-8776-655443322110/resourceGroups/a-rg/providers/Microsoft.Compute/galleries/gallery_a/images/a-gen2/versions/418.94.20250122',
  'get MachineSet openshift-machine-api/worker: the server says “machinesets.machine.openshift.io "worker" not found”. Check the name and the namespace, or create it first.',
  'customresourcedefinitions.apiextensions.k8s.io "bootimages.drydock.dev" is forbidden: User "system:serviceaccount:drydock:drydock-boot-images" cannot list resource',
  'user administrator@vsphere.local: https://vc.example/sdk answers HTTP 503 after 20 s',
  'secrets "vsphere-creds" not found',
  'wrong user name or password for https://vc.example/sdk',
  'VSphereMachineProviderSpec has no workspace.resourcePool',
  'at run (file:///app/packages/boot-images/src/pass/update.ts:12:34)',
  'Lease drydock/drydock-boot-images is held by drydock-operator-5d8f9c7b6-x7k2p_6f1e2d3c-4b5a-4968-8776-655443322110 since 2026-11-27T18:15:00Z',
  'canary 3 of 4: node ip-10-0-129-45.us-east-2.compute.internal is Ready=True, 12 of 250 machines',
  'pinned to 4.21.6 by alice: "too slow on host-17", until 2026-12-01',
  'key openshift-machine-api/worker-a, 3 tries, next in 1.5 s',
  'credentialsSecret openshift-machine-api/vsphere-cloud-credentials has no entry vc.example.username',
];

test('FIND-5 digests, ids, versions, names, times and sentences pass as they are', () => {
  for (const text of HARMLESS) assert.equal(redacted(text), text);
  const digest = 'ab'.repeat(32);
  const picked = pick(
    { digest, operation: digest.slice(0, 16), other: digest },
    { digest: 'digest', operation: 'digest', other: 'kept' },
    new Map(),
    '',
  );
  assert.deepEqual(picked, { digest, operation: digest.slice(0, 16), other: '***' });
  const log = {
    level: 30,
    time: 1,
    msg: 'the image of a set moves',
    set: 'openshift-machine-api/worker',
    template: HARMLESS[7],
  };
  assert.equal(shownLog(JSON.stringify(log), new Map(), ''), `${JSON.stringify(log)}\n`);
  const metric = 'drydock_vcenter_up{server="vc.example",failure_domain="a"} 1\n';
  assert.equal(
    shownMetrics(`# HELP drydock_vcenter_up Whether a vCenter answers.\n${metric}`),
    `# HELP drydock_vcenter_up Whether a vCenter answers.\n${metric}`,
  );
});

test('FIND-5 of metrics, what is no metric and what a label with a secret name says stays out', () => {
  assert.equal(shownMetrics('drydock_up{a="b",token="hunter"} 1\n'), 'drydock_up{a="b",token="***"} 1\n');
  for (const line of ['drydock_up{a="hunter', 'drydock_up hunter', 'drydock_up{a="b"} hunter2', 'other{a="b"} 1'])
    assert.equal(shownMetrics(line), '', line);
});

test('FIND-5 what stands around a secret stays where its end is known', () => {
  const cases: readonly (readonly [string, string])[] = [
    ['{"user":"a","password":"x\\"y","host":"vc"}', '{"user":"a","password":***,"host":"vc"}'],
    ['{"a":"{\\"token\\":\\"x\\\\\\"y\\",\\"b\\":1}"}', '{"a":"{\\"token\\":***,\\"b\\":1}"}'],
    ['password: |\n  x\n\n  y\nuser: a', 'password: ***\nuser: a'],
    ['a\nCookie: b=c; d=e\nHost: vc', 'a\nCookie: ***\nHost: vc'],
    ['GET https://u:p@vc.example/sdk?t=1 failed', 'GET https://***@vc.example/sdk?*** failed'],
    [
      'kube-system/vsphere-creds: secrets "vsphere-creds" not found',
      'kube-system/vsphere-creds: *** "vsphere-creds" not found',
    ],
    ['<a><password>x</password><b>y</b></a>', '<a><password>***</password><b>y</b></a>'],
    ['run --token x --port 80', 'run --token *** --port 80'],
    ['-----BEGIN X-----\nabc\n-----END X-----\nrest', '***\nrest'],
  ];
  for (const [text, shown] of cases) assert.equal(redacted(text), shown);
});
