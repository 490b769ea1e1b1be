import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BootImage, BootImageStatus, Event } from '@drydock/api';
import { clusterTree, type SetPlace } from '@drydock/boot-images';
import fc from 'fast-check';
import { changed, changesOf } from './changes.ts';
import type { Answer, AnswerRow, PageState } from './page-state.ts';
import type { PageWorld } from './page-world.ts';
import { pageState } from './state.ts';

const now = new Date('2026-08-02T12:00:00Z');
const wanted = '9.8.20260802-0';
const old = '9.6.20260512-0';

interface Told extends BootImageStatus {
  readonly name: string;
  readonly domain?: string;
  readonly pin?: NonNullable<BootImage['spec']>['pin'];
}

const current: Told = { name: 'a', phase: 'Current', progress: '-', current: wanted, target: wanted };

function worldOf(sets: readonly Told[], more: Partial<PageWorld> = {}): PageWorld {
  const images = sets.map(
    ({ name, domain: _domain, pin, ...status }): BootImage => ({
      metadata: { name: `ms-${name}`, namespace: 'machines' },
      spec: { machineSet: { kind: 'MachineSet', name }, ...(pin === undefined ? {} : { pin }) },
      status: { set: `ms/${name}`, platform: 'vsphere', ...status },
    }),
  );
  const places = new Map(
    sets.map(({ name, domain = 'fd1' }): [string, SetPlace] => [
      `machines/ms-${name}`,
      { region: 'vc1', failureDomains: [domain] },
    ]),
  );
  return {
    ...{ now, images, tree: clusterTree({ images, places, name: 'harbour', policies: [], now }) },
    leader: { state: 'led', text: 'one leads boot images' },
    ...{ logins: [], releases: [], events: [], notes: [] },
    vcenters: { kind: 'read', value: [healthy] },
    ...more,
  };
}

const store = { path: '/dc/datastore/ds1', failureDomains: ['fd1'], accessible: true, free: 10 ** 12 };
const healthy = { server: 'vc1', asOf: '2026-08-02T11:59:30Z', version: '8.0.3', sessions: 1, datastores: [store] };

function only(world: PageWorld): AnswerRow {
  const { answers } = pageState(world).sections;
  assert.equal(answers.length, 1);
  return answers[0] ?? assert.fail();
}

test('a place is a plain yes where its sets have what is asked for and nothing speaks against its vCenter', () => {
  const row = only(worldOf([current, { ...current, name: 'b' }]));
  assert.deepEqual([row.answer, row.sets, row.ready, row.because], ['yes', 2, 2, []]);
  assert.deepEqual([row.kind, row.region, row.failureDomain], ['vCenter', 'vc1', 'fd1']);
});

