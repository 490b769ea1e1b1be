import assert from 'node:assert/strict';
import { test } from 'node:test';
import { uniqueName } from '../names.ts';
import { ADOPTION_MS, whyKept } from './claim.ts';
import type { Candidate } from './machine.ts';

const HOUR = 3_600_000;
const [operation, digest] = ['0123abcd', 'd'.repeat(64)];
const base = {
  ...{
    name: uniqueName('rhcos', '9.8', digest, operation),
    instanceUuid: 'u',
    isTemplate: false,
    poweredOff: true,
    busy: false,
    chained: false,
  },
  ...{ born: true, proof: 'code', renew: false, pointers: [], verified: true, past: 'marking', recorded: false },
  ...{ ran: false, uploader: 'gone', uploaded: false, beats: true, tags: [], linked: [], unseen: [] },
  ...{ ref: { type: 'VirtualMachine', value: 'vm-1' }, createdAt: 0, markingSince: HOUR },
  mark: { owner: 'us', operation, digest, release: '9.8', holder: 'h', instanceUuid: 'u' },
} as unknown as Candidate;

test('OWN-18 an import that is about to be made a template is forgotten a day after, where its importer is dead and it surely never became one', () => {
  const waits = /^it is finished, and about to be made a template/;
  const later = HOUR + ADOPTION_MS;
  const { markingSince: _, ...untold } = base;
  const cases: readonly (readonly [what: string, machine: Candidate, now: number | undefined, kept: boolean])[] = [
    ['a day after', base, later, false],
    ['before', base, later - 1, true],
    ['by whoever cannot tell the time', base, undefined, true],
    ['nothing tells whether it was one', untold, later, true],
    ['its importer lives', { ...base, uploader: 'live' }, later, true],
    ['its importer spoke a minute ago', { ...base, uploader: 'unknown', lastBeat: later - 60_000 }, later, true],
    ['it is imported here', { ...base, uploader: 'here' }, later, true],
    ['a task runs on it', { ...base, busy: true }, later, true],
  ];
  for (const [what, machine, now, kept] of cases) {
    const why = whyKept(machine, now);
    if (kept) assert.match(why ?? '', waits, what);
    else assert.equal(why, undefined, what);
  }
});
