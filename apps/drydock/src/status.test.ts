import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BootImage, Lease } from '@drydock/api';
import { STATUS_NOTE } from '@drydock/kube';
import { memoryCluster } from '@drydock/kube/testing';
import { leadershipOf } from './leadership.ts';
import { outputFormat } from './output/format.ts';
import { checkCode, checkText, leaderText, notesText, printStatus, stuckText } from './status.ts';
import { LEASE_NAMESPACE, statusNotes } from './status-notes.ts';

const now = Date.parse('2026-01-01T01:00:00Z');
const images: readonly BootImage[] = ['ms-a', 'ms-b'].map((name) => ({
  metadata: { name, namespace: 'machines' },
  status: { phase: 'Current' },
}));
const named = [
  {
    definition: `${BootImage.plural}.${BootImage.group}`,
    object: 'machines/ms-b',
    state: 'blocked',
    since: '2026-01-01T00:55:00Z',
    why: 'the server refuses what it refused before: status.phase Required',
  },
  {
    definition: 'machineconfigurations.operator.openshift.io',
    object: 'cluster',
    state: 'degraded',
    since: '2026-01-01T00:59:00Z',
    why: 'left out: status.managedBootImagesStatus',
  },
] as const;

async function notesOf(renewTime: string) {
  const cluster = memoryCluster({ namespaces: [LEASE_NAMESPACE] });
  const note = JSON.stringify({ degraded: 1, blocked: 1, named, more: 2 });
  for (const name of ['drydock-boot-images', 'drydock-watch'])
    cluster.put(
      Lease,
      { namespace: LEASE_NAMESPACE, name },
      { metadata: { name, annotations: { [STATUS_NOTE]: note } }, spec: { renewTime } },
    );
  return (await statusNotes(cluster.client())) ?? assert.fail('there is a note');
}

test('a set whose status is cut or not written says so, with the reason below', async () => {
  const notes = await notesOf('2026-01-01T00:59:59.000000Z');
  const text = printStatus(images, outputFormat('table', { names: true }), { headers: true, now, notes });
  assert.match(text, /STATUS-WRITES +PROGRESS\nms-a.* - +-\nms-b .*blocked 5m +-\n/);
  assert.equal(
    notesText(notes, now),
    `The status of bootimages.drydock.dev machines/ms-b is not written since 5m: ${named[0].why}\n` +
      `The status of machineconfigurations.operator.openshift.io cluster is not written whole since 60s: ${named[1].why}\n` +
      'And 2 more.\n',
  );
  assert.match(
    notesText(await notesOf('2026-01-01T00:30:00.000000Z'), now),
    /The operator said so 30m ago, and nothing since\.\n$/,
  );
  const { statusWrites } = JSON.parse(
    printStatus(images, outputFormat('json', { names: true }), { headers: true, now, notes }),
  ) as {
    readonly statusWrites: { readonly noted: unknown };
  };
  assert.deepEqual(statusWrites.noted, named);
});

test('where all is well nothing is said of it', async () => {
  assert.equal(await statusNotes(memoryCluster().client()), undefined);
  assert.doesNotMatch(
    printStatus(images, outputFormat('table', { names: true }), { headers: true, now }),
    /STATUS-WRITES/,
  );
  assert.doesNotMatch(
    printStatus(images, outputFormat('yaml', { names: true }), { headers: true, now }),
    /statusWrites/,
  );
});

test('sets that are stuck are counted, with the command that says why', () => {
  const image = (name: string, phase: string): BootImage => ({
    metadata: { name: `ms-${name}` },
    spec: { machineSet: { name } },
    status: { phase },
  });
  assert.equal(stuckText([image('a', 'Current'), image('b', 'Skipped'), image('c', 'Uploading')]), '');
  assert.equal(
    stuckText([image('a', 'Current'), image('b', 'Blocked')]),
    'One set is stuck. Why: drydock status -o wide, or drydock explain b\n',
  );
  assert.match(stuckText([image('a', 'Failed'), image('b', 'Blocked')]), /^2 sets are stuck\. .* explain a\n$/);
});

