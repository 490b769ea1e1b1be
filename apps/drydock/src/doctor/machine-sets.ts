import type { Explanation } from '@drydock/boot-images';
import { type Explained, isStuck } from '../explain/explained.ts';
import type { Line } from './finding.ts';

const STATES: Readonly<Record<Explanation['step'], Line['state']>> = {
  ...{ none: 'ok', switch: 'ok', publish: 'ok', skip: 'ok' },
  wait: 'warn',
  ...{ blocked: 'FAIL', failed: 'FAIL', unknown: 'skip' },
};

/** What the operator would do about a set, or failed to do. Beside an upstream controller it is that one's to see to. */
export function setLine(explained: Explained): Line {
  const { set, step, why, nextStep, answers, current, target, operator, verified, stub } = explained;
  const beside = answers.some(({ question, answer }) => question === 'upstream' && answer === 'no');
  if (beside) {
    const detail = `left to upstream; new machines start from ${current ?? 'an image that is not known'}, the release asks for ${target ?? 'none that is known'}`;
    if (stub === undefined || stub.reason === 'StubAuthorityTrusted') return { name: set, state: 'ok', detail };
    // Whoever manages the image: no machine joins.
    const next = stub.nextStep === undefined ? {} : { next: stub.nextStep };
    const state = stub.status === 'False' ? 'FAIL' : 'warn';
    return { name: set, state, detail: `${detail}; ${stub.message}`, ...next };
  }
  const acting = step === 'switch' || step === 'publish';
  if (acting && isStuck(explained)) {
    const { phase = '', message = '', nextStep: next } = operator ?? {};
    return { name: set, state: 'FAIL', detail: `${phase}: ${message}`, ...(next === undefined ? {} : { next }) };
  }
  // The next machine may not start, also where nothing has to be done about the set.
  const doubts = [
    verified?.status === 'True' ? undefined : verified?.message,
    stub?.reason === 'StubAuthorityTrusted' ? undefined : stub?.message,
  ].filter((doubt) => doubt !== undefined);
  const doubted = doubts.length > 0 && STATES[step] === 'ok';
  const next = doubted ? (stub?.nextStep ?? nextStep) : step === 'skip' ? undefined : nextStep;
  const what = acting ? `${current ?? 'no image'} → ${target ?? 'another'}: ${why}` : why;
  return {
    name: set,
    state: doubted ? 'warn' : STATES[step],
    detail: doubted ? [what, ...doubts].join('; ') : what,
    ...(next === undefined ? {} : { next }),
    ...(step === 'unknown' ? ({ undecided: true } as const) : {}),
  };
}
