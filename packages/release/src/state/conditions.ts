import type { ApplyMode } from '../apply/owner.ts';
import type { Acceptance } from './acceptance.ts';
import type { Failing } from './failing.ts';
import type { HistoryEntry } from './history.ts';
import type { UpgradeRisk } from './upgradeable.ts';

/** A condition as this package writes it. */
export interface StateCondition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
}

/** The same as it is stored. */
export interface StoredCondition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string;
}

/** What is done at the moment. */
export interface Work {
  /** What is applied; '' where nothing is wanted. */
  readonly version: string;
  readonly mode: ApplyMode;
  readonly complete: boolean;
  readonly done: number;
  readonly total: number;
  /** What is waited for, as `Deployment.apps x/y`, and why. */
  readonly waiting: readonly { readonly object: string; readonly why: string }[];
  /** Of a way back: what is being done, as `Bridge: widgets.example.com`. */
  readonly phase?: string;
}

/** Whether the release before could be gone back to, as a preflight says. */
export interface WayBackState {
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
}

/** All that conditions are derived from. */
export interface ConditionsInput {
  readonly history: readonly HistoryEntry[];
  readonly work: Work | undefined;
  readonly failing: Failing;
  readonly acceptance: Acceptance | undefined;
  /** The image that was asked for, in words for people. */
  readonly asked: string;
  /** Why the wish itself cannot be followed. */
  readonly invalid?: { readonly reason: string; readonly message: string };
  readonly upgradeRisks: readonly UpgradeRisk[];
  readonly implicit: readonly string[];
  readonly wayBack: WayBackState | undefined;
  /** Definitions that a way back left where both releases can write. */
  readonly kept?: readonly {
    readonly definition: string;
    readonly why: string;
    readonly objects: readonly { readonly object: string; readonly path: string; readonly why: string }[];
  }[];
}

const TOLD = 5;

/** True while a way back leaves definitions where both releases can write. */
export const ROLLBACK_INCOMPLETE = 'RollbackIncomplete';

/** Types that are derived here; `Upgradeable…` with a reason behind, too. */
const OWN = new Set([
  'Available',
  'Failing',
  'Progressing',
  'ReleaseAccepted',
  'Upgradeable',
  'Rollbackable',
  ROLLBACK_INCOMPLETE,
  'Invalid',
  'ImplicitlyEnabledCapabilities',
]);

/** The conditions of a release: each says what is so now. Available alone remembers: a release that was complete once goes on running. */
export function conditionsOf(input: ConditionsInput): readonly StateCondition[] {
  const { history, failing, implicit, invalid, wayBack } = input;
  const done = history.find(({ state }) => state === 'Completed');
  return [
    done === undefined
      ? condition('Available', 'False', 'NothingCompleted', 'No release has been applied to its end yet.')
      : condition('Available', 'True', 'Completed', `Release ${done.version} was applied.`),
    condition('Failing', failing.status, failing.reason, failing.message),
    progressing(input),
    ...accepted(input),
    ...upgradeable(input.upgradeRisks),
    ...(wayBack === undefined ? [] : [condition('Rollbackable', wayBack.status, wayBack.reason, wayBack.message)]),
    ...incomplete(input),
    ...(invalid === undefined ? [] : [condition('Invalid', 'True', invalid.reason, invalid.message)]),
    implicit.length === 0
      ? condition(
          'ImplicitlyEnabledCapabilities',
          'False',
          'AsExpected',
          'No capability is enabled that nobody asked for.',
        )
      : condition(
          'ImplicitlyEnabledCapabilities',
          'True',
          'CapabilitiesImplicitlyEnabled',
          `Enabled although nobody asked for them: ${implicit.join(', ')}.`,
        ),
  ];
}

/** What is stored afterwards: the time of a condition moves only with its status, and what is somebody else's stays. */
export function withConditions(
  stored: readonly StoredCondition[],
  wanted: readonly StateCondition[],
  now: string,
): readonly (StateCondition & { readonly lastTransitionTime: string })[] {
  const before = new Map(stored.map((one) => [one.type, one]));
  const foreign = stored.filter(
    ({ type }) => !OWN.has(type) && !type.startsWith('Upgradeable') && !wanted.some((one) => one.type === type),
  );
  const kept = foreign.map((one) => ({ ...asStated(one), lastTransitionTime: one.lastTransitionTime ?? now }));
  return [
    ...wanted.map((one) => {
      const was = before.get(one.type);
      return { ...one, lastTransitionTime: was?.status === one.status ? (was.lastTransitionTime ?? now) : now };
    }),
    ...kept,
  ];
}

