import { ApiError, type Client, isNotFound, keyOf } from '@drydock/kube';
import { upstreamController, upstreamRefusal } from './decide/coexistence.ts';
import { clusterStable, readiness } from './decide/gates.ts';
import { BootImageError, errorText, orUndefined } from './errors.ts';
import { factsOf, type ImageFacts } from './image-facts.ts';
import { nonEmpty, object } from './observe/json.ts';
import { idOf, type KeptSet, setText } from './observe/kept-set.ts';
import { type LeafEdit, leafText } from './observe/provider-spec.ts';
import { streamOf } from './observe/stream.ts';
import { failureOf } from './pass/failure.ts';
import { besideUpstream, duringUpgrade, notSelected } from './pass/left-alone.ts';
import type { PassPorts } from './pass/pass-state.ts';
import { byPolicy, planOf, type Question, questionOf } from './pass/question.ts';
import { leftToUpstream, selectionNow } from './pass/selection-now.ts';
import { setFacts } from './pass/set-facts.ts';
import type { PlatformPlan } from './platform.ts';
import type { Waiting } from './policy/held.ts';
import { policyText } from './policy/policy-text.ts';
import { imageOf } from './status/boot-image-store.ts';
import { pinWords } from './status/pin-words.ts';
import type { SetOutcome } from './status/subject.ts';
import { isUntrusted, type StubTrust } from './stub-authority.ts';
import { machineApiNamespace } from './user-data/machine-api.ts';
import { oldStubName } from './user-data/old-stub.ts';
import { cannotJoin, type StubTrustMemory, stubTrust } from './user-data/stub-trust.ts';
import { foreseeUserData, stubSecretOf, userDataSecret, wayBackOf } from './user-data/user-data.ts';
import { NotRecorded } from './vsphere/recorded-store.ts';
import { goldenName, goldenNamespace } from './wakes/triggers.ts';

/** What a pass asks on its way to a decision about a set, in this order. */
export type ExplainedQuestion =
  | 'upstream'
  | 'reflected'
  | 'selected'
  | 'stable'
  | 'release'
  | 'set'
  | 'policy'
  | 'image'
  | 'stub'
  | 'authority';

/** One of the answers. Where it is no, nothing that comes after it is acted upon. */
export interface ExplainedAnswer {
  readonly question: ExplainedQuestion;
  /** `unknown`: whoever asks may not read it, or could not. */
  readonly answer: 'yes' | 'no' | 'unknown';
  /** A sentence that names the object. */
  readonly text: string;
}

/** What a pass would do about one set now. */
export interface Explanation extends ImageFacts {
  /** `ms/worker-a`. */
  readonly set: string;
  readonly answers: readonly ExplainedAnswer[];
  /** What the operator does: `switch` points the set at an image that is there, `publish` makes it first; with the others nothing moves. */
  readonly step: 'none' | 'switch' | 'publish' | 'skip' | 'wait' | 'blocked' | 'failed' | 'unknown';
  /** Why, in a sentence. */
  readonly why: string;
  /** Of a set with a pin: why, without what is said of the pin. */
  readonly whyAlone?: string;
  /** Of a set with a pin: what a person can do besides lifting it. */
  readonly nextAlone?: string;
  /** What a person can do. */
  readonly nextStep?: string;
  /** Name of the bootimagepolicy that decides about the set; absent where none does. */
  readonly policy?: string;
  /** What a switch changes in the set. */
  readonly edits?: readonly LeafEdit[];
}

/** What is read: the ports of a pass that look, and the client for user-data. */
export type ExplainPorts = Pick<
  PassPorts,
  'world' | 'platforms' | 'architecture' | 'now' | 'stubSecret' | 'askServer'
> & {
  readonly client: Pick<Client, 'get'>;
  /** What is known of stubs already, most of which are the same for all sets. */
  readonly stubTrusts?: StubTrustMemory;
};

/** What becomes of a set, in short. */
export type Conclusion = Pick<Explanation, 'step' | 'why' | 'whyAlone' | 'nextAlone' | 'nextStep' | 'edits'>;
/** An answer is yes, in these words, or no, with what becomes of the set. */
/** A string answers yes; without an outcome, the answer is unknown and stops nothing. */
type Found = string | { readonly text: string; readonly outcome?: SetOutcome };

/** What a look found out about one set. */
export interface Look {
  readonly answers: readonly ExplainedAnswer[];
  /** What becomes of the set, where an answer was no: that of the first. */
  readonly outcome?: SetOutcome;
  /** Why the first answer that was not yes is not known. */
  readonly unknown?: string;
  readonly plan?: PlatformPlan | Waiting;
  /** Name of the policy that decides about the set. */
  readonly policy?: string;
  /** What the platform was asked, as far as it came to that. */
  readonly asked?: Question;
}