const role = { role: 'boot-images', namespace: LEASE_NAMESPACE };

function leaseCluster(spec: NonNullable<Lease['spec']>) {
  const cluster = memoryCluster({ namespaces: [LEASE_NAMESPACE] });
  const key = { namespace: LEASE_NAMESPACE, name: 'drydock-boot-images' };
  const put = (of: typeof spec): void => cluster.put(Lease, key, { metadata: { name: key.name }, spec: of });
  put(spec);
  return { client: cluster.client(), put };
}

const held = {
  holderIdentity: 'pod-1',
  leaseDurationSeconds: 15,
  acquireTime: '2025-12-31T22:00:00.000000Z',
  renewTime: '2026-01-01T00:59:59.000000Z',
};

test('TRUTH-1 the first line says who leads and since when, or that nobody does and since when', async () => {
  const text = async (spec: NonNullable<Lease['spec']>, during?: (put: (of: typeof spec) => void) => void) => {
    const { client, put } = leaseCluster(spec);
    const pause = async (): Promise<void> => during?.(put);
    return leaderText(await leadershipOf(client, role, { now: () => now, pause }), now);
  };
  assert.equal(await text(held), 'pod-1 leads boot images since 3h\n');
  const old = { ...held, renewTime: '2026-01-01T00:50:00.000000Z' };
  assert.equal(
    await text(old),
    'Nobody leads boot images since 10m: pod-1 led, and was not followed. Start one: drydock operator\n',
  );
  assert.equal(
    await text({ ...old, holderIdentity: '' }),
    'Nobody leads boot images since 10m: it was given back. Start one: drydock operator\n',
  );
  // The clock of this machine is ten minutes ahead of the holder's, who renews meanwhile.
  const renewed = await text(old, (put) => put({ ...old, renewTime: '2026-01-01T00:50:02.000000Z' }));
  assert.equal(renewed, 'pod-1 leads boot images since 3h\n');
  const none = await leadershipOf(memoryCluster().client(), role);
  assert.equal(leaderText(none, now), 'Nobody has led boot images yet. Start one: drydock operator\n');
});

test('TRUTH-1 an operator that leads in another namespace is not taken for none, one that died there long ago is', async () => {
  const cluster = memoryCluster({ namespaces: [LEASE_NAMESPACE, 'elsewhere'] });
  const put = (namespace: string, spec: NonNullable<Lease['spec']>): void =>
    cluster.put(Lease, { namespace, name: 'drydock-boot-images' }, { metadata: { name: 'drydock-boot-images' }, spec });
  const look = async (): Promise<string> =>
    leaderText(await leadershipOf(cluster.client(), role, { now: () => now, pause: async () => undefined }), now);
  const there = 'Nobody leads boot images here: their Lease is in namespace elsewhere (--lease-namespace elsewhere)\n';
  put('elsewhere', held);
  assert.equal(await look(), there);
  put(LEASE_NAMESPACE, { ...held, holderIdentity: '' });
  assert.equal(await look(), there);
  put(LEASE_NAMESPACE, { ...held, renewTime: '2026-01-01T00:50:00.000000Z' });
  assert.equal(await look(), there);
  put(LEASE_NAMESPACE, held);
  assert.equal(await look(), 'pod-1 leads boot images since 3h\n');
  cluster.put(Lease, { namespace: LEASE_NAMESPACE, name: 'drydock-boot-images' }, undefined);
  for (const left of [
    { ...held, holderIdentity: '' },
    { ...held, renewTime: '2025-12-31T00:00:00.000000Z' },
  ]) {
    put('elsewhere', left);
    assert.equal(await look(), 'Nobody has led boot images yet. Start one: drydock operator\n');
  }
});

