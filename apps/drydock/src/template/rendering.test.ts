import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Generation, ListedTemplate, Plan } from '@drydock/templates';
import { certificateLine } from './certificate.ts';
import { checkText } from './check-line.ts';
import { templateLines } from './doctor-server.ts';
import { collectedText } from './gc.ts';
import { byPointer, historyRows, historyText } from './history.ts';
import { listText } from './list.ts';
import { planText } from './plan.ts';
import { before, generationOf } from './revert.ts';

const now = Date.parse('2026-01-02T00:00:00Z');
const ref = { type: 'VirtualMachine', value: 'vm-1' };
const uuid = (digit: string): string => `${digit.repeat(8)}-0000-4000-8000-000000000000`;

function generation(name: string, digit: string, change: Partial<Generation> = {}): Generation {
  const instanceUuid = uuid(digit);
  return {
    name,
    stableName: 'rhcos',
    current: false,
    instanceUuid,
    revertible: true,
    reason: 'it is complete',
    release: `9.${digit}`,
    ...change,
  };
}

const swapped = [
  generation('rhcos', '3', { current: true }),
  generation('rhcos-retired-22222222', '2', { retiredAt: '2026-01-01T23:00:00Z' }),
  generation('rhcos-retired-11111111', '1', {
    retiredAt: '2026-01-01T00:00:00Z',
    revertible: false,
    reason: 'a clone of it runs',
  }),
];
const pointed = [generation('rhcos-9.2-b', '2'), generation('rhcos-9.1-a', '1')];
const run = {
  command: (...words: readonly string[]) => `drydock template ${words.join(' ')}`,
  flags: { pointer: 'p.json', pointerVariable: 'template' },
};

test('a listing keeps the templates of one name together, the newest first', () => {
  const template = (name: string, change: Partial<ListedTemplate>): ListedTemplate => ({
    name,
    instanceUuid: uuid('1'),
    ref,
    role: 'unmarked',
    isTemplate: true,
    ...change,
  });
  const text = listText(
    [
      template('a-retired-1', { role: 'retired', stableName: 'a', createdAt: '2026-01-01T00:00:00Z' }),
      template('p-9.6-x', { role: 'current', owner: 'me', release: '9.6' }),
      template('a', { role: 'current', stableName: 'a', createdAt: '2026-01-01T23:00:00Z' }),
      template('hand', { version: '8.0' }),
    ],
    { wide: false, now },
  );
  assert.equal(
    text,
    `NAME          ROLE        RELEASE   AGE   OWNER
a             current     -         60m   -
a-retired-1   retired     -         24h   -
hand          unmarked    8.0       -     -
p-9.6-x       published   9.6       -     me
`,
  );
});

test('a history names the command that goes back to each generation, or why none does', () => {
  assert.equal(
    historyText(historyRows(swapped, run, undefined), { wide: false, now }),
    `NAME                     STATE      RELEASE   AGE   RETIRED   GO BACK
rhcos                    current    9.3       -     -         -
rhcos-retired-22222222   kept       9.2       -     60m       drydock template revert rhcos --to 22222222
rhcos-retired-11111111   unusable   9.1       -     24h       a clone of it runs
`,
  );
  const rows = historyRows(pointed, run, 'rhcos-9.2-b');
  assert.deepEqual(
    rows.map(({ current, back }) => [current, back]),
    [
      [true, ''],
      [false, 'drydock template revert rhcos --to rhcos-9.1-a --pointer p.json'],
    ],
  );
});

test('the kinds of publication are told apart, also while a swap is between its renames', () => {
  assert.equal(byPointer(pointed), true);
  assert.equal(byPointer(swapped), false);
  assert.equal(byPointer([generation('rhcos-retired-22222222', '2')]), false);
});

test('a generation is named by its name, its UUID or the beginning of it', () => {
  assert.equal(generationOf(swapped, undefined, 'rhcos'), undefined);
  assert.equal(generationOf(swapped, 'rhcos-retired-22222222', 'rhcos')?.name, 'rhcos-retired-22222222');
  assert.equal(generationOf(swapped, uuid('1').toUpperCase(), 'rhcos')?.name, 'rhcos-retired-11111111');
  assert.equal(generationOf(swapped, '2222', 'rhcos')?.name, 'rhcos-retired-22222222');
  assert.throws(() => generationOf(swapped, '2', 'rhcos'), /more than one generation 2|rhcos has .* generation 2/);
  assert.throws(() => generationOf(swapped, 'ffff', 'rhcos'), /rhcos has no generation ffff/);
});

test('a pointer goes back to the newest usable generation that is older', () => {
  assert.equal(before(pointed, 'rhcos-9.2-b', 'rhcos', 'p.json').name, 'rhcos-9.1-a');
  assert.throws(() => before(pointed, 'rhcos-9.1-a', 'rhcos', 'p.json'), /there is no older generation/);
  assert.throws(() => before(pointed, 'other', 'rhcos', 'p.json'), /p\.json names other, which is no generation of it/);
});