/**
 * Asks what a pass asks, by the same functions, and keeps each answer. It writes nothing. What comes after a no is answered too, as far as it can be: where upstream acts, one still wants to
 * know what the set boots from. What only the operator's memory knows, that somebody else reverted the set again and again, is in its BootImage alone. Rejects with the signal's reason.
 */
export async function explainSet(
  set: KeptSet,
  ports: ExplainPorts,
  options: { readonly signal?: AbortSignal | undefined } = {},
): Promise<Explanation> {
  const look = await lookAtSet(set, ports, options);
  // Of an image that is known not to start more is known than that.
  const facts = factsOf(look.plan ?? look.outcome ?? {});
  const by = look.policy === undefined ? {} : { policy: look.policy };
  const conclusion = underPin(set, look, ports);
  return { set: idOf(set), answers: look.answers, ...facts, ...by, ...conclusion };
}

/** What becomes of a set that is pinned says so, in the words of its BootImage. */
function underPin(set: KeptSet, look: Look, ports: ExplainPorts): Conclusion {
  const conclusion = conclusionOf(look);
  const facts = look.unknown === undefined ? orUndefined(() => setFacts(set, ports)) : undefined;
  if (look.outcome === undefined || facts === undefined) return conclusion;
  const { step, why, nextStep } = conclusion;
  const reason = look.outcome.kind === 'failed' ? look.outcome.reason : '';
  const said = { reason, message: why, ...(nextStep === undefined ? {} : { nextStep }) };
  const told = words(pinWords(said, look.outcome.kind, { set: idOf(set), now: ports.now(), facts }));
  if (told.why === why) return { step, ...told };
  return { step, ...told, whyAlone: why, ...(nextStep === undefined ? {} : { nextAlone: nextStep }) };
}

/** See {@link explainSet}. Without a client nothing is asked about user-data. */
export async function lookAtSet(
  set: KeptSet,
  ports: Omit<ExplainPorts, 'client'> & Partial<Pick<ExplainPorts, 'client'>>,
  options: { readonly signal?: AbortSignal | undefined } = {},
): Promise<Look> {
  const answers: ExplainedAnswer[] = [];
  let first: Pick<Look, 'outcome' | 'unknown'> | undefined;
  const ask = async (question: ExplainedQuestion, look: () => Found | Promise<Found>): Promise<void> => {
    try {
      const found = await look();
      const { text, outcome } = typeof found === 'string' ? { text: found } : found;
      const answer = typeof found === 'string' ? 'yes' : outcome === undefined ? 'unknown' : 'no';
      answers.push({ question, answer, text });
      if (outcome !== undefined) first ??= { outcome };
    } catch (error) {
      options.signal?.throwIfAborted();
      const text = errorText(error);
      const unread = isUnreadable(error);
      answers.push({ question, answer: unread ? 'unknown' : 'no', text });
      first ??= unread ? { unknown: text } : { outcome: failureOf(set, error, false).outcome };
    }
  };

  const { world, client } = ports;
  const acts = upstreamRefusal(orUndefined(() => world.upstream())) !== undefined;
  await ask('upstream', () => upstreamFound(set, ports));
  await ask('reflected', () => reflectedFound(ports));
  await ask('selected', () => {
    if (acts && !leftToUpstream(set, ports)) return `a bootimagepolicy selects ${setText(set)}`;
    const why = selectionNow(world)(set);
    return why === undefined ? `${setText(set)} is managed` : no(why, notSelected(set, why, world.infrastructure()));
  });
  await ask('stable', () => stableFound(world.clusterVersion()));
  await ask('release', () => releaseFound(ports));
  let question: Question | undefined;
  await ask('set', () => {
    const stream = streamOf(world.golden());
    // Said before; what else there is about the set is said all the same.
    const asked = questionOf(set, stream ?? noStream(), ports);
    if (asked.kind === 'skip') return no(asked.message, asked);
    question = asked;
    return `${setText(set)}: ${asked.input.architecture} machines on ${asked.platform.type}, owned by nobody`;
  });
  if (question !== undefined && orUndefined(() => world.bootImagePolicies().length === 0) !== true) {
    const asked = question;
    await ask('policy', () => {
      const decided = byPolicy(asked, ports);
      if (decided.kind === 'skip') return no(decided.message, decided);
      question = decided;
      return policyText(set, decided.policy);
    });
  }
  let plan: Look['plan'];
  if (question !== undefined) {
    const asked = question;
    await ask('image', async () => {
      plan = await planOf(asked, ports, options);
      return plan.kind === 'skip' || plan.kind === 'waiting' ? no(plan.message, plan) : imageText(plan);
    });
  }
  if (client !== undefined && (plan?.kind === 'switch' || plan?.kind === 'publish'))
    await ask('stub', () => stubFound(set, question, { ...ports, client }, options));
  const stub = client === undefined ? undefined : await stubAsked(set, plan, { ...ports, client }, options);
  if (stub !== undefined && plan !== undefined) {
    plan = { ...plan, stub };
    const answer = ({ True: 'yes', False: 'no', Unknown: 'unknown' } as const)[stub.status];
    answers.push({ question: 'authority', answer, text: stub.message });
    // What nobody knows stops nothing.
    if (isUntrusted(stub) && plan.pinned !== true)
      first ??= { outcome: failureOf(set, cannotJoin(stub, factsOf(plan)), false).outcome };
  }
  const policy = question?.policy?.name;
  return {
    ...{ answers, ...first },
    ...(question === undefined ? {} : { asked: question }),
    ...(plan === undefined ? {} : { plan }),
    ...(policy === undefined ? {} : { policy }),
  };
}

