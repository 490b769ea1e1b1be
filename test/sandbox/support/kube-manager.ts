import {
  controller,
  createCache,
  createClient,
  isAlreadyExists,
  isConflict,
  isPatchTestFailed,
  type Key,
  type Leader,
  leaderElection,
  loadKubeconfig,
  type ReconcileContext,
  run,
} from '@drydock/kube';
import { pino } from 'pino';
import { CONFIG_MAP, type ConfigMap } from './kube-kinds.ts';

// A process of its own with one manager: for each ConfigMap labelled `work=y`, once per `data.want`, it makes a ConfigMap `<name>-<want>` and counts
// one more in `data.runs`. Arguments: kubeconfig, namespace, identity, `guarded` or `blind`. Prints `leading`, and `between <name> <want>` in the middle of
// each reconcile. A blind manager decides first and writes later without a guard: the negative control. With a fifth argument it stops itself (SIGSTOP) in the
// middle of its first reconcile of that wish. Ends when its standard input does.
const [kubeconfig = '', namespace = '', identity = '', mode = 'guarded', fatal = ''] = process.argv.slice(2);
let stopped = false;
const unguarded: Promise<void>[] = [];
const say = (text: string): void => void process.stdout.write(`${text}\n`);
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

process.stdin.on('end', () => process.exit(0)).resume();
const log = pino({ level: 'silent' });
const client = createClient(await loadKubeconfig({ kubeconfig }));
const cache = createCache({
  client,
  resource: CONFIG_MAP,
  where: { namespace, labels: 'work=y' },
  onError: () => undefined,
});
const leader: Leader = leaderElection({
  client,
  namespace,
  name: 'manager',
  identity,
  leaseDuration: 8_000,
  renewDeadline: 6_000,
  retryPeriod: 500,
  log,
  onChange: (leading) => say(leading ? 'leading' : 'following'),
});

async function reconcile(key: Key, { signal }: ReconcileContext): Promise<undefined> {
  const seen = cache.get(key);
  const want = seen?.data?.['want'];
  if (seen === undefined || want === undefined || want === seen.data?.['have']) return;
  leader.assertHeld();
  say(`between ${key.name} ${want}`);
  if (want === fatal && !stopped) {
    stopped = true;
    process.kill(process.pid, 'SIGSTOP');
  }
  const write = pause(20).then(() => (mode === 'blind' ? blind(key, want) : guarded(key, want, seen, signal)));
  if (mode === 'blind') unguarded.push(write);
  await write;
}

async function guarded(key: Key, want: string, seen: ConfigMap, signal: AbortSignal): Promise<void> {
  try {
    // Its name is unique per wish: a second one is refused, whoever sends it.
    await client.create(CONFIG_MAP, { metadata: { namespace, name: `${key.name}-${want}` } }, { signal });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
  await pause(10);
  const runs = Number(seen.data?.['runs'] ?? '0');
  try {
    await client.patch(
      CONFIG_MAP,
      key,
      [
        { op: 'test', path: '/data/runs', value: `${runs}` },
        { op: 'add', path: '/metadata/resourceVersion', value: seen.metadata.resourceVersion },
        { op: 'replace', path: '/data/runs', value: `${runs + 1}` },
        { op: 'add', path: '/data/have', value: want },
      ],
      { signal },
    );
  } catch (error) {
    // Somebody was faster: then the cache brings what is, and that is decided anew.
    if (!isConflict(error) && !isPatchTestFailed(error)) throw error;
  }
}

async function blind(key: Key, want: string): Promise<void> {
  const { data } = await client.get(CONFIG_MAP, key);
  await client.mergePatch(CONFIG_MAP, key, { data: { runs: `${Number(data?.['runs'] ?? '0') + 1}`, have: want } });
}

const stop = new AbortController();
process.on('SIGTERM', () => stop.abort());
const work = controller({ name: 'work', concurrency: 4, for: cache, backOff: { longest: 500 }, reconcile });
const operator = await run({
  client,
  caches: { cache },
  controllers: [work],
  leader,
  log,
  graceful: 5_000,
  signal: stop.signal,
});
const code = await operator.finished.then(
  () => 0,
  (error: unknown) => {
    say(`ended ${error instanceof Error && 'code' in error ? String(error.code) : String(error)}`);
    return 1;
  },
);
// It does not even end before its late writes have: what comes too late on a slow machine proves nothing.
await Promise.allSettled(unguarded);
process.exit(code);
