import assert from 'node:assert/strict';
import fs from 'node:fs';
import { test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { type FsOps, inspect, nodeOps } from '@drydock/durable';
import { contentAt } from './crash-points.ts';
import { again, fuzz, type Life } from './fuzz.ts';
import { cannotRun, kinds } from './power-rig.ts';
import {
  compact,
  installOn,
  linkOn,
  monitorOn,
  pairContent,
  pruneOn,
  revisionContent,
  syncOn,
} from './static-pod-node.ts';

// A node's life: revisions are installed, watched, fallen back from and pruned, certificates change, others sync, and the power goes at a random moment.

const FILE = 'test/power/static-pods.fuzz.test.ts';

/** What the disk holds, in few words. */
interface Node {
  /** The revision that kubelet runs, `<revision> for <failed one>` after a fallback. */
  readonly main: string;
  /** The revision of the monitor's manifest. */
  readonly monitor: number | undefined;
  readonly link: number;
  readonly revisions: readonly number[];
  readonly certificate: number;
  readonly trust: number | undefined;
}

interface Step {
  readonly name: string;
  readonly after: Node;
  run(ops: FsOps, root: string): Promise<unknown>;
}

const FIRST: Node = { main: '2', monitor: 2, link: 1, revisions: [1, 2], certificate: 2, trust: 2 };

async function prepare(root: string): Promise<void> {
  const ops = { ...nodeOps };
  await installOn(ops, root, { revision: 1, certificate: 1 });
  await linkOn(ops, root, 1);
  await syncOn(ops, root, { revision: 1, certificate: 2, trust: true });
  await installOn(ops, root, { revision: 2, certificate: 2 });
}

/** One of the steps that make sense on a node. */
function nextStep(node: Node, random: () => number): Step {
  const { revisions, certificate, link, monitor } = node;
  const newest = Math.max(...revisions);
  const choice = random();
  if (monitor !== undefined && choice < 0.5) {
    const ready = choice < 0.25;
    const main = ready ? node.main : `${link} for ${monitor}`;
    return {
      name: ready ? 'monitor, ready' : 'monitor, fallback',
      after: { ...node, main, monitor: undefined, link: ready ? monitor : link },
      run: (ops, root) => monitorOn(ops, root, monitor, ready),
    };
  }
  if (choice < 0.65)
    return {
      name: 'prune',
      after: { ...node, revisions: revisions.filter((one) => one === newest || one === link) },
      run: (ops, root) => pruneOn(ops, root, newest - 1),
    };
  if (choice < 0.8) {
    const trust = node.trust === undefined ? certificate + 1 : undefined;
    return {
      name: 'cert-sync',
      after: { ...node, certificate: certificate + 1, trust },
      run: (ops, root) => syncOn(ops, root, { revision: 0, certificate: certificate + 1, trust: trust !== undefined }),
    };
  }
  return installation(node);
}

function installation(node: Node): Step {
  const revision = Math.max(...node.revisions) + 1;
  const certificate = node.certificate + 1;
  const revisions = [...node.revisions, revision];
  return {
    name: 'install',
    after: { ...node, main: String(revision), monitor: revision, revisions, certificate },
    run: (ops, root) => installOn(ops, root, { revision, certificate }),
  };
}

/** Reads the disk; throws where something is torn. */
function nodeAt(root: string): Node {
  const whole = <T>(name: string, path: string, of: (number: number) => unknown, number: number, value: T): T => {
    const found = contentAt(`${root}/${path}`);
    if (!isDeepStrictEqual(found, of(number))) throw new Error(`${name} is torn: ${JSON.stringify(found)}`);
    return value;
  };
  const text = (path: string): string | undefined => {
    const found = contentAt(`${root}/${path}`);
    return typeof found === 'string' ? found : undefined;
  };
  const { metadata } = JSON.parse(text('man/p-pod.yaml') ?? '') as {
    metadata: { labels: { revision: string }; annotations?: Readonly<Record<string, string>> };
  };
  const failed = Object.entries(metadata.annotations ?? {}).find(([key]) => key.endsWith('-for-revision'))?.[1];
  const main = Number(metadata.labels.revision);
  if (failed === undefined) whole('main manifest', 'man/p-pod.yaml', (n) => compact(n), main, main);
  const own = text('man/p-startup-monitor-pod.yaml');
  const monitor = own === undefined ? undefined : Number(/"revision":"(\d+)"/.exec(own)?.[1]);
  if (monitor !== undefined)
    whole("the monitor's manifest", 'man/p-startup-monitor-pod.yaml', (n) => compact(n, 'm'), monitor, monitor);
  const revisions = fs
    .readdirSync(`${root}/res`)
    .filter((name) => name.startsWith('p-pod-'))
    .map((name) => Number(name.slice('p-pod-'.length)))
    .map((n) => whole(`revision ${n}`, `res/p-pod-${n}`, revisionContent, n, n))
    .sort((a, b) => a - b);
  const certificate = Number(text('certs/secrets/tls/crt')?.slice('pair '.length));
  const ca = text('certs/configmaps/trust/ca');
  return {
    main: failed === undefined ? String(main) : `${main} for ${failed}`,
    monitor,
    link: Number(/p-pod-(\d+)\//.exec(text('res/p-last-known-good') ?? '')?.[1]),
    revisions,
    certificate: whole('the pair', 'certs/secrets/tls', pairContent, certificate, certificate),
    trust: ca === undefined ? undefined : Number(ca.slice('ca '.length)),
  };
}

/** What is neither as before a step nor as after it; what leads nowhere. */
function problemOf(found: Node, before: Node, after: Node): string | undefined {
  for (const key of ['main', 'monitor', 'link', 'certificate', 'trust'] as const)
    if (found[key] !== before[key] && found[key] !== after[key])
      return `${key} is ${found[key]}, expected ${before[key]} or ${after[key]}`;
  const may = new Set([...before.revisions, ...after.revisions]);
  const must = before.revisions.filter((one) => after.revisions.includes(one));
  if (!found.revisions.every((one) => may.has(one)) || !must.every((one) => found.revisions.includes(one)))
    return `revisions are ${found.revisions.join()}, expected ${before.revisions.join()} or ${after.revisions.join()}`;
  for (const one of [Number.parseInt(found.main, 10), found.link])
    if (!found.revisions.includes(one)) return `revision ${one} is in use and gone`;
  if (found.main === after.main && after.main !== before.main && !found.main.includes('for'))
    if (found.monitor !== after.monitor || found.certificate !== after.certificate)
      return 'the main manifest came before what it leads to';
  return undefined;
}

function begin(random: () => number): Life {
  let node = FIRST;
  let step = nextStep(node, random);
  let acknowledged = 0;
  return {
    live: async (ops, root, on) => {
      while (on()) {
        await step.run(ops, root);
        if (!on()) return;
        acknowledged += 1;
        node = step.after;
        step = nextStep(node, random);
      }
    },
    judge: async (root) => {
      const problem = problemOf(nodeAt(root), node, step.after);
      if (problem !== undefined) return `cut in ${step.name}: ${problem}`;
      const ops = { ...nodeOps };
      await step.run(ops, root);
      const again = nodeAt(root);
      if (!isDeepStrictEqual(again, step.after))
        return `${step.name}, run again, leaves ${JSON.stringify(again)}, expected ${JSON.stringify(step.after)}`;
      // Kubelet does not start a monitor again whose manifest is gone: what it left goes with the next installation.
      await installation(step.after).run(ops, root);
      const { leftovers } = await inspect(root, { ops });
      return leftovers.length === 0 ? undefined : `left over: ${leftovers.map(({ path }) => path).join()}`;
    },
    cutIn: () => step.name,
    acknowledged: () => acknowledged,
  };
}

for (const kind of kinds) {
  const skip = cannotRun(kind);
  test(`power cut, ${kind}, at random: installer, cert syncer, pruner and monitor leave a node that works`, {
    skip,
    timeout: 7_200_000,
  }, async (t) => {
    const report = await fuzz(kind, { prepare, begin, longest: 500 });
    const { cuts, acknowledged, cutIn, wrong } = report;
    t.diagnostic(
      `${kind}: ${cuts} cuts in ${JSON.stringify(cutIn)}, ${acknowledged} steps before, ${wrong.size} wrong`,
    );
    assert.equal(wrong.size, 0, again(report, FILE));
    if (cuts > 50) assert.equal(Object.keys(cutIn).length, 5, 'some program was never cut');
  });

  test(`power cut, ${kind}, at random, negative control: without syncs a node is torn`, { skip }, async (t) => {
    const unsynced = (ops: FsOps): FsOps => ({ ...ops, fsync: async () => undefined });
    const { cuts, wrong } = await fuzz(kind, { prepare, begin, longest: 500 }, [1, 2, 3, 4, 5, 6, 7, 8], unsynced);
    t.diagnostic(`${kind}: ${wrong.size} of ${cuts} wrong, such as ${[...wrong.values()][0]?.slice(0, 160)}`);
    assert.ok(wrong.size > 0);
  });
}