/** Asked before the platform of a set is; where one is not answered by yes, a pass does not come to it. */
const BEFORE: ReadonlySet<ExplainedQuestion> = new Set(['upstream', 'reflected', 'selected', 'stable', 'release']);

/** Whether a pass comes as far as the platform of the set. */
export function reachesPlatform({ answers }: Pick<Look, 'answers'>): boolean {
  return answers.every(({ question, answer }) => answer === 'yes' || !BEFORE.has(question));
}

function upstreamFound(set: KeptSet, ports: Pick<ExplainPorts, 'world' | 'platforms'>): Found {
  const refusal = upstreamRefusal(ports.world.upstream());
  const { namespace, name } = upstreamController;
  if (refusal === undefined) return `there is no Deployment ${namespace}/${name}, so Drydock acts`;
  if (leftToUpstream(set, ports)) return no(refusal, besideUpstream(refusal, {}));
  return `${refusal} and leaves ${setText(set)} alone, about which a bootimagepolicy decides`;
}

function reflectedFound({ world, now }: Pick<ExplainPorts, 'world' | 'now'>): Found {
  const ready = readiness(world.machineConfiguration(), undefined, now().getTime());
  if (ready.kind === 'ready') return 'machineconfiguration/cluster is reflected in its status';
  const { message } = ready;
  const nextStep = 'start the operator, which reflects spec into status: drydock operator';
  return no(message, {
    kind: 'waiting',
    phase: 'Pending',
    reason: 'NotReflected',
    brief: 'waits for the operator to read its spec',
    message,
    nextStep,
  });
}

function stableFound(version: ReturnType<ExplainPorts['world']['clusterVersion']>): Found {
  const [newest] = version?.status?.history ?? [];
  const which = newest?.version ?? 'a release';
  // Without one, a pass goes on to the set, and fails there.
  if (version === undefined || clusterStable(version)) return `no upgrade of the cluster is under way (${which})`;
  return no(`the cluster is on its way to ${which}`, duringUpgrade);
}

function releaseFound({ world }: Pick<ExplainPorts, 'world'>): Found {
  const golden = world.golden();
  const stream = streamOf(golden);
  const where = `configmap ${goldenNamespace}/${goldenName}`;
  if (stream instanceof BootImageError) throw stream;
  if (stream === undefined) throw noStream();
  return `${where} has stream ${stream.name} of release ${golden?.data?.['releaseVersion'] ?? 'unknown'}`;
}

function noStream(): BootImageError {
  const where = `configmap ${goldenNamespace}/${goldenName}`;
  return new BootImageError('StreamInvalid', `${where} not found: the release names no image`);
}

/** Whether machines trust the server that they get their configuration from; undefined where nothing is to be said of it. */
async function stubAsked(
  set: KeptSet,
  plan: Look['plan'],
  ports: ExplainPorts,
  call: { readonly signal?: AbortSignal | undefined },
): Promise<StubTrust | undefined> {
  const name = userDataSecret(set);
  if (name === undefined || plan === undefined || plan.kind === 'skip') return undefined;
  return stubTrust({ namespace: machineApiNamespace, name }, ports, ports.stubTrusts ?? new Map(), call);
}

