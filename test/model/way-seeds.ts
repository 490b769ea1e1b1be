import { generator, scheduler } from '@drydock/model';
import { act, DEEDS, reverting } from './way-deeds.ts';
import { untilNothingIsLeft } from './way-exploration.ts';
import { onCalls } from './way-hooks.ts';
import { copyWay, operate, processOf, type WayOptions, type WayProcess, type WayWorld, wayWorld } from './way-world.ts';

/** What befell a world. */
export interface WayPlayed {
  readonly deaths: number;
  readonly deeds: readonly string[];
  /** What reverts were answered. */
  readonly answers: readonly string[];
}

const begun = new Map<string, Promise<WayWorld>>();

/** The operator, who dies now and then, and up to four people, each with one deed: whose call comes next follows from the seed. In the end there is one outcome. */
export async function playWay(seed: number, options: WayOptions): Promise<WayPlayed> {
  const next = generator(seed);
  const below = (most: number): number => Math.floor(next() * most);
  const key = JSON.stringify(options);
  const first = begun.get(key) ?? wayWorld(options);
  begun.set(key, first);
  const world = copyWay(await first);
  const turns = scheduler(seed);
  const deeds = DEEDS.toSorted(() => next() - 0.5).slice(0, 1 + below(4));
  const lives = Array.from({ length: below(4) }, () => 1 + below(60));
  let deaths = 0;
  /** Changes that the process that operates now makes before it dies. */
  let left = Number.POSITIVE_INFINITY;
  let operating: WayProcess | undefined;
  const calls = onCalls(world, async ({ phase, by, operates, mutates }) => {
    if (!operates && !persons.has(by)) return;
    await turns.turn();
    if (by !== operating?.client && by !== operating?.session) return;
    if (mutates && phase === 'after') left -= 1;
    if (left > 0) return;
    operating.kill();
    throw new Error('the process is dead');
  });
  const persons = new WeakSet<object>();
  const people = deeds.map((deed) => {
    const patience = below(200);
    return async (): Promise<void> => {
      for (let turn = 0; turn < patience; turn += 1) await turns.turn();
      await act(world, deed, (of, process, to) => {
        persons.add(process.client).add(process.session);
        return reverting(of, process, to);
      });
    };
  });
  const operator = async (): Promise<void> => {
    for (const life of [...lives, Number.POSITIVE_INFINITY]) {
      left = life;
      operating = processOf(world);
      await operate(world, undefined, operating).catch((error: unknown) => {
        if (left > 0) throw error;
        deaths += 1;
      });
    }
  };
  const ended = await turns.run([operator, ...people]);
  calls[Symbol.dispose]();
  for (const one of ended) if (one.status === 'rejected') throw one.reason;
  using _ = onCalls(world);
  await operate(world);
  await untilNothingIsLeft(world);
  world.ledger.settled();
  return { deaths, deeds, answers: world.ledger.answers };
}
