import type { WayBackState } from '../state/conditions.ts';
import type { HistoryEntry } from '../state/history.ts';
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
  readonly signal: AbortSignal;
}

/** Looks whether what is stored would fit the definitions of the release before; undefined: the last look is young enough. It never rejects. */
export async function rollbackable(options: RollbackableOptions): Promise<WayBackState | undefined> {
  const { history, memory, ports } = options;
  const [head] = history;
  const before = history.find(({ state, image }) => state === 'Completed' && image !== head?.image);
  const now = ports.clock.date().getTime();
  const image = before?.image ?? '';
  if (memory.wayBack?.image === image && now - memory.wayBack.at < FRESH) return undefined;
  const state = before === undefined ? NOTHING : await judged(before, options);
  memory.wayBack = { image, state, at: now };
  return state;
}

const NOTHING: WayBackState = {
  status: 'False',
  reason: 'NoReleaseBefore',
  message: 'No release was complete here before this one.',
};

async function judged(
  { version, image }: HistoryEntry,
  { wish, memory, ports, name, signal }: RollbackableOptions,
): Promise<WayBackState> {
  try {
    if (memory.before?.image !== image) {
      // As that release was applied: what it is now worth is asked when somebody goes back.
      const { included } = loadRelease(await ports.retrieve(image, signal), image, wish, {
        enabled: [],
        running: undefined,
      });
      memory.before = { image, definitions: included.filter(({ id }) => id.kind === 'CustomResourceDefinition') };
    }
    const way = await ports.judge(ports.clientFor(wish.account), memory.before.definitions, signal);
    ports.metrics.judged(name, way);
    return wayBackState(version, way);
  } catch (error) {
    return unjudged(version, error);
  }
}
