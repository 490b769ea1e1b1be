import { ApiError, type Cache, type Key, type KubeObject, keyOf, type WithStatus } from '@drydock/kube';
import type { ApplyProgress } from '../apply/wish.ts';
import { ReleaseError } from '../errors.ts';
import { idText } from '../payload/manifest.ts';
import {
  asStated,
  conditionsOf,
  ROLLBACK_INCOMPLETE,
  type WayBackState,
  type Work,
  withConditions,
} from '../state/conditions.ts';
import { type Failing, failingOf, sinceAfter } from '../state/failing.ts';
import { withFinalised } from '../state/finalisation.ts';
import { type HistoryEntry, mergeHistory } from '../state/history.ts';
import { modeOf } from '../state/mode.ts';
import { targetOf } from '../state/target.ts';
import { type UpgradeRisk, upgradeRisks } from '../state/upgradeable.ts';
import { type BroughtAbout, bringAbout } from './bring-about.ts';
import { type Considered, type ConsiderOptions, consider } from './consideration.ts';
import { type Face, ownerName, type ReleaseRecord, type ReleaseWish, type Standing } from './face.ts';
import { imageText, type LoadedRelease } from './loaded-release.ts';
import { provenAs, type ReleaseMemory } from './memory.ts';
import type { ReleasePorts } from './ports.ts';
import { considerAfresh } from './recall.ts';
import type { Wait } from './retrieval.ts';
import { rollbackable } from './rollbackable.ts';
import { throttled } from './throttled.ts';
import { statusWaiting } from './told-wait.ts';

/** One pass over one object. */
export interface PassOptions<T extends KubeObject & WithStatus> {
  readonly face: Face<T>;
  readonly object: T;
  /** The same, with what a ledger keeps of its status. */
  readonly remembered: T;
  /** Its status is not stored as it was meant: what is remembered counts. */
  readonly blocked: boolean;
  readonly memory: ReleaseMemory;
  readonly ports: ReleasePorts;
  readonly cache: Pick<Cache<T>, 'get' | 'subscribe'>;
  readonly risks: readonly UpgradeRisk[];
  /** Computes the status anew from whatever object is there, and writes it; never throws for what a schema refuses. */
  readonly write: (compute: (current: T) => NonNullable<T['status']> | undefined) => Promise<void>;
  readonly signal: AbortSignal;
  readonly stopping: AbortSignal;
}

/** ms between two looks at what is complete; with up to as much again, so that not all come together. */
export const INTERVAL = 120_000;
/** The first attempts after a failure come sooner: a sixteenth, an eighth and so on. */
const SOON = 16;
const QUIET: Failing = { status: 'False', reason: 'AsExpected', message: '' };

/** Brings the cluster to the release that is wanted, or holds it there, and says so. Resolves to when to look again (ms). */
export async function runPass<T extends KubeObject & WithStatus>(options: PassOptions<T>): Promise<number> {
  const { face, object, remembered, memory, ports } = options;
  const found = face.recordOf(remembered);
  const record: ReleaseRecord =
    options.blocked && memory.history !== undefined ? { ...found, history: memory.history } : found;
  const wish = face.wishOf(object);
  if (typeof wish === 'string') {
    await tell(options, record, { invalid: { reason: 'InvalidSpec', message: wish } });
    return INTERVAL;
  }
  const target = targetOf(wish.target, { history: record.history, available: wish.updates });
  const invalid = target.kind === 'refused' ? { reason: target.reason, message: target.message } : undefined;
  const risks = (): readonly UpgradeRisk[] => [...options.risks, ...ownRisks(record.history, wish, memory)];
  const considering = {
    wish,
    owner: ownerName(face.resource, object),
    history: record.history,
    enabled: record.enabled,
    risks: risks(),
    memory,
    ports,
  };
  const asked = target.kind === 'release' ? imageText(target.image) : '';
  const looked = await whileWanted(options, asked, async (more) => {
    const waiting = { ...considering, ...more };
    const wanted = target.kind === 'release' ? await considerAfresh(target, waiting) : undefined;
    const image = target.kind === 'release' ? target.image : undefined;
    return { wanted, chosen: await choose(image, wanted, { record, considering: waiting }) };
  });
  if (looked === undefined) return 0;
  const { wanted, chosen } = looked;
  const told = {
    wish,
    risks: risks(),
    asked,
    ...(invalid === undefined ? {} : { invalid }),
    ...(wanted === undefined ? {} : { considered: wanted }),
  };
  if (chosen === undefined) {
    await tell(options, record, told);
    return retryAfter(memory, asked, ports);
  }
  return await applyChosen(options, record, { ...told, chosen });
}

