import type { Graph, Node } from './graph.ts';

/** How a graph was run. */
export interface GraphRun {
  /** Nodes that did not end well: failed, waited for one that did, or were not reached before the end. */
  readonly incomplete: number;
}

/** A worker that no node needs now, for one piece of work; undefined: there is none. It is given back by disposing it. */
export type Lend = () => Disposable | undefined;

/**
 * Runs the nodes of a graph, at most `workers` at the same time, each after those that it waits for. What a node has to do that can be done at the same time may be done by workers that are lent to it. `run` resolves to whether the node is done; one that
 * is not holds back only those that wait for it. After the signal, or where `run` rejects, nothing begins any more; it rejects with the first once all have ended.
 */
export async function runGraph(
  graph: Graph,
  options: {
    readonly workers: number;
    readonly signal: AbortSignal;
    readonly run: (node: Node, lend: Lend) => Promise<boolean>;
  },
): Promise<GraphRun> {
  const { workers, signal, run } = options;
  const missing = graph.map(({ after }) => after.length);
  const dependents = graph.map((): number[] => []);
  for (const [index, { after }] of graph.entries()) for (const before of after) dependents[before]?.push(index);
  const ready = [...graph.keys()].filter((index) => missing[index] === 0);
  const broken: unknown[] = [];
  let [done, running, lent, at] = [0, 0, 0, 0];
  let changed = Promise.withResolvers<void>();
  const isOver = (): boolean => signal.aborted || broken.length > 0;

  const lend: Lend = () => {
    if (at < ready.length || running + lent >= workers || isOver()) return undefined;
    lent += 1;
    return {
      [Symbol.dispose]: () => {
        lent -= 1;
        changed.resolve();
      },
    };
  };

  async function work(index: number, node: Node): Promise<void> {
    try {
      if (!(await run(node, lend))) return;
    } catch (error) {
      broken.push(error);
      return;
    }
    done += 1;
    for (const next of dependents[index] ?? []) {
      missing[next] = (missing[next] ?? 0) - 1;
      if (missing[next] === 0) ready.push(next);
    }
  }

  for (;;) {
    changed = Promise.withResolvers();
    while (at < ready.length && running + lent < workers && !isOver()) {
      const index = ready[at] as number;
      at += 1;
      running += 1;
      void work(index, graph[index] as Node).then(() => {
        running -= 1;
        changed.resolve();
      });
    }
    if (running === 0) break;
    await changed.promise;
  }
  if (broken.length > 0) throw broken[0];
  return { incomplete: graph.length - done };
}

/**
 * Does the work for items that do not wait for each other: one after the other, and at the same time for as long as workers are lent, each for one item. After the first that is not well nothing begins any more; resolves to
 * whether all were, and rejects with what `work` rejects with, once all have ended.
 */
export async function runBeside<T>(
  items: readonly T[],
  lend: Lend,
  work: (item: T) => Promise<boolean>,
): Promise<boolean> {
  const rest = [...items];
  const lanes: Promise<void>[] = [];
  const broken: unknown[] = [];
  let well = true;

  async function one(item: T): Promise<void> {
    try {
      if (!(await work(item))) well = false;
    } catch (error) {
      well = false;
      broken.push(error);
    }
  }
  async function lane(item: T, worker: Disposable): Promise<void> {
    await one(item);
    worker[Symbol.dispose]();
    widen();
  }
  function widen(): void {
    for (;;) {
      const worker = well && rest.length > 0 ? lend() : undefined;
      if (worker === undefined) return;
      lanes.push(lane(rest.shift() as T, worker));
    }
  }

  while (well && rest.length > 0) {
    const item = rest.shift() as T;
    widen();
    await one(item);
  }
  // Whoever ends may have begun another one.
  for (let at = 0; at < lanes.length; at += 1) await lanes[at];
  if (broken.length > 0) throw broken[0];
  return well;
}