test('each thing that speaks against a place is its answer, with the words of status and what to do', () => {
  const moving: Told = {
    ...current,
    ...{ phase: 'Uploading', current: old, message: 'it is uploaded' },
    progressDetail: { bytes: 10, total: 110, rate: 5, etaSeconds: 20 },
  };
  const blocked = { ...current, phase: 'Blocked', message: 'no space', nextStep: 'make room', current: old };
  const verified = (status: string): Told => ({
    ...current,
    conditions: [{ type: 'Verified', status, message: 'the image was withdrawn' }],
  });
  const vcenter = (health: Partial<typeof healthy> & { readonly trouble?: string }): Partial<PageWorld> => ({
    vcenters: { kind: 'read', value: [{ ...healthy, ...health }] },
  });
  const table: readonly (readonly [sets: readonly Told[], more: Partial<PageWorld>, Answer, RegExp, RegExp?])[] = [
    [[moving], {}, 'wait', /it is uploaded/],
    [[current, blocked], {}, 'no', /no space/, /make room/],
    [[{ ...blocked, phase: 'Failed' }], {}, 'no', /no space/],
    [[{ ...current, phase: 'Pending', message: 'not looked at yet' }], {}, 'wait', /not looked at yet/],
    [[{ ...current, phase: 'Skipped', reason: 'OwnerUnknown', message: 'no right' }], {}, 'unknown', /no right/],
    [[{ name: 'a' }], {}, 'wait', /nobody has looked at it yet/],
    [[{ name: 'a' }], { leader: { state: 'never', text: 'x' } }, 'unknown', /^x$/],
    [[verified('False')], {}, 'no', /withdrawn/],
    [[verified('Unknown')], {}, 'unknown', /withdrawn/],
    [
      [current],
      { leader: { state: 'vacant', text: 'Nobody leads since 5m', nextStep: 'drydock operator' } },
      'unknown',
      /Nobody leads since 5m/,
      /^drydock operator$/,
    ],
    [[current], { leader: { state: 'unread', text: 'who leads cannot be read' } }, 'unknown', /cannot be read/],
    [
      [current],
      { logins: [{ server: 'vc1', text: 'vc1 refused it', nextStep: 'put it right' }] },
      'no',
      /refused/,
      /put/,
    ],
    [[current], vcenter({ asOf: '2026-08-02T11:50:00Z' }), 'unknown', /looked at last at 2026-08-02T11:50/, /doctor/],
    [[current], vcenter({ asOf: 'never' }), 'unknown', /looked at last at never/],
    [[current], vcenter({ trouble: 'it does not answer' }), 'unknown', /does not answer/, /doctor/],
    [[current], vcenter({ datastores: [{ ...store, accessible: false }] }), 'no', /ds1 on vCenter vc1 is not access/],
    [[moving], vcenter({ datastores: [{ ...store, free: 99 }] }), 'no', /99 bytes free, .* wants 100 bytes/],
    [[current], { vcenters: { kind: 'unread', why: 'forbidden' } }, 'unknown', /could not be read: forbidden/],
    [[current], { vcenters: { kind: 'read', value: [] } }, 'unknown', /nobody has looked yet/, /drydock operator/],
  ];
  for (const [sets, more, answer, text, next] of table) {
    const row = only(worldOf(sets, more));
    assert.equal(row.answer, answer, String(text));
    assert.match(row.because[0]?.text ?? '', text);
    if (next !== undefined) assert.match(row.because[0]?.nextStep ?? '', next);
  }
  assert.deepEqual(only(worldOf([moving])).progress, moving.progressDetail);
});

test('FIND-16: machine sets that are skipped on purpose are counted apart, and no trouble of a place is theirs', () => {
  const skipped = (name: string, reason: string): Told => ({ name, phase: 'Skipped', reason, message: 'left alone' });
  const held = { ...skipped('p', 'Held'), phase: 'Pending' };
  const others = [skipped('o', 'OptedOut'), held, skipped('u', 'LeftToUpstream')];
  const managed = ['a', 'b', 'c'].map((name) => ({ ...current, name }));
  const { head, sections } = pageState(worldOf([...managed, ...others]));
  assert.deepEqual([head.answer, head.text], ['yes', 'Yes for 3, 3 not managed']);
  assert.deepEqual(head.share, { yes: 3, wait: 0, no: 0, unknown: 0, unmanaged: 3 });
  assert.deepEqual([sections.answers[0]?.answer, sections.answers[0]?.ready], ['yes', 3]);
  const vacant = { leader: { state: 'vacant', text: 'Nobody leads' } } as const;
  const alone = only(worldOf(others, vacant));
  assert.deepEqual([alone.answer, alone.because.map(({ text }) => text)], ['unmanaged', ['left alone']]);
  assert.equal(pageState(worldOf(others, vacant)).head.text, '3 not managed');
  assert.equal(pageState(worldOf([...managed, ...others], vacant)).head.text, 'Unknown for 3, 3 not managed');
  assert.deepEqual(pageState(worldOf([])).head.text, 'No machine sets');
});

