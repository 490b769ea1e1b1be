import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import type { BootImage, BootImagePolicy, BootImageStatus } from '@drydock/api';
import { clusterTree, type SetPlace } from '@drydock/boot-images';
import { treeText } from './text.ts';

const now = new Date('2026-08-02T12:00:00Z');
const [old, wanted] = ['9.6.20260512-0', '9.8.20260802-0'];

interface Told extends BootImageStatus {
  readonly pin?: NonNullable<BootImage['spec']>['pin'];
}

/** What `status` says of a set. */
function image(name: string, { pin, ...status }: Told): BootImage {
  const machineSet = { apiGroup: 'machine.openshift.io', kind: 'MachineSet', name };
  return {
    metadata: { name: `ms-${name}`, namespace: 'machines' },
    spec: { machineSet, ...(pin === undefined ? {} : { pin }) },
    status: { set: `ms/${name}`, platform: 'vsphere', target: wanted, ...status },
  };
}

const current: Told = { phase: 'Current', progress: '-', current: wanted, since: '2026-08-02T09:00:00Z' };
const failed: Told = {
  ...{ phase: 'Blocked', progress: 'blocked: CanaryFailed', reason: 'CanaryFailed', current: old, policy: 'gold' },
  ...{ message: 'machine canary-1 was made from it and did not become a node', nextStep: 'drydock explain' },
  since: '2026-08-02T11:55:00Z',
};

const at = (region: string, domain: string): SetPlace => ({ region, failureDomains: [domain] });

function text(
  sets: Readonly<Record<string, readonly [place: SetPlace, status: Told]>>,
  options: { readonly all?: boolean; readonly width?: number; readonly policies?: readonly BootImagePolicy[] } = {},
): string {
  const { all = false, width, policies = [] } = options;
  const images = Object.entries(sets).map(([name, [, status]]) => image(name, status));
  const places = new Map(Object.entries(sets).map(([name, [place]]) => [`machines/ms-${name}`, place]));
  const tree = clusterTree({ images, places, name: 'harbour', policies, now });
  return stripVTControlCharacters(treeText(tree, { now: now.getTime(), all, width }));
}

test('what is fine is one line for each branch, and what is not has its place, its reason and the next step', () => {
  const sets = {
    a: [at('vc1', 'fd1'), current],
    b: [at('vc1', 'fd2'), current],
    c: [at('vc2', 'fd1'), current],
    d: [at('vc2', 'fd2'), failed],
  } as const;
  assert.equal(
    text(sets),
    `harbour (OpenShift)
└─ release 9.8.20260802-0
   ├─ ✔ vCenter vc1: 2 sets Current
   └─ vCenter vc2
      ├─ ✔ fd1: ms/c  Current  3h
      └─ fd2
         └─ 9.6.20260512-0
            └─ ✖ ms/d  Blocked  5m  blocked: CanaryFailed
                   machine canary-1 was made from it and did not become a node
                   policy: gold
                   next: drydock explain
`,
  );
  const whole = text(sets, { all: true });
  for (const name of ['ms/a', 'ms/b', 'ms/c', 'ms/d']) assert.ok(whole.includes(`${name}  `), name);
});

test('equal lines are one with the names of the sets, and a set about which anything else is said has its own', () => {
  const stuck = (name: string): Told => ({ ...failed, message: `machineset ${name} waits` });
  const place = at('vc1', 'fd1');
  const sets = Object.fromEntries(
    ['w1', 'w2', 'w3', 'w4', 'w5', 'w6', 'w7'].map((name) => [name, [place, stuck(name)] as const]),
  );
  const said = text({ ...sets, x: [place, { ...stuck('x'), nextStep: 'something else' }] });
  assert.match(said, /✖ 7 sets Blocked {2}blocked: CanaryFailed: ms\/w1, .*, ms\/w5 and 2 more \(--all\)\n/);
  assert.match(said, /✖ ms\/x {2}Blocked .*\n(?:.*\n)*.*next: something else\n/);
});

test('what is left alone for one reason is one line wherever it is; for two it is not', () => {
  const skip = (brief: string): Told => ({ phase: 'Skipped', progress: `skipped: ${brief}`, current: old });
  const [a, b] = [at('vc1', 'fd1'), at('vc2', 'fd1')];
  assert.match(
    text({ a: [a, skip('by request')], b: [b, skip('by request')] }),
    /└─ • release .*: 2 sets Skipped {2}skipped: by request: ms\/a, ms\/b\n/,
  );
  assert.match(text({ a: [a, skip('by request')], b: [b, skip('owned')] }), /vCenter vc1\n(?:.*\n)*.*vCenter vc2\n/);
});

test('a set with a pin, or with an image of which nobody knows that it is good, is not folded', () => {
  const place = at('vc1', 'fd1');
  const pin = { release: old, by: 'alice', until: '2026-08-09T12:00:00Z' };
  const pinned = { ...current, target: old, current: old, pin, progress: 'pinned by alice until 2026-08-09T12:00:00Z' };
  const unknown = { ...current, progress: 'unverified', conditions: [{ type: 'Verified', status: 'Unknown' }] };
  const said = text({ a: [place, current], b: [place, pinned], c: [place, unknown] });
  assert.match(
    said,
    /release 9\.6\.20260512-0\n(?:.*\n)*.*• ms\/b {2}Current {2}3h {2}pinned by alice until 2026-08-09/,
  );
  assert.match(said, /✔ ms\/a .*\n.*• ms\/c {2}Current {2}3h {2}unverified\n/);
  const lapsed = { ...pinned, pin: { ...pin, until: '2026-08-01T00:00:00Z' } };
  assert.match(text({ b: [place, lapsed] }), /✔ release/);
});

test('policies that are followed are one line, each other one has its own', () => {
  const policy = (name: string, status: string, observedGeneration = 1): BootImagePolicy => ({
    metadata: { name, generation: 1 },
    spec: {},
    status: {
      ...{ observedGeneration, selected: 3 },
      conditions: [{ type: 'Accepted', status, reason: 'WindowNeverOpens', message: 'it never opens' }],
    },
  });
  const policies = [policy('c', 'True', 0), policy('b', 'False'), policy('a', 'True')];
  assert.match(
    text({}, { policies }),
    /^policies, with the number of their sets: a \(3\)\npolicy b is not followed: WindowNeverOpens: it never opens\npolicy c: nobody has looked at it yet\n$/,
  );
});

test('no line is longer than the terminal, at any width, and no word of it is lost', () => {
  const long = `voyage-4qxl2-rhcos-fd1-9.8.20260802-0-507eb234-${'x'.repeat(90)}`;
  const message = `${'a sentence that goes on '.repeat(12)}${long}`;
  const progress = `blocked: ${'some more words '.repeat(20)}`;
  const set = { ...failed, progress, template: { server: 'vc1', name: long }, message };
  const place = at('vcenter-with-a-long-name.some.where.example', 'fd1');
  const plain = text({ a: [place, set], b: [place, current] });
  const words = (of: string): string => of.replaceAll(/[\s│├└─]/g, '');
  for (let width = 80; width <= 200; width += 1) {
    const said = text({ a: [place, set], b: [place, current] }, { width });
    for (const line of said.split('\n')) assert.ok(line.length <= width, `${width}: ${line}`);
    assert.equal(words(said), words(plain), String(width));
  }
});

test('what others wrote forges no line', () => {
  const place = at('vc1', 'fd1');
  const said = text({ a: [place, { ...failed, message: 'x\n└─ ✔ all is well\u001b[2J' }] });
  assert.doesNotMatch(said, /^└─ ✔/m);
});
