import type { Machine, Node } from '@drydock/api';
import { shownText } from '@drydock/api/text';
import { list, object } from '../observe/json.ts';
import { canaryLabel, isCanaryName } from './machine.ts';
import type { Settling } from './settling.ts';

/** What became of a canary, as the BootImages of its sets keep it. */
export interface CanaryVerdict {
  readonly verdict: 'Passed' | 'Failed';
  /** A sentence with what was seen last. */
  readonly message: string;
}

/** A machine, of whichever world, as far as it decides about a canary. */
export interface CanaryMachine {
  readonly name: string;
  readonly uid: string;
  /** It is the canary of the group, and no set has taken it. */
  readonly own: boolean;
  readonly going: boolean;
  /** When it was made, in ms, by the server's clock. */
  readonly made: number;
  /** Whoever makes machines has given it up. */
  readonly failed: boolean;
  /** Name of the node that it has become, once that is ready. */
  readonly ready: string | undefined;
  readonly phase: string | undefined;
  /** What there is to see of it, for people. */
  readonly seen: string;
}

/** What is so of one group. */
export interface CanaryObserved {
  /** What bears the name of the group's machine. */
  readonly machine?: CanaryMachine;
  /** What is recorded of this very group. */
  readonly verdict?: CanaryVerdict;
  /** A BootImage says that its set waits for it, and this process has not removed it. */
  readonly awaited: boolean;
  /** Canaries of other groups that are there. */
  readonly others: number;
  /** How much of the time that the machine has is over, in ms. */
  readonly waitedMs: number;
  /** Why no machine is made yet; absent where one may be. */
  readonly settling?: Settling | undefined;
}

/** What is wanted of a canary. */
export interface CanaryWanted {
  readonly timeoutMs: number;
  readonly keepOnFailure: boolean;
  /** Canaries at a time. */
  readonly most: number;
}

/** The next step. `create`, `record` and `remove` are one call each; the others end a look. */
export type CanaryStep =
  | { readonly kind: 'create' }
  | { readonly kind: 'record'; readonly verdict: CanaryVerdict }
  | { readonly kind: 'remove'; readonly uid: string }
  | { readonly kind: 'go' }
  | { readonly kind: 'fail'; readonly message: string }
  | { readonly kind: 'wait'; readonly reason?: string; readonly brief: string; readonly message: string }
  /** One that nobody waited for is going; the next one is made once it is gone. */
  | { readonly kind: 'goes'; readonly message: string }
  /** Something else bears the name. */
  | { readonly kind: 'taken'; readonly message: string };

/**
 * One canary from its beginning to its end. A verdict is recorded before its machine goes, so that a crash between the two makes no second one; it counts for this group alone, which another
 * image and another policy are not.
 */
export function decideCanary(observed: CanaryObserved, wanted: CanaryWanted): CanaryStep {
  const { machine, verdict } = observed;
  if (machine !== undefined && !machine.own)
    return {
      kind: 'taken',
      message: `machine ${machine.name} bears the name of the canary, and its label ${canaryLabel} is another, or somebody owns it: it is left alone`,
    };
  if (verdict !== undefined) {
    const keep = verdict.verdict === 'Failed' && wanted.keepOnFailure;
    if (machine !== undefined && !keep && !machine.going) return { kind: 'remove', uid: machine.uid };
    return verdict.verdict === 'Passed' ? { kind: 'go' } : { kind: 'fail', message: verdict.message };
  }
  if (machine === undefined) {
    if (observed.settling !== undefined) return settles(observed.settling);
    if (observed.others < wanted.most) return { kind: 'create' };
    const message = `${observed.others} canaries are tried, and ${wanted.most} at the most are at a time`;
    return { kind: 'wait', brief: 'waits for other canaries', message };
  }
  if (machine.going && !observed.awaited) return { kind: 'goes', message: `canary ${machine.name} of before goes` };
  return running(machine, observed, wanted);
}

function settles({ unjudged, settleMs }: Settling): CanaryStep {
  const minutes = Math.round(settleMs / 60_000);
  return {
    ...{ kind: 'wait', reason: 'CanarySettling', brief: 'canary: settling' },
    message: `the next canary is made once this image has been wanted for ${minutes} min without a change, because ${unjudged} canaries were given up before they were judged`,
  };
}