test('FIND-16: the headline is the share of all machine sets, and those with problems come first', () => {
  const sets = Array.from({ length: 1000 }, (_, at) => ({
    ...{ ...current, name: `w${String(at).padStart(4, '0')}`, domain: `fd${at % 4}` },
    ...(at % 97 === 5 ? { phase: 'Failed', message: 'broken' } : {}),
  }));
  const datastores = [{ ...store, failureDomains: ['fd0', 'fd1', 'fd2', 'fd3'] }];
  const vcenters = { kind: 'read', value: [{ ...healthy, datastores }] } as const;
  const { head, sections } = pageState(worldOf(sets, { vcenters }));
  assert.deepEqual([head.answer, head.text], ['no', 'Yes for 989, no for 11']);
  assert.deepEqual(
    sections.answers.map(({ answer, share }) => [answer, share.yes + share.no]),
    [0, 1, 2, 3].map(() => ['no', 250]),
  );
  assert.ok(sections.sets.slice(0, 11).every(({ answer }) => answer === 'no'));
  assert.equal(sections.sets[11]?.set, 'ms/w0000');
});

test('what speaks against a place is the answer of each of its sets, too', () => {
  const { sections } = pageState(worldOf([current], { leader: { state: 'never', text: 'nobody has led yet' } }));
  assert.deepEqual([sections.sets[0]?.answer, sections.sets[0]?.phase], ['unknown', 'Current']);
  assert.deepEqual([sections.answers[0]?.ready, sections.answers[0]?.sets], [0, 1]);
});

test('a datastore that another failure domain lacks does not speak against this one; a pin that is obeyed is a yes that says so', () => {
  const value = [{ ...healthy, datastores: [store, { ...store, failureDomains: ['fd2'], accessible: false }] }];
  assert.equal(only(worldOf([current], { vcenters: { kind: 'read', value } })).answer, 'yes');
  const pin = { release: old, by: 'alice', until: '2026-08-09T12:00:00Z' };
  const pinned = { ...current, current: old, target: old, pin, progress: 'pinned by alice until 2026-08-09T12:00:00Z' };
  const row = only(worldOf([pinned]));
  assert.deepEqual([row.answer, row.because[0]?.text], ['yes', pinned.progress]);
});

test('FIND-17: the release that runs is not among those before it', () => {
  const entry = (version: string) => ({ version, state: 'Completed', startedTime: '2026-08-01T00:00:00Z' });
  const before = (version: string, history: readonly string[]): readonly string[] => {
    const release = { name: 'ClusterVersion version', version, conditions: [], waiting: [] };
    const { releases } = pageState(worldOf([], { releases: [{ ...release, history: history.map(entry) }] })).sections;
    return releases[0]?.history.map((one) => one.version) ?? assert.fail();
  };
  assert.deepEqual(before('4.21.6', ['4.21.6']), []);
  assert.deepEqual(before('4.21.6', ['4.21.6', '4.21.5', '4.20.3']), ['4.21.5', '4.20.3']);
  assert.deepEqual(before('4.21.6', ['4.21.6', '4.21.7', '4.21.6']), ['4.21.7', '4.21.6'], 'gone back');
  assert.deepEqual(before('4.21.7', ['4.21.6']), ['4.21.6'], 'not begun yet');
});

test('what is equal of many sets is said once with the first five names, and a set that is gone is of no place', () => {
  const many = Array.from({ length: 7 }, (_, at) => ({
    ...current,
    name: `w${at}`,
    phase: 'Failed',
    message: 'broken',
  }));
  const gone = { ...current, name: 'z', domain: 'fd9', phase: 'Skipped', reason: 'Deleting' };
  const row = only(worldOf([...many, gone]));
  assert.deepEqual([row.because.length, row.because[0]?.sets.length, row.because[0]?.more], [1, 5, 2]);
});

