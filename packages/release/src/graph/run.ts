import type { Graph, Node } from './graph.ts';

/** How a graph was run. */
export interface GraphRun {
  /** Nodes that did not end well: failed, waited for one that did, or were not reached before the end. */
  readonly incomplete: number;
}

/**
 * Runs the nodes of a graph, at most `workers` at the same time, each after those that it waits for. `run` resolves to whether the node is done; one that
 * is not holds back only those that wait for it. After the signal, or where `run` rejects, nothing begins any more; it rejects with the first once all have ended.
 */
export async function runGraph(
  graph: Graph,
  options: {
    readonly workers: number;
    readonly signal: AbortSignal;
    readonly run: (node: Node, index: number) => Promise<boolean>;
  },
): Promise<GraphRun> {
  const { workers, signal, run } = options;
  const missing = graph.map(({ after }) => after.length);
  const dependents = graph.map((): number[] => []);
  for (const [index, { after }] of graph.entries()) for (const before of after) dependents[before]?.push(index);
  const ready = [...graph.keys()].filter((index) => missing[index] === 0);
  const running = new Set<Promise<void>>();
  const broken: unknown[] = [];
  let done = 0;

  async function work(index: number, node: Node): Promise<void> {
    try {
      if (!(await run(node, index))) return;
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

  for (let at = 0; at < ready.length || running.size > 0; ) {
    while (at < ready.length && running.size < workers && !signal.aborted && broken.length === 0) {
      const index = ready[at] as number;
      at += 1;
      const one: Promise<void> = work(index, graph[index] as Node).finally(() => running.delete(one));
      running.add(one);
    }
    if (running.size === 0) break;
    await Promise.race(running);
  }
  if (broken.length > 0) throw broken[0];
  return { incomplete: graph.length - done };
}
