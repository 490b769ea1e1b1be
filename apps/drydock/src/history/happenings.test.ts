import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BootImage, BootImageStatus, Event } from '@drydock/api';
import { happenings } from './happenings.ts';

const image: BootImage = {
  metadata: { name: 'ms-a', namespace: 'machines' },
  spec: {
    machineSet: { kind: 'MachineSet', name: 'a' },
    pin: { release: '9.6', by: 'alice', since: '2026-01-03T09:00:00Z', reason: 'nodes do not boot' },
  },
  status: {
    set: 'ms/a',
    history: [
      { id: '3', release: '9.6', image: 't-9.6', since: '2026-01-03T09:00:05Z', by: 'revert' },
      { id: '2', release: '9.8', image: 't-9.8', since: '2026-01-02T00:00:00Z', by: 'argocd' },
      { id: '1', release: '9.6', image: 't-9.6', since: '2026-01-01T00:00:00Z', by: 'found' },
    ],
  },
};
const now = new Date('2026-01-05T00:00:00Z');
const event: Event = {
  metadata: { name: 'e', namespace: 'machines' },
  eventTime: '2026-01-03T09:00:04.000000Z',
  reportingController: 'drydock.dev/boot-images',
  reason: 'Switched',
  note: 'a now uses t-9.6',
  regarding: { kind: 'MachineSet', namespace: 'machines', name: 'a' },
  series: { count: 2, lastObservedTime: '2026-01-03T09:00:06.000000Z' },
};

test('what happened is told newest first: moves with who, pins with why, releases and Events of the same sets', () => {
  const releases = [
    {
      ...{ name: 'Payload tools', conditions: [], waiting: [] },
      history: [
        { version: '2', state: 'Partial', startedTime: '2026-01-04T00:00:00Z', acceptedRisks: 'it is final' },
        {
          version: '1',
          state: 'Completed',
          startedTime: '2025-01-01T00:00:00Z',
          completionTime: '2025-01-01T01:00:00Z',
        },
      ],
    },
  ];
  const told = happenings({ images: [image], releases, events: [event], now });
  assert.deepEqual(
    told.map(({ subject, who, what }) => `${subject} | ${who} | ${what}`),
    [
      'Payload tools | release | began to apply 2; accepted: it is final',
      'ms/a | drydock.dev/boot-images | Switched: a now uses t-9.6 (2 times)',
      'ms/a | revert | was moved by its pin to 9.6 (t-9.6)',
      'ms/a | alice | was pinned to 9.6: nodes do not boot',
      'ms/a | argocd | was moved by argocd to 9.8 (t-9.8)',
      'ms/a | found | was found with 9.6 (t-9.6)',
      'Payload tools | release | has applied 1',
      'Payload tools | release | began to apply 1',
    ],
  );
});

test('FIND-18: who pinned a machine set and why, and who lifted the pin, are in the history after it is lifted', () => {
  const { spec: { pin: _, ...spec } = {}, status = {}, metadata } = image;
  const pinned = { release: '9.6', by: 'alice', since: '2026-01-03T09:00:00Z', reason: 'nodes do not boot' };
  const lifted = { liftedAt: '2026-01-04T08:00:00Z', liftedBy: 'bob', liftedReason: 'fixed in 9.8' };
  const history = (status.history ?? []).map((entry) =>
    entry.by === 'revert' ? { ...entry, pinnedBy: 'alice', pinReason: 'nodes do not boot' } : entry,
  );
  const of = (pins: BootImageStatus['pins']): BootImage => ({
    ...{ metadata, spec },
    status: { ...status, history, ...(pins === undefined ? {} : { pins }) },
  });
  const rows = (pins: BootImageStatus['pins']): readonly string[] =>
    happenings({ images: [of(pins)], releases: [], events: [], now }).map(
      ({ when, who, what }) => `${when} | ${who} | ${what}`,
    );
  assert.deepEqual(rows([{ id: 'p', ...pinned, ...lifted }]).slice(0, 3), [
    '2026-01-04T08:00:00Z | bob | its pin to 9.6 was lifted: fixed in 9.8',
    '2026-01-03T09:00:05Z | alice | was moved by its pin to 9.6 (t-9.6): nodes do not boot',
    '2026-01-03T09:00:00Z | alice | was pinned to 9.6: nodes do not boot',
  ]);
  const unsaid = rows([{ id: 'p', ...pinned, liftedAt: lifted.liftedAt, liftedBy: 'unknown' }]);
  assert.equal(unsaid[0], '2026-01-04T08:00:00Z | somebody | its pin to 9.6 was lifted');
});

test('FIND-17: RELEASE is the OpenShift version that brought an image, which the first move to it tells', () => {
  const applied = (version: string, completionTime: string) => ({ version, state: 'Completed', completionTime });
  const cluster = {
    ...{ name: 'ClusterVersion version', conditions: [], waiting: [] },
    history: [
      { version: '4.22.0', state: 'Partial', startedTime: '2026-01-02T00:00:00Z' },
      applied('4.21.7', '2026-01-01T06:00:00Z'),
      applied('4.21.6', '2026-01-01T00:00:00.900Z'),
    ],
  };
  const set = (name: string, history: NonNullable<BootImageStatus['history']>, apiGroup?: string): BootImage => ({
    metadata: { name: `ms-${name}`, namespace: 'machines' },
    spec: { machineSet: { kind: 'MachineSet', name, ...(apiGroup === undefined ? {} : { apiGroup }) } },
    status: { set: `ms/${name}`, history },
  });
  const images = [
    set('a', [
      { id: '3', release: '9.8', since: '2026-01-04T00:00:00Z', by: 'revert' },
      { id: '2', release: '9.9', since: '2026-01-03T00:00:00Z', by: 'release' },
      { id: '1', release: '9.8', since: '2026-01-01T00:00:00Z', by: 'release' },
      { id: '0', release: '9.6', since: '2025-12-01T00:00:00Z', by: 'found' },
    ]),
    set('late', [{ id: '1', release: '9.8', since: '2026-01-03T00:00:00Z', by: 'release' }]),
    set('b', [{ id: '1', release: 'v1.34', since: '2026-01-03T00:00:00Z', by: 'release' }], 'cluster.x-k8s.io'),
  ];
  const rows = happenings({ images, releases: [cluster], events: [], now });
  const moves = rows.filter(({ from }) => from === 'history');
  assert.deepEqual(
    moves.map(({ subject, imageVersion, release }) => [subject, imageVersion, release]),
    [
      ['ms/a', '9.8', '4.21.6'],
      ['ms/a', '9.9', '4.21.7'],
      ['ms/late', '9.8', '4.21.6'],
      ['ms/b', 'v1.34', undefined],
      ['ms/a', '9.8', '4.21.6'],
      ['ms/a', '9.6', undefined],
    ],
  );
  assert.ok(rows.some(({ what, release }) => what === 'has applied 4.21.7' && release === '4.21.7'));
});
