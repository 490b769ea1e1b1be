import type { SetOutcome } from './status/subject.ts';

/** Whether anybody would begin what is to be done. */
export interface NotBegun {
  /** Whether somebody leads. */
  readonly led: boolean;
  /** That a person wants nothing to be begun: the clause that says so, and what ends it. */
  readonly paused?: { readonly text: string; readonly nextStep: string };
}

/** What is said of a set about which something is to be done and nothing has begun, with what that is. */
export function notBegun(what: string, { led, paused }: NotBegun): Extract<SetOutcome, { readonly kind: 'waiting' }> {
  const waiting = { kind: 'waiting', phase: 'Pending' } as const;
  if (led) return { ...waiting, reason: 'NotBegun', brief: 'not looked at yet', message: what };
  if (paused === undefined)
    return {
      ...{ ...waiting, reason: 'NobodyLeads', brief: 'nobody leads' },
      message: `${what}; nobody leads`,
      nextStep: 'drydock operator',
    };
  const { text, nextStep } = paused;
  return { ...waiting, reason: 'Paused', brief: 'paused', message: `${what}; boot images are ${text}`, nextStep };
}
