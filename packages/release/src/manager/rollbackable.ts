import { losesData } from '../apply/step.ts';
import type { WayBackState } from '../state/conditions.ts';
import { finalAt, finalBefore } from '../state/finalisation.ts';
import type { HistoryEntry } from '../state/history.ts';
import { finalText } from '../state/way-back.ts';
import type { ReleaseWish } from './face.ts';
import { loadRelease } from './loaded-release.ts';
import type { ReleaseMemory } from './memory.ts';
import type { ReleasePorts } from './ports.ts';
import { unjudged, wayBackState } from './way-back-judge.ts';

/** So old (ms) may a look at what is stored be. */
const FRESH = 600_000;

/** What decides whether the release before could be gone back to. */
export interface RollbackableOptions {
  readonly history: readonly HistoryEntry[];
  readonly wish: ReleaseWish;
  readonly memory: ReleaseMemory;
  readonly ports: ReleasePorts;
  readonly name: string;
  /** Whose inventory counts. */
  readonly owner: string;
  readonly signal: AbortSignal;
}

/** Looks whether what is stored would fit the definitions of the release before; undefined: the last look is young enough. It never rejects. */
export async function rollbackable(options: RollbackableOptions): Promise<WayBackState | undefined> {
  const { history, memory, ports } = options;
  const [head] = history;
  const before = history.find(({ state, image }) => state === 'Completed' && image !== head?.image);
  const now = ports.clock.date().getTime();
  const image = before?.image ?? '';
  const final = before === undefined ? undefined : finalBefore(history, before);
  const known = memory.wayBack?.image === image ? memory.wayBack : undefined;
  const isKnown = (known?.state.reason === FINAL) === (final !== undefined);
  if (known !== undefined && isKnown && now - known.at < FRESH) return undefined;
  const state =
    before === undefined
      ? NOTHING
      : final === undefined
        ? withEnd(await judged(before, options), options)
        : { status: 'False' as const, reason: FINAL, message: finalText(final) };
  memory.wayBack = { image, state, at: now };
  return state;
}

const NOTHING: WayBackState = {
  status: 'False',
  reason: 'NoReleaseBefore',
  message: 'No release was complete here before this one.',
};

const FINAL = 'Finalised';

/** Says until when it holds. */
function withEnd(state: WayBackState, { history, wish }: RollbackableOptions): WayBackState {
  const until = finalAt(history, wish.soak);
  if (until === undefined || state.status !== 'True') return state;
  return {
    ...state,
    message: `${state.message} ${history[0]?.version} is final from ${until.toISOString()} on: then the way back is guarded no more.`,
  };
}

async function judged(
  { version, image }: HistoryEntry,
  { wish, memory, ports, name, owner, signal }: RollbackableOptions,
): Promise<WayBackState> {
  try {
    if (memory.before?.image !== image) {
      // As that release was applied: what it is now worth is asked when somebody goes back.
      const { included, payload } = loadRelease(await ports.retrieve(image, signal), image, wish, {
        enabled: [],
        running: undefined,
      });
      const manifests = included.filter(({ id }) => id.kind === 'CustomResourceDefinition' || losesData(id));
      memory.before = { image, manifests, kubernetes: payload.kubernetes };
    }
    const { entries: inventory } = await ports.inventory.open({ name: owner }, signal);
    const running = { inventory, manifests: memory.running?.included ?? [] };
    const way = await ports.judge(ports.clientFor(wish.account), { ...memory.before, running }, signal);
    ports.metrics.judged(name, way);
    return wayBackState(version, way);
  } catch (error) {
    return unjudged(version, error);
  }
}