test('a plan is its calls in order, and an empty one says so', () => {
  const plan = {
    version: 1,
    kind: 'gc',
    server: 'vc',
    folder: '/DC0/vm/x',
    target: 'x',
    world: 'w',
    wish: {},
    steps: [],
  };
  const steps = [{ step: 'destroy', calls: ['Destroy_Task vm-1 "a"'], text: 'Remove a: nothing uses it.' }];
  assert.equal(planText(plan as unknown as Plan), 'gc x in /DC0/vm/x on vc: nothing to change\n');
  assert.equal(
    planText({ ...plan, steps } as unknown as Plan),
    'gc x in /DC0/vm/x on vc:\n  Remove a: nothing uses it.\n      Destroy_Task vm-1 "a"\n',
  );
});

test('a collection tells what went first', () => {
  const collected = [
    { name: 'b', removed: false, reason: 'kept as a way back' },
    { name: 'a', removed: true, reason: 'nothing uses it' },
  ];
  assert.equal(
    collectedText(collected, true),
    'NAME   RESULT     WHY\na      would go   nothing uses it\nb      stays      kept as a way back\n',
  );
});

test('checks are aligned, and a finding has its next step below', () => {
  assert.equal(
    checkText([
      { name: 'tls', state: 'ok', detail: 'trusted' },
      { name: 'privileges', state: 'FAIL', detail: 'lacks\u001b[2J X', next: 'govc role.update' },
    ]),
    'ok    tls         trusted\nFAIL  privileges  lacks [2J X\n                  next: govc role.update\n',
  );
});

test('a certificate is judged by the trust that is set', () => {
  const seen = { subject: 'CN=vc', issuer: 'CN=ca', validTo: new Date(now + 90 * 86_400_000), fingerprint: 'AB:CD' };
  const judged = (
    change: Partial<typeof seen & { untrusted: string }>,
    trust: Parameters<typeof certificateLine>[1],
  ): string => certificateLine({ ...seen, ...change }, trust, { command: 'doctor', now }).state;
  assert.equal(judged({}, {}), 'ok');
  assert.equal(judged({ untrusted: 'SELF_SIGNED' }, {}), 'FAIL');
  assert.equal(judged({ untrusted: 'SELF_SIGNED' }, { sha256Pin: 'abcd' }), 'ok');
  assert.equal(judged({}, { sha256Pin: 'ffff' }), 'FAIL');
  assert.equal(judged({ untrusted: 'SELF_SIGNED' }, { insecure: true }), 'warn');
  assert.equal(judged({ validTo: new Date(now + 86_400_000) }, {}), 'warn');
});

test('KEEP-6 doctor names each template that is kept and never pointed at, those in use first, with the command that adopts it', () => {
  const listed = (name: string, change: Partial<ListedTemplate>): ListedTemplate => ({
    ...{ name, instanceUuid: uuid('1'), ref, role: 'unproven', isTemplate: true, reason: 'it has no ownership record' },
    ...change,
  });
  const templates = [
    listed('proven', { role: 'current', proof: 'keyed' }),
    listed('lost', {}),
    listed('again', { registeredAgain: true, reason: 'it was registered again' }),
    listed('machine', { isTemplate: false }),
    listed('keyless', { role: 'current', proof: 'noted' }),
    ...Array.from({ length: 9 }, (_, at) => listed(`more-${at}`, {})),
  ];
  const lines = templateLines(templates, '/DC0/vm', {
    adopt: (name) => `adopt ${name}`,
    usedBy: (name) => (name === 'again' ? 'machineset worker' : undefined),
  });
  assert.deepEqual(lines[0], {
    ...{ name: 'templates', state: 'ok' },
    detail: '2 published, 11 unproven, 1 registered again in /DC0/vm',
  });
  const again = 'again is registered again, kept and never pointed at: it was registered again';
  assert.deepEqual(
    lines.slice(1, 5).map(({ state, detail, next }) => [state, detail, next]),
    [
      ['warn', `${again}; machineset worker refers to it`, 'adopt again'],
      ['warn', 'lost is unproven, kept and never pointed at: it has no ownership record', 'adopt lost'],
      [
        'warn',
        'machine is unproven, kept and never pointed at: it has no ownership record',
        'drydock template list -o wide',
      ],
      [
        'warn',
        'keyless is unproven, kept and never pointed at: it has no ownership record',
        'drydock template doctor --mark-key FILE',
      ],
    ],
  );
  assert.deepEqual([lines.length, lines.at(-1)?.detail], [12, 'and 3 more']);
  const half = listed('half', { role: 'unfinished', proof: 'noted', isTemplate: false });
  assert.deepEqual(
    templateLines([half], '/DC0/vm', { adopt: String }).map(({ state, detail }) => [state, detail]),
    [['warn', '1 unfinished in /DC0/vm']],
  );
  assert.match(listText(templates, { wide: false, now }), /^again +registered again /m);
});