function running(machine: CanaryMachine, { waitedMs }: CanaryObserved, { timeoutMs }: CanaryWanted): CanaryStep {
  const { name, phase, seen } = machine;
  const failed = (why: string): CanaryStep => ({
    kind: 'record',
    verdict: { verdict: 'Failed', message: `machine ${name} ${why}; seen last: ${seen}` },
  });
  if (machine.going) return failed('was deleted by somebody before it was ready');
  if (machine.failed) return failed('failed');
  if (machine.ready !== undefined) {
    const message = `machine ${name} became node ${machine.ready}, which is ready`;
    return { kind: 'record', verdict: { verdict: 'Passed', message } };
  }
  const minutes = Math.round(timeoutMs / 60_000);
  if (waitedMs >= timeoutMs) return failed(`was no node that is ready after ${minutes} min`);
  return { kind: 'wait', brief: `canary: ${phase ?? 'made'}`, message: `canary ${name}: ${seen}` };
}

/** A machine of Machine API, with the Node that it says it has become. */
export function canaryMachineOf(machine: Machine, node: Node | undefined, group: string): CanaryMachine {
  const { name, uid = '', creationTimestamp = '', deletionTimestamp } = machine.metadata;
  const { phase, errorReason, errorMessage } = machine.status ?? {};
  return {
    ...{
      name,
      uid,
      phase,
      seen: seenOf(machine, node),
      own: isCanary(machine, group),
      going: deletionTimestamp !== undefined,
    },
    made: Date.parse(creationTimestamp),
    failed: phase === 'Failed' || errorReason !== undefined || errorMessage !== undefined,
    ready: readyOf(node)?.status === 'True' ? node?.metadata.name : undefined,
  };
}

/** Whether a machine is the canary of a group: by its label, and nobody owns it. */
export function isCanary({ metadata }: Machine, group: string): boolean {
  return metadata.labels?.[canaryLabel] === group && (metadata.ownerReferences?.length ?? 0) === 0;
}

/** Whether a machine is a canary of any group. */
export function isOwnCanary(machine: Machine): boolean {
  const { name } = machine.metadata;
  return isCanaryName(name) && isCanary(machine, name.slice(-12));
}

function readyOf(node: Node | undefined): NonNullable<NonNullable<Node['status']>['conditions']>[number] | undefined {
  return node?.status?.conditions?.find(({ type }) => type === 'Ready');
}

/** What there is to see of a machine, for people, in one line. */
export function seenOf({ status = {} }: Machine, node: Node | undefined): string {
  const { phase, errorReason, errorMessage, providerStatus, nodeRef, conditions = [] } = status;
  const state = providerStatus?.['instanceState'] ?? providerStatus?.['vmState'];
  const ready = readyOf(node);
  const parts = [
    `phase ${phase === undefined || phase === '' ? 'none' : phase}`,
    errorReason === undefined && errorMessage === undefined
      ? undefined
      : `error ${[errorReason, errorMessage].filter((one) => one !== undefined).join(': ')}`,
    // What the platform refuses is said by the provider alone, and may be tried again without end.
    ...[...conditions, ...list(providerStatus?.['conditions'])].flatMap(complaint),
    typeof state === 'string' ? `instance ${state}` : undefined,
    nodeRef?.name === undefined ? 'no node' : undefined,
    node === undefined
      ? undefined
      : `node ${node.metadata.name} Ready=${ready?.status ?? 'unsaid'}${ready?.reason === undefined ? '' : ` ${ready.reason}`}${ready?.message === undefined ? '' : `: ${ready.message}`}`,
    nodeRef?.name !== undefined && node === undefined ? `node ${nodeRef.name} is not there` : undefined,
  ];
  return parts
    .filter((part) => part !== undefined)
    .map(shownText)
    .join(', ');
}

/** A condition that is not as it should be, with its reason in words. */
function complaint(condition: unknown): readonly string[] {
  const { type, status, message } = object(condition);
  return (status === 'False' || status === 'Unknown') && typeof message === 'string' && message !== ''
    ? [`${String(type)}: ${message}`]
    : [];
}