test('what others wrote stays on one line, without what nobody sees', () => {
  const hostile = 'x\n<img src=x onerror=alert(1)>\u202e\u001b[2J';
  const text = JSON.stringify(
    pageState(worldOf([{ ...current, phase: 'Failed', message: hostile, current: hostile }])),
  );
  assert.doesNotMatch(text, /\\n|\\u001b|\u202e/);
  const turned = [old, `${old}\u202e`, `\u202e${old}`].map((is, at) => ({ ...current, name: `w${at}`, current: is }));
  const ids = pageState(worldOf(turned)).sections.versions.map(({ id }) => id);
  assert.equal(new Set(ids).size, 3, 'rows that read alike are still three');
});

const status = fc.record(
  {
    phase: fc.constantFrom('Current', 'Uploading', 'Pending', 'Blocked', 'Skipped', 'Failed'),
    message: fc.constantFrom('one', 'two'),
    current: fc.constantFrom(old, wanted),
    target: fc.constantFrom(old, wanted),
    domain: fc.constantFrom('fd1', 'fd2'),
  },
  { requiredKeys: ['phase'] },
);
const worlds = fc
  .dictionary(fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'), status, { maxKeys: 8 })
  .map((sets) => pageState(worldOf(Object.entries(sets).map(([name, of]) => ({ name, ...of })))));

test('a reader who takes the changes has what a reader who comes now has, and nothing is sent for nothing', () => {
  fc.assert(
    fc.property(fc.array(worlds, { minLength: 2, maxLength: 6 }), ([first, ...others]) => {
      let [read, sent] = [first as PageState, first as PageState];
      for (const next of others) {
        const change = changesOf(sent, next);
        if (change === undefined) assert.deepEqual(next.sections, sent.sections);
        else read = changed(read, JSON.parse(JSON.stringify(change)));
        sent = next;
        assert.deepEqual(read.sections, next.sections);
        assert.deepEqual(read.head, next.head);
      }
      assert.equal(changesOf(sent, sent), undefined);
    }),
  );
});

test('one set that changes among a thousand is one row of a change', () => {
  const sets = Array.from({ length: 1000 }, (_, at) => ({ ...current, name: `w${String(at).padStart(4, '0')}` }));
  const before = pageState(worldOf(sets));
  const after = pageState(worldOf(sets.map((set) => (set.name === 'w0500' ? { ...set, message: 'looked at' } : set))));
  const change = changesOf(before, after) ?? assert.fail('there is a change');
  assert.deepEqual(Object.keys(change.sections), ['sets']);
  assert.deepEqual([change.sections.sets?.set.length, change.sections.sets?.order], [1, undefined]);
});

test('FIND-23: without a fault, no headline says no or unknown', () => {
  const skipped = ['OptedOut', 'Owned', 'LeftToUpstream', 'Held'].map(
    (reason): Told => ({
      ...{ name: reason.toLowerCase(), phase: 'Skipped', reason, message: 'skipped on purpose' },
    }),
  );
  const moving = ['Downloading', 'Uploading', 'Publishing', 'Switching', 'Pending'].map(
    (phase): Told => ({
      ...{ ...current, name: phase.toLowerCase(), phase, current: old },
    }),
  );
  const pinned = { ...current, name: 'pinned', target: old, current: old, pin: { release: old, by: 'alice' } };
  const fresh = { name: 'fresh' };
  const { head } = pageState(worldOf([current, pinned, fresh, ...moving, ...skipped]));
  assert.deepEqual([head.answer, head.text], ['wait', 'Yes for 2, wait for 6, 4 not managed']);
  assert.equal(pageState(worldOf(skipped)).head.text, '4 not managed');
});

test('FIND-23: equal things of a day are one row of the timeline, which names the first five', () => {
  const entry = (minute: number) => ({
    ...{ id: '1', release: wanted, by: 'release' },
    since: new Date(Date.UTC(2026, 7, 2, 9, minute)).toISOString(),
  });
  const sets = Array.from({ length: 200 }, (_, at) => ({
    ...{ ...current, name: `w${String(at).padStart(3, '0')}`, history: [entry(at % 60)] },
  }));
  const { timeline } = pageState(worldOf(sets)).sections;
  assert.deepEqual(
    timeline.map((row) => ({ ...row, id: 'any' })),
    [
      {
        id: 'any',
        ...{ time: '2026-08-02T09:59:00Z', first: '2026-08-02T09:00:00Z', count: 200, kind: 'image', warning: false },
        ...{ what: 'Image in use', text: `${wanted}: the release asked for it`, more: 195 },
        about: ['ms/w000', 'ms/w001', 'ms/w002', 'ms/w003', 'ms/w004'],
      },
    ],
  );
  const later = { ...current, name: 'x', history: [{ ...entry(0), since: '2026-08-03T00:00:00Z' }] };
  assert.deepEqual(
    pageState(worldOf([...sets, later])).sections.timeline.map(({ time, count }) => [time, count]),
    [
      ['2026-08-03T00:00:00Z', 1],
      ['2026-08-02T09:59:00Z', 200],
    ],
    'another day is another row',
  );
});

test('FIND-23: Events that differ by the name of the machine set or the operation alone are one row', () => {
  const event = (name: string, of: Partial<Event>): Event => ({
    ...{ metadata: { name: `${name} ${of.reason}`, namespace: 'machines' }, type: 'Normal', ...of },
    ...{ eventTime: '2026-08-02T09:00:00.000000Z', reportingController: 'drydock.dev/boot-images' },
    regarding: { kind: 'MachineSet', name, namespace: 'machines' },
  });
  const events = ['a', 'b'].flatMap((name) => [
    event(name, { reason: 'Planned', note: `machineset ${name}: ${old} → ${wanted}` }),
    event(name, { reason: 'UploadStarted', note: `template t (operation 0${name}12)` }),
  ]);
  const rows = pageState(worldOf([current, { ...current, name: 'b' }], { events })).sections.timeline;
  assert.deepEqual(
    rows.map(({ what, text, about }) => [what, text, ...about]),
    [
      ['Planned', `${old} → ${wanted}`, 'ms/a', 'ms/b'],
      ['UploadStarted', 'template t', 'ms/a', 'ms/b'],
    ],
  );
});

test('FIND-18: the timeline says who pinned a machine set, who lifted the pin, and why', () => {
  const pin = { id: '1', release: old, by: 'alice', reason: 'nodes do not boot', since: '2026-08-01T09:00:00Z' };
  const rows = (lifted: object) =>
    pageState(worldOf([{ ...current, pins: [{ ...pin, ...lifted }] }])).sections.timeline.map(
      ({ time, what, text, about }) => [time, what, text, ...about].join(' | '),
    );
  const pinned = `2026-08-01T09:00:00Z | Pinned | ${old}: by alice: nodes do not boot | ms/a`;
  const liftedAt = '2026-08-02T09:00:00Z';
  assert.deepEqual(rows({ liftedAt, liftedBy: 'bob', liftedReason: 'fixed in 9.8' }), [
    `${liftedAt} | Pin lifted | ${old}: by bob: fixed in 9.8 | ms/a`,
    pinned,
  ]);
  assert.deepEqual(
    rows({ liftedAt, liftedBy: 'unknown' })[0],
    `${liftedAt} | Pin lifted | ${old}: user not recorded | ms/a`,
  );
});

test('FIND-23: an image has the day on which it was built, where its name says it', () => {
  const images = [wanted, '418.94.202501221327-0', 'ami-0123456789'];
  const rows = pageState(worldOf(images.map((is, at) => ({ ...current, name: `w${at}`, current: is })))).sections
    .versions;
  assert.deepEqual(
    images.map((is) => rows.find((row) => row.current === is)?.built),
    ['2026-08-02', '2025-01-22', ''],
  );
});

test('time alone changes nothing', () => {
  const world = (at: Date) => pageState(worldOf([current], { now: at }));
  assert.equal(changesOf(world(now), world(new Date(now.getTime() + 1000))), undefined);
});
