import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BootImage, Event } from '@drydock/api';
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
  const told = happenings({ images: [image], releases, events: [event] });
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
