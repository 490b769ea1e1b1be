import { ApiError, createClient, type KubeClient, loadKubeconfig } from '@drydock/kube';
import { rollBack } from '@drydock/release';
import { barePorts, bareWish } from './bare-way.ts';

// A way back as a process of its own that a SIGKILL ends at one of its calls: `node way-process.ts KUBECONFIG CALL INSTANT`. INSTANT: `before` the call is sent, `during` it, or `after` its answer. Without a call it goes to
// its end: 0, or 9 where somebody else's write was first.

const [kubeconfig = '', call = '', instant = ''] = process.argv.slice(2);
const LOST = 9;

function die(): never {
  process.kill(process.pid, 'SIGKILL');
  throw new Error('killed');
}

/** The client, whose process dies at one of its calls. */
function mortal(client: KubeClient): KubeClient {
  let calls = 0;
  return new Proxy(client, {
    get: (target, name) => {
      const method: unknown = Reflect.get(target, name, target);
      if (typeof method !== 'function' || typeof name === 'symbol') return method;
      return (...args: readonly unknown[]): unknown => {
        calls += 1;
        if (calls !== Number(call)) return Reflect.apply(method, target, args);
        if (instant === 'before') die();
        const answer: unknown = Reflect.apply(method, target, args);
        // A list has asked for nothing before it is read.
        if (!(answer instanceof Promise)) die();
        // The request is on its way a moment later.
        if (instant === 'during') setTimeout(die, 1);
        return answer.finally(die);
      };
    },
  });
}

await using client = createClient(await loadKubeconfig({ kubeconfig }));
try {
  const { complete, errors, kept } = await rollBack(bareWish, barePorts(call === '' ? client : mortal(client)));
  const keptByOther = kept.length > 0 && kept.every(({ why }) => why === 'somebody else has changed it');
  const refused = errors.length > 0 && errors.every(({ reason }) => reason === 'UpdatePayloadResourceConflict');
  if (keptByOther || refused) process.exitCode = LOST;
  else if (!complete) throw new Error(`not complete: ${JSON.stringify([errors, kept])}`);
} catch (error) {
  if (!(error instanceof ApiError && error.code === 'Conflict')) throw error;
  process.exitCode = LOST;
}