/** A condition as it stands. */
export function asStated({ type, status, reason = '', message = '' }: StoredCondition): StateCondition {
  return { type, reason, message, status: status === 'True' || status === 'False' ? status : 'Unknown' };
}

function incomplete({ kept = [] }: ConditionsInput): readonly StateCondition[] {
  if (kept.length === 0) return [];
  const told = kept.slice(0, TOLD).map(({ definition, objects, why }) => {
    const named = objects
      .slice(0, TOLD)
      .map((one) => `${one.object}${one.path === '' ? '' : ` ${one.path}`}: ${one.why}`);
    const more = objects.length > TOLD ? ` and ${objects.length - TOLD} more` : '';
    return `${definition} (${why}${named.length === 0 ? '' : `: ${named.join('; ')}${more}`})`;
  });
  const rest = kept.length > TOLD ? ` and ${kept.length - TOLD} more` : '';
  const message = `Both releases can still write, so nothing is refused and nothing is lost; these definitions are not the older release's yet: ${told.join(', ')}${rest}.`;
  return [condition(ROLLBACK_INCOMPLETE, 'True', 'DefinitionsKept', message)];
}

function progressing({ work, failing, invalid }: ConditionsInput): StateCondition {
  if (work === undefined || work.version === '')
    return condition(
      'Progressing',
      'False',
      invalid === undefined ? 'NothingWanted' : 'Invalid',
      'No release is being applied.',
    );
  const { version, mode, complete, done, total, waiting, phase } = work;
  if (mode === 'reconciling' || complete)
    return condition(
      'Progressing',
      'False',
      failing.status === 'True' ? failing.reason : 'AsExpected',
      failing.status === 'True'
        ? `Something of ${version} cannot be kept as it should be: ${failing.message}`
        : `Release ${version} is applied.`,
    );
  const share = total === 0 ? 0 : Math.floor((done / total) * 100);
  const head = `${phase === undefined ? 'Working towards' : 'Going back to'} ${version}: ${phase === undefined ? '' : `${phase}, `}${done} of ${total} done (${share}% complete)`;
  const held = waiting.slice(0, TOLD).map(({ object, why }) => `${object} (${why})`);
  const more = waiting.length > TOLD ? ` and ${waiting.length - TOLD} more` : '';
  const text = held.length === 0 ? head : `${head}, waiting for ${held.join(', ')}${more}`;
  return condition('Progressing', 'True', failing.status === 'False' ? 'Applying' : failing.reason, `${text}.`);
}

function accepted({ acceptance, asked }: ConditionsInput): readonly StateCondition[] {
  if (acceptance === undefined) return [];
  if (!acceptance.accepted)
    return [condition('ReleaseAccepted', 'False', acceptance.step, `${asked} is not applied: ${acceptance.message}`)];
  const { verified, acceptedRisks, warnings } = acceptance;
  const parts = [
    `${asked} was ${verified ? 'verified and ' : ''}loaded.`,
    ...(acceptedRisks === '' ? [] : [`Accepted: ${acceptedRisks}`]),
    ...warnings,
  ];
  return [condition('ReleaseAccepted', 'True', 'PayloadLoaded', parts.join(' '))];
}

function upgradeable(risks: readonly UpgradeRisk[]): readonly StateCondition[] {
  const [first, ...more] = risks;
  if (first === undefined)
    return [condition('Upgradeable', 'True', 'AsExpected', 'Nothing stands against another minor version.')];
  const all =
    more.length === 0 ? first : { reason: 'MultipleReasons', message: risks.map(({ message }) => message).join(' ') };
  return [
    condition('Upgradeable', 'False', all.reason, all.message),
    ...risks.map(({ reason, message }) => condition(`Upgradeable${reason}`, 'False', reason, message)),
  ];
}

/** Reasons follow a pattern in some schemas, and nothing else is said in them. */
function condition(type: string, status: StateCondition['status'], reason: string, message: string): StateCondition {
  return {
    type: type.replace(/[^A-Za-z0-9]/g, ''),
    status,
    reason: reason.replace(/[^A-Za-z0-9_]/g, '_') || 'Unknown',
    message: message.slice(0, MAX_MESSAGE),
  };
}

/** The API machinery takes no longer message. */
const MAX_MESSAGE = 32_768;
