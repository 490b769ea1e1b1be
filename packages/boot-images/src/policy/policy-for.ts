import type { BootImagePolicy } from '@drydock/api';
import { labelSelector } from '../decide/selection.ts';
import { errorText } from '../errors.ts';
import { type Window, WindowFault, windowOf } from './windows.ts';

/** A set as policies select it. */
export interface PolicySubject {
  /** Kind of the set, such as MachineSet. */
  readonly kind: string;
  readonly labels?: Readonly<Record<string, string>> | undefined;
  /** The one that its machines are in; undefined where there is none, or more than one. */
  readonly failureDomain?: string | undefined;
}

/** Which policy decides about a set. Both absent: none does, and everything is as without policies. */
export interface PolicyVerdict {
  readonly policy?: BootImagePolicy;
  /** Names of those that share the highest priority, ascending: the image of the set must stay as it is. */
  readonly conflict?: readonly string[];
}

/** Why a policy cannot be followed. */
export interface PolicyFault {
  /** One CamelCase word, the reason of its condition Accepted. */
  readonly reason: string;
  /** A sentence that says what is wrong. */
  readonly message: string;
}

/** A policy as it is followed. */
export interface ReadPolicy {
  readonly selects: (subject: PolicySubject) => boolean;
  readonly windows: readonly Window[];
  /** When the hold ends, in ms; undefined where it ends when it is taken off, or where there is none. */
  readonly heldUntil?: number;
  /** Where it cannot be followed: it selects all that it can be read to select, and nothing of that may be changed. */
  readonly fault?: PolicyFault;
}

/**
 * Which of the policies decides about a set: of those that select it the one with the highest priority. One that cannot be followed selects, too, so that a slip in a hold does not
 * lift it.
 */
export function policyFor(subject: PolicySubject, policies: readonly BootImagePolicy[]): PolicyVerdict {
  let highest: BootImagePolicy[] = [];
  for (const policy of policies) {
    if (!readPolicy(policy).selects(subject)) continue;
    const [before] = highest;
    const order = before === undefined ? 1 : priorityOf(policy) - priorityOf(before);
    if (order > 0) highest = [policy];
    else if (order === 0) highest.push(policy);
  }
  const [policy, ...more] = highest;
  if (policy === undefined) return {};
  return more.length === 0 ? { policy } : { conflict: highest.map(({ metadata }) => metadata.name).toSorted() };
}

function priorityOf({ spec }: BootImagePolicy): number {
  return spec?.priority ?? 0;
}

const read = new WeakMap<BootImagePolicy, ReadPolicy>();

/** Reads what is written once for each object. */
export function readPolicy(policy: BootImagePolicy): ReadPolicy {
  return read.getOrInsertComputed(policy, reading);
}

function reading({ spec = {} }: BootImagePolicy): ReadPolicy {
  const { selector, kinds, failureDomains, windows = [], hold } = spec;
  let fault: PolicyFault | undefined;
  let matches: ReturnType<typeof labelSelector> = () => true;
  try {
    if (selector !== undefined) matches = labelSelector(selector);
  } catch (error) {
    const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
    fault = { reason: 'SelectorInvalid', message: `spec.selector: ${errorText(cause)}` };
  }
  const kept: Window[] = [];
  for (const window of windows) {
    try {
      kept.push(windowOf(window));
    } catch (error) {
      if (!(error instanceof WindowFault)) throw error;
      fault ??= { reason: error.reason, message: `spec.windows: ${error.message}` };
    }
  }
  const heldUntil = hold?.until === undefined ? undefined : Date.parse(hold.until);
  if (Number.isNaN(heldUntil))
    fault ??= { reason: 'HoldInvalid', message: `spec.hold.until: "${hold?.until}" is no time of RFC 3339` };
  return {
    selects: ({ kind, labels = {}, failureDomain }) =>
      (kinds === undefined || kinds.some((one) => one === kind)) &&
      (failureDomains === undefined || (failureDomain !== undefined && failureDomains.includes(failureDomain))) &&
      matches(labels),
    windows: kept,
    ...(heldUntil === undefined ? {} : { heldUntil }),
    ...(fault === undefined ? {} : { fault }),
  };
}