/** Says what is waited for, as long as `work` lasts; undefined: meanwhile somebody wants something else. */
async function whileWanted<T extends KubeObject & WithStatus, R>(
  options: PassOptions<T>,
  asked: string,
  work: (more: Required<Pick<ConsiderOptions, 'signal' | 'onWait'>>) => Promise<R>,
): Promise<R | undefined> {
  const { face, ports, write, stopping } = options;
  let last: Wait | undefined;
  const say = async (): Promise<void> => {
    const wait = last;
    if (wait === undefined) return;
    await write((current) => statusWaiting(face, current, { asked, wait, now: ports.clock.date().toISOString() }));
  };
  using changed = whenChanged(options);
  await using writes = throttled(say, ports);
  const signal = AbortSignal.any([options.signal, stopping, changed.signal]);
  const onWait = (wait: Wait): void => {
    last = wait;
    writes.ask();
  };
  try {
    return await work({ signal, onWait });
  } catch (error) {
    if (changed.signal.aborted && !options.signal.aborted && !stopping.aborted) return undefined;
    throw error;
  }
}

interface Told {
  readonly wish?: ReleaseWish;
  readonly risks?: readonly UpgradeRisk[];
  readonly asked?: string;
  readonly invalid?: { readonly reason: string; readonly message: string };
  readonly considered?: Considered;
}

interface Chosen {
  readonly image: string;
  readonly loaded: LoadedRelease;
  readonly verified: boolean;
  /** undefined: not the one that was asked for, so that nothing is known of its risks. */
  readonly acceptedRisks: string | undefined;
}

/** What is applied: the release that is wanted where it is accepted, else the one that is there. What was running goes on running. */
async function choose(
  image: string | undefined,
  wanted: Considered | undefined,
  { record, considering }: { readonly record: ReleaseRecord; readonly considering: ConsiderOptions },
): Promise<Chosen | undefined> {
  if (image !== undefined && wanted?.acceptance.accepted === true && wanted.loaded !== undefined) {
    const { verified, acceptedRisks } = wanted.acceptance;
    return { image, loaded: wanted.loaded, verified, acceptedRisks };
  }
  const [head] = record.history;
  if (head === undefined || head.image === image) return undefined;
  const current = targetOf({}, { history: record.history });
  if (current.kind !== 'release') return undefined;
  const held = await consider(current, considering);
  return held.acceptance.accepted && held.loaded !== undefined
    ? { image: current.image, loaded: held.loaded, verified: held.acceptance.verified, acceptedRisks: undefined }
    : undefined;
}

