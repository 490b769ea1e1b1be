import { follow } from '@drydock/vm-watch/testing';
import { compared, median, percentile } from '../measure.ts';
import { type Bench, FLEET, QUIET_MS, type Side, type Watcher } from './sides.ts';

const SIDES: readonly Side[] = ['ours', 'peer'];
const PER_SECOND = 500;
/** Windows of two seconds, one of each side after the other. */
const UPDATES = 1_000;
const WARM = 2;
/** So many pairs of windows are judged, of at most so many. */
const JUDGED = 11;
const MOST = 30;
/** A machine whose timers are later than this in one of a hundred measures something else. */
const CALM_MS = 1;
const SHARES = [0.5, 0.9, 0.99] as const;

interface Window {
  /** Ascending. */
  readonly latencyMs: readonly number[];
  readonly lateMs: number;
}
type Pair = Readonly<Record<Side, Window>>;

/**
 * From a change to its request at 500 updates a second. Both watchers run all the time, each on a folder of its own of one server, and take turns at being measured. Pairs of neighbouring
 * windows are compared, and the median of their ratios is reported; pairs in which the server's own clock was late are replaced, as long as that helps. So a busy machine spoils
 * some windows, and not the result.
 */
export async function paced(bench: Bench): Promise<void> {
  const { containers, ...where } = await bench.serve(FLEET, SIDES.length);
  await using stack = new AsyncDisposableStack();
  const watchers = new Map<Side, Watcher>();
  for (const [folder, side] of SIDES.entries()) {
    const watcher = stack.use(await bench.start(side));
    const how = { do: 'watch', verified: true, requests: 0, patienceMs: 0 } as const;
    await bench.tell(watcher, { ...where, container: containers[folder] ?? '', ...how });
    watchers.set(side, watcher);
  }
  const window = async (side: Side, perSecond: number, updates: number): Promise<Window> => {
    const watcher = watchers.get(side);
    if (watcher === undefined) throw new Error('bench: a side is missing');
    const changes = await bench.change({ folder: SIDES.indexOf(side), updates, perSecond });
    const requests = changes.machines.length;
    const result = await bench.tell(watcher, { do: 'collect', requests, patienceMs: QUIET_MS });
    return { latencyMs: follow(changes, result).latencyMs, lateMs: changes.lateMs };
  };
  const pair = async (round: number): Promise<Pair> => {
    // Who is first changes, too.
    const [first, second] = round % 2 === 0 ? (['ours', 'peer'] as const) : (['peer', 'ours'] as const);
    const one = await window(first, PER_SECOND, UPDATES);
    const other = await window(second, PER_SECOND, UPDATES);
    return first === 'ours' ? { ours: one, peer: other } : { ours: other, peer: one };
  };
  // What is compiled on the way is not measured.
  for (const side of SIDES) await window(side, 0, 2 * FLEET);
  for (let round = 0; round < WARM; round += 1) await pair(round);
  const pairs: Pair[] = [];
  const late = ({ ours, peer }: Pair): number => Math.max(ours.lateMs, peer.lateMs);
  while (pairs.length < MOST && pairs.filter((one) => late(one) <= CALM_MS).length < JUDGED)
    pairs.push(await pair(pairs.length));
  report(bench, pairs.toSorted((a, b) => late(a) - late(b)).slice(0, JUDGED), (judged) => median(judged.map(late)));
}

function report(bench: Bench, judged: readonly Pair[], lateness: (judged: readonly Pair[]) => number): void {
  const figure = { bench: 'watch', case: `${PER_SECOND} updates/s`, unit: 'ms', lowerIsBetter: true } as const;
  for (const share of SHARES) {
    const [ours, peer] = SIDES.map((side) => judged.map((one) => percentile(one[side].latencyMs, share)));
    if (ours === undefined || peer === undefined) continue;
    bench.report({
      ...figure,
      metric: `p${share * 100}`,
      ours: median(ours),
      peer: median(peer),
      ratio: median(ours.map((value, at) => value / (peer[at] ?? Number.NaN))),
      ...(share === 0.99 ? { goal: 1 } : {}),
    });
  }
  const longest = (side: Side): number => median(judged.map((one) => one[side].latencyMs.at(-1) ?? 0));
  bench.report(compared({ ...figure, metric: 'longest', ours: longest('ours'), peer: longest('peer') }));
  bench.report({ ...figure, case: `${PER_SECOND} updates/s, server`, metric: 'late by', ours: lateness(judged) });
}
