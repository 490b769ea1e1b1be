import { clusterVersionCrd } from '@drydock/crd/testing';
import { createClient, loadKubeconfig, processSignals } from '@drydock/kube';
import { startStatusWriter } from './status-writer.ts';

// A status writer as a process of its own, to be killed: `node status-writer-process.ts KUBECONFIG LEASE`.

const [kubeconfig, lease = ''] = process.argv.slice(2);
using signals = processSignals();
await using client = createClient(await loadKubeconfig({ kubeconfig }));
await using writer = await startStatusWriter({ client, crd: clusterVersionCrd(14), name: 'version', lease, every: 50 });
await Promise.race([
  writer.finished,
  new Promise<void>((resolve) => signals.signal.addEventListener('abort', () => resolve(), { once: true })),
]);
