import { createClient, loadKubeconfig, processSignals } from '@drydock/kube';
import { runGreetings } from './greeting.ts';

using stop = processSignals();
await using client = createClient(await loadKubeconfig());
await using operator = await runGreetings(client, stop.signal);
await operator.finished;