async function applyChosen<T extends KubeObject & WithStatus>(
  options: PassOptions<T>,
  record: ReleaseRecord,
  told: Told & { readonly chosen: Chosen; readonly wish: ReleaseWish },
): Promise<number> {
  const { face, object, memory, ports, stopping } = options;
  const { image, loaded, verified, acceptedRisks } = told.chosen;
  const { version } = loaded.payload.metadata;
  const mode = modeOf(record.history, image);
  const attained = { version, image, verified, ...(acceptedRisks === undefined ? {} : { acceptedRisks }) };
  const now = (): string => ports.clock.date().toISOString();
  const begun = mergeHistory(record.history, { ...attained, completed: false }, now());
  memory.history = begun;
  memory.running = loaded;
  memory.proven = verified ? provenAs(image, told.wish) : undefined;
  const { attempts } = memory;
  const count = attempts.image === image ? attempts.count : 0;
  let progress: ApplyProgress = { done: 0, total: loaded.included.length, waiting: [] };
  let phase: string | undefined;
  /** Whose turn it is before ours. */
  let first: string | undefined;
  const work = (complete: boolean): Work => ({
    ...{ version, mode, complete, done: progress.done, total: progress.total },
    ...(phase === undefined ? {} : { phase }),
    waiting: [...turnFor(first), ...progress.waiting.map(({ object: of, why }) => ({ object: idText(of), why }))],
  });
  const during = (): Promise<void> =>
    tell(options, { ...record, history: begun }, { ...told, work: work(mode === 'reconciling'), progress, loaded });
  // Before anything is done, so that it shows; a status that cannot be written holds nothing up.
  await during().catch((error: unknown) =>
    ports.warn('the status cannot be written, the release is applied all the same', error),
  );
  let outcome: BroughtAbout | undefined;
  let failure: unknown;
  {
    using changed = whenChanged(options);
    await using writes = throttled(during, ports);
    const unwanted = AbortSignal.any([options.signal, stopping, changed.signal]);
    try {
      first = ports.applying.taken();
      if (first !== undefined && mode !== 'reconciling') writes.ask();
      using _turn = await ports.applying.take(ownerName(face.resource, object), unwanted);
      first = undefined;
      const ends = AbortSignal.any([unwanted, AbortSignal.timeout(4 * INTERVAL)]);
      const client = ports.clientFor(told.wish.account);
      const manifests = loaded.included;
      const watching = { client, manifests, memory: memory.apply, mode, signal: ends };
      const live = await ports.watches.of(object.metadata.uid ?? '', watching);
      outcome = await bringAbout(
        {
          payload: { version, image, hash: loaded.hash },
          manifests,
          mode,
          attempt: count,
          owner: { name: ownerName(face.resource, object), waitsForRollouts: face.waitsForRollouts },
        },
        {
          ...{ client, live, inventory: ports.inventory, memory: memory.apply },
          clock: ports.clock,
          signal: ends,
          onProgress: (next) => {
            progress = next;
            if (mode !== 'reconciling') writes.ask();
          },
        },
        {
          ...{ history: begun, wish: told.wish, memory, ports },
          onWayBack: (next) => {
            phase = `${next.phase}${next.what === '' ? '' : `: ${next.what}`}`;
            writes.ask();
          },
        },
      );
    } catch (error) {
      if (
        !(error instanceof ReleaseError || error instanceof ApiError) &&
        !(stopping.aborted || options.signal.aborted || changed.signal.aborted)
      )
        throw error;
      failure = changed.signal.aborted ? undefined : error;
    }
  }
  const complete = outcome?.complete === true;
  if (complete || outcome?.kept !== undefined) memory.kept = { image, definitions: outcome?.kept ?? [] };
  progress = outcome?.progress ?? progress;
  memory.deleting = (outcome?.deletions ?? []).map((one) => idText(one.object));
  memory.attempts = {
    image,
    count: count + 1,
    failed: complete ? 0 : (attempts.image === image ? attempts.failed : 0) + 1,
  };
  memory.since = sinceAfter(outcome?.errors ?? [], memory.since, ports.clock.date().getTime());
  const failing =
    outcome === undefined
      ? brokenOff(failure, stopping)
      : failingOf(outcome.errors, { since: memory.since, now: ports.clock.date().getTime(), mode });
  const merged = mergeHistory(begun, { ...attained, completed: complete }, now());
  const history = withFinalised(merged, told.wish.soak, ports.clock.date());
  memory.history = history;
  const risks = [...options.risks, ...ownRisks(history, told.wish, memory)];
  const said = { ...told, risks, failing, work: work(complete), loaded, ...(complete ? {} : { progress }) };
  await tell(options, { ...record, history }, said);
  const wayBack = stopping.aborted
    ? undefined
    : await rollbackable({
        history,
        wish: told.wish,
        memory,
        ports,
        ...{ name: object.metadata.name, owner: ownerName(face.resource, object) },
        signal: AbortSignal.any([options.signal, stopping]),
      });
  if (wayBack !== undefined) await tell(options, { ...record, history }, { ...said, wayBack });
  return complete ? INTERVAL * (1 + ports.random()) : retryAfter(memory, image, ports);
}

function turnFor(first: string | undefined): readonly { readonly object: string; readonly why: string }[] {
  return first === undefined ? [] : [{ object: 'its turn', why: `${first} come first` }];
}

