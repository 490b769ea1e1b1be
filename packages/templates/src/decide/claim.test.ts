import assert from 'node:assert/strict';
import { test } from 'node:test';
import { uniqueName } from '../names.ts';
import { ADOPTION_MS, whyKept } from './claim.ts';
import type { Candidate } from './machine.ts';

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
  ...{ born: true, proof: 'keyed', renew: false, own: true, pointers: [], verified: true, past: 'marking' },
  ...{ ran: false, uploader: 'gone', uploaded: false, beats: true, tags: [], linked: [], unseen: [] },
  ...{ ref: { type: 'VirtualMachine', value: 'vm-1' }, unchangedMs: ADOPTION_MS },
  mark: { owner: 'us', operation, digest, release: '9.8', holder: 'h', instanceUuid: 'u' },
} as unknown as Candidate;

test('OWN-18 an import that is about to be made a template is forgotten a day after, where its importer is dead and it surely never became one', () => {
  const waits = /^it is uploaded whole, and about to be made a template/;
  const cases: readonly (readonly [what: string, machine: Candidate, forgotten: boolean, kept: boolean])[] = [
    ['a day after', base, true, false],
    ['before', { ...base, unchangedMs: ADOPTION_MS - 1 }, true, true],
    ['by a caller that does not forget', base, false, true],
    ['its importer lives', { ...base, uploader: 'live' }, true, true],
    ['it is imported here', { ...base, uploader: 'here' }, true, true],
    ['a task runs on it', { ...base, busy: true }, true, true],
  ];
  for (const [what, machine, forgotten, kept] of cases) {
    const why = whyKept(machine, forgotten);
    if (kept) assert.match(why ?? '', waits, what);
    else assert.equal(why, undefined, what);
  }
  assert.match(whyKept({ ...base, past: 'unknown' }, true) ?? '', /not recorded here whether it was a template/);
});