async function stubFound(
  set: KeptSet,
  question: Question | undefined,
  { client, world, now, stubSecret }: Pick<ExplainPorts, 'client' | 'world' | 'now' | 'stubSecret'>,
  call: { readonly signal?: AbortSignal | undefined },
): Promise<Found> {
  const secret = userDataSecret(set);
  if (secret === undefined) return 'the set names no user-data Secret';
  const way = stubSecretOf(set, stubSecret);
  const wayBack = wayBackOf(set, world.bootImage(keyOf(imageOf(set)))?.status, question?.input.pin);
  const foreseen = await foreseeUserData(client, { secret, stubSecret: way, wayBack, now: now(), ...call });
  const { converts, edit, oldStubMissing } = foreseen;
  const to = edit === undefined ? undefined : leafText(edit.to);
  if (converts !== undefined)
    return `user-data Secret ${converts} has a stub of Ignition 2: it is converted, and Secret ${oldStubName(converts)} keeps what it says now`;
  if (oldStubMissing)
    return {
      text: `the set goes back to an image of before its stub was converted, and Secret ${oldStubName(secret)} does not keep the old stub: new machines start with the converted one, of Ignition 3, which an image of OpenShift 4.5 or earlier does not understand`,
    };
  if (to === oldStubName(secret))
    return `the set goes back to an image of before its stub was converted: it is switched to Secret ${to}, which keeps the old stub`;
  if (to !== undefined && secret === oldStubName(to))
    return `user-data Secret ${secret} keeps the old stub: the set is switched back to Secret ${to}`;
  if (to !== undefined)
    return `user-data Secret ${secret} has a stub of Ignition 2: the set is switched to Secret ${to}, which does the same`;
  return `user-data Secret ${secret} has a stub of Ignition 3`;
}

function imageText(plan: Exclude<PlatformPlan, { readonly kind: 'skip' }>): string {
  const at = plan.template === undefined ? '' : `${plan.template.name} on ${plan.template.server}, `;
  const release = plan.template === undefined ? plan.current : `${at}release ${plan.current}`;
  const from = plan.current === undefined ? 'no image that is known' : release;
  const seen = plan.verified === undefined ? '' : `; ${plan.verified.message}`;
  const asked = plan.pinned === true ? 'its pin asks for' : 'the release asks for';
  return `new machines start from ${from}; ${asked} ${plan.target ?? 'nothing else'}${seen}`;
}

/** Where every answer was yes. */
function stepOf(plan: Look['plan']): Conclusion {
  switch (plan?.kind) {
    case 'switch': {
      const { edits } = plan.image;
      const to = [...new Set(edits.map((edit) => leafText(edit.to)))].join(', ');
      const there =
        plan.verified?.status === 'Unknown' ? 'could not be verified, which its BootImage says' : 'is there';
      return { step: 'switch', why: `${to} ${there}: the set is pointed at it by one guarded patch`, edits };
    }
    case 'publish': {
      if (plan.pinned === true)
        return {
          step: 'publish',
          why: `the kept image of ${plan.hotLoopValue} is brought back under its name, without an upload`,
        };
      const what = `an image of ${plan.target ?? plan.hotLoopValue} is made beside the old one`;
      return { step: 'publish', why: `${what}; when it is complete, the set is pointed at it` };
    }
    default:
      return {
        step: 'none',
        why: `new machines start from the image that ${plan?.pinned === true ? 'its pin' : 'the release'} asks for`,
      };
  }
}

/** It says nothing about the set that whoever asks may not read something, or does not reach it from here. */
export function isUnreadable(error: unknown): boolean {
  if (error instanceof NotRecorded) return true;
  const cause = error instanceof Error ? error.cause : undefined;
  return [error, cause].some((one) =>
    one instanceof ApiError ? !isNotFound(one) : UNREACHED.has(nonEmpty(object(one)['code']) ?? ''),
  );
}

/** Codes of vCenters and clouds that do not answer: the operator may be closer to them, and be told other authorities. */
const UNREACHED: ReadonlySet<string> = new Set([
  'CloudUnavailable',
  'VIM_UNREACHABLE',
  'VIM_TLS_UNTRUSTED',
  'VIM_TIMEOUT',
]);

function no(text: string, outcome: SetOutcome): Found {
  return { text, outcome };
}

/** What a set comes to whose work would fail with this. */
export function conclusionOfError(set: KeptSet, error: unknown): Conclusion {
  if (isUnreadable(error)) return { step: 'unknown', why: errorText(error) };
  return conclusionOf({ outcome: failureOf(set, error, false).outcome });
}

/** What a look comes to. */
export function conclusionOf({ outcome, unknown, plan }: Pick<Look, 'outcome' | 'unknown' | 'plan'>): Conclusion {
  if (unknown !== undefined) return { step: 'unknown', why: unknown };
  if (outcome === undefined) return stepOf(plan);
  switch (outcome.kind) {
    case 'skip':
      return { step: 'skip', ...words(outcome) };
    case 'waiting':
      return { step: 'wait', ...words(outcome) };
    case 'failed':
      return { step: outcome.blocked ? 'blocked' : 'failed', ...words(outcome) };
    default:
      return { step: 'none', why: '' };
  }
}

function words({
  message,
  nextStep,
}: {
  readonly message: string;
  readonly nextStep?: string;
}): Omit<Conclusion, 'step'> {
  return { why: message, ...(nextStep === undefined ? {} : { nextStep }) };
}
