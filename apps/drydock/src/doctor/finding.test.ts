import assert from 'node:assert/strict';
import { test } from 'node:test';
import { codeOf, diagnosisOf, diagnosisText, type Finding, lookedAt } from './finding.ts';
import { setLine } from './machine-sets.ts';

const never = new AbortController().signal;
const finding = (state: Finding['state'], more: Partial<Finding> = {}): Finding => ({
  ...{ area: 'cluster', name: 'one', state, detail: 'said' },
  ...more,
});

test('a failure is 3, what could not be looked at is 5, warnings and what means nothing here are 0', () => {
  const code = (...checks: readonly Finding[]): number => codeOf(diagnosisOf(checks));
  const unknown = finding('skip', { undecided: true });
  assert.equal(code(finding('ok'), finding('warn'), finding('skip')), 0);
  assert.equal(code(finding('ok'), unknown), 5);
  assert.equal(code(unknown, finding('FAIL')), 3);
});

test('a look that throws is a finding; one that is interrupted is not', async () => {
  const [found] = await lookedAt('rights', 'watch', never, () => Promise.reject(new Error('the server said no')));
  assert.deepEqual(found, {
    ...{ area: 'rights', name: 'watch', state: 'skip', undecided: true },
    detail: 'could not be looked at: the server said no',
  });
  const over = AbortSignal.abort(new Error('SIGINT'));
  await assert.rejects(
    lookedAt('rights', 'watch', over, () => Promise.reject(new Error('aborted'))),
    /SIGINT/,
  );
});

test('findings are told by area, each with what to do, and counted at the end', () => {
  const text = diagnosisText(
    diagnosisOf([
      finding('ok'),
      finding('FAIL', { area: 'vcenter vc1\u001b[2J', name: 'login', next: 'look there' }),
      finding('warn', { name: 'second' }),
    ]),
  );
  assert.equal(
    text,
    [
      'cluster',
      'ok    one     said',
      'warn  second  said',
      '',
      'vcenter vc1 [2J',
      'FAIL  login  said',
      '             next: look there',
      '',
      '1 check failed, 1 warning.',
      '',
    ].join('\n'),
  );
  assert.match(diagnosisText(diagnosisOf([finding('ok')])), /\nEverything is as it should be\.\n$/);
});

test('a set beside an upstream controller is that one’s to see to; what nobody could read is undecided', () => {
  const set = { set: 'ms/a', answers: [], why: 'why', current: '1', target: '2', operator: undefined } as const;
  const upstream = { question: 'upstream', answer: 'no', text: 'it is there' } as const;
  assert.deepEqual(setLine({ ...set, step: 'skip', answers: [upstream] }), {
    ...{ name: 'ms/a', state: 'ok' },
    detail: 'left to upstream; new machines start from 1, the release asks for 2',
  });
  assert.equal(setLine({ ...set, step: 'blocked' }).state, 'FAIL');
  assert.equal(setLine({ ...set, step: 'unknown' }).undecided, true);
  assert.equal(setLine({ ...set, step: 'publish' }).detail, '1 → 2: why');
  const failed = { phase: 'Failed', target: '2', message: 'the download was cut', nextStep: 'look at the proxy' };
  assert.deepEqual(setLine({ ...set, step: 'publish', operator: failed }), {
    ...{ name: 'ms/a', state: 'FAIL', detail: 'Failed: the download was cut', next: 'look at the proxy' },
  });
  assert.equal(setLine({ ...set, step: 'none', operator: failed }).state, 'ok');
  assert.equal(setLine({ ...set, target: '3', step: 'publish', operator: failed }).state, 'ok', 'another target');
});