function brokenOff(failure: unknown, stopping: AbortSignal): Failing {
  if (failure === undefined || stopping.aborted) return QUIET;
  return { status: 'True', reason: 'UpdatePayloadFailed', message: (failure as Error).message };
}

function retryAfter(memory: ReleaseMemory, image: string, { random }: ReleasePorts): number {
  const { failed } = memory.attempts.image === image ? memory.attempts : { failed: 1 };
  return Math.min(INTERVAL, (INTERVAL / SOON) * 2 ** Math.min(failed, SOON)) * (1 + 0.2 * random());
}

/** What stands against another minor from this release itself. */
function ownRisks(history: readonly HistoryEntry[], wish: ReleaseWish, memory: ReleaseMemory): readonly UpgradeRisk[] {
  const [head] = history;
  return upgradeRisks({
    version: head?.version ?? '',
    updating: head !== undefined && head.state !== 'Completed',
    overridden: wish.overrides.filter((one) => one.unmanaged).map(idText),
    deleting: memory.deleting,
    ...{ gates: {}, acks: {}, operators: [] },
  });
}

type Saying = Told & {
  readonly work?: Work;
  readonly failing?: Failing;
  readonly progress?: ApplyProgress;
  readonly loaded?: LoadedRelease;
  readonly wayBack?: WayBackState;
};

/** Writes a status that follows from what is known now. */
async function tell<T extends KubeObject & WithStatus>(
  options: PassOptions<T>,
  record: ReleaseRecord,
  said: Saying,
): Promise<void> {
  const { face, object, memory, ports } = options;
  const [head] = record.history;
  const wanted = conditionsOf({
    history: record.history,
    work: said.work ?? (head === undefined ? undefined : standingWork(head)),
    failing: said.failing ?? QUIET,
    acceptance: said.considered?.acceptance,
    asked: said.asked ?? '',
    upgradeRisks: said.risks ?? options.risks,
    implicit: said.loaded?.capabilities?.implicit ?? [],
    wayBack: said.wayBack ?? memory.wayBack?.state,
    ...(memory.kept?.image === head?.image ? { kept: memory.kept?.definitions ?? [] } : {}),
    ...(said.invalid === undefined ? {} : { invalid: said.invalid }),
  });
  const { capabilities } = said.loaded ?? {};
  await options.write((current) => {
    const stored = face.recordOf(current);
    // A process that has just begun does not know yet.
    const carried =
      memory.kept?.image === head?.image || head?.state === 'Completed' || stored.history[0]?.image !== head?.image
        ? []
        : stored.conditions.filter(({ type }) => type === ROLLBACK_INCOMPLETE).map(asStated);
    const standing: Standing = {
      observedGeneration: object.metadata.generation ?? 0,
      desired:
        head === undefined
          ? undefined
          : { image: head.image, ...(head.version === '' ? {} : { version: head.version }) },
      about: said.loaded?.payload.metadata,
      versionHash: said.loaded?.versionHash,
      history: record.history,
      conditions: withConditions(stored.conditions, [...wanted, ...carried], ports.clock.date().toISOString()),
      progress: said.progress,
      waiting: (said.progress?.waiting ?? []).map(({ object: of, why, since }) => ({
        object: idText(of),
        why,
        since: since.toISOString(),
      })),
      capabilities,
    };
    return face.statusOf(standing, current);
  });
}

/** What is said of a release that is not being worked on. */
function standingWork({ version, state }: HistoryEntry): Work {
  const complete = state === 'Completed';
  return { version, mode: complete ? 'reconciling' : 'updating', complete, done: 0, total: 0, waiting: [] };
}

/** Ends when somebody wants something else. */
function whenChanged<T extends KubeObject & WithStatus>({
  cache,
  object,
}: PassOptions<T>): Disposable & { readonly signal: AbortSignal } {
  const stop = new AbortController();
  const key: Key = keyOf(object);
  const look = (): void => {
    const now = cache.get(key);
    if (now?.metadata.uid !== object.metadata.uid || now?.metadata.generation !== object.metadata.generation)
      stop.abort(new Error('something else is wanted'));
  };
  const subscription = cache.subscribe(look);
  return { signal: stop.signal, [Symbol.dispose]: () => subscription[Symbol.dispose]() };
}