test('FIND-16: --check exits with 0, 3 or 5 by the answer of the page, and prints its words with the next step', () => {
  const codes = (['yes', 'unmanaged', 'no', 'wait', 'unknown'] as const).map((answer) => checkCode({ answer }));
  assert.deepEqual(codes, [0, 0, 3, 5, 5]);
  const share = { yes: 3, wait: 0, no: 6, unknown: 0, unmanaged: 1 };
  const place = { id: 'fd1', cluster: '', kind: '', region: '', failureDomain: 'fd1', sets: 10, ready: 3, share };
  const reasons = Array.from({ length: 6 }, (_, at) => ({
    ...({ answer: 'no', text: `broken\n${at}`, sets: [`ms/${at}`], more: 2, nextStep: 'mend it' } as const),
  }));
  const unmanaged = { answer: 'unmanaged', text: 'opted out', sets: ['ms/z'], more: 0 } as const;
  const rows = [{ ...place, answer: 'no', because: [...reasons, unmanaged] } as const];
  const lines = checkText({ text: 'Yes for 3, no for 6, 1 not managed', rows }).split('\n');
  assert.deepEqual(lines.slice(0, 3), [
    'Can I scale now? Yes for 3, no for 6, 1 not managed',
    'no: broken 0 (ms/0 and 2 more)',
    '  next: mend it',
  ]);
  assert.equal(lines.at(-2), 'And 1 more reasons: drydock explain');
  assert.doesNotMatch(lines.join('\n'), /opted out/);
});

test('FIND-25 with usual names the table fits 100 columns, names each set and image version once, and -o wide keeps everything', () => {
  const of = (name: string, status: BootImage['status']): BootImage => ({
    metadata: { name: `ms-${name}`, namespace: 'openshift-machine-api' },
    status: { set: `ms/${name}`, platform: 'vsphere', since: '2026-01-01T00:00:00Z', ...status },
  });
  const [old, next] = ['9.8.20261019-0', '9.8.20261116-0'];
  const fleet = [
    of('worker-a', { current: next, target: next, phase: 'Current', progress: '-', revertTo: old }),
    of('worker-b', { current: old, target: next, phase: 'Uploading', progress: '45% 16.0MB/s 12s', revertTo: old }),
    of('worker-c', { current: old, target: next, phase: 'Blocked', progress: 'blocked: CanaryFailed', revertTo: old }),
    of('worker-owned', {
      ...{ current: 'harbour-7k2xp-rhcos-fd1', phase: 'Skipped' },
      progress: 'skipped: owned by MachinePool/legacy-pool',
    }),
  ];
  const lines = (format: string, of: readonly BootImage[] = fleet, namespaces: boolean = false): readonly string[] =>
    printStatus(of, outputFormat(format, { names: true }), { headers: true, now, namespaces })
      .trimEnd()
      .split('\n');
  const short = lines('table');
  assert.deepEqual(
    short.map((line) => line.replaceAll(/ {3,}/g, ' | ')),
    [
      'SET | CURRENT | PHASE | SINCE | PROGRESS',
      `ms/worker-a | ${next} | Current | 60m | -`,
      `ms/worker-b | ${old} | Uploading | 60m | to ${next}: 45% 16.0MB/s 12s`,
      `ms/worker-c | ${old} | Blocked | 60m | to ${next}: CanaryFailed`,
      'ms/worker-owned | harbour-7k2xp-rhcos-fd1 | Skipped | 60m | owned by MachinePool/legacy-pool',
    ],
  );
  assert.deepEqual(
    short.filter((line) => line.length > 100),
    [],
  );
  for (const header of ['NAME', 'PLATFORM', 'SET', 'CURRENT', 'TARGET', 'PHASE', 'PROGRESS', 'SINCE', 'REVERT-TO'])
    assert.ok(lines('wide')[0]?.split(/ +/).includes(header), header);
  assert.match(lines('table', fleet, true)[0] ?? '', /^NAMESPACE +SET /);
  const [first = assert.fail('one')] = fleet;
  const mixed = [...fleet, { ...first, status: { ...first.status, set: 'capi-md/x', platform: 'aws' } }];
  assert.match(lines('table', mixed)[0] ?? '', /^SET +PLATFORM +CURRENT /);
});
