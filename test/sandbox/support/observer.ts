import { setTimeout as sleep } from 'node:timers/promises';
import { MachineSet } from '@drydock/api';
import { createClient, loadKubeconfig } from '@drydock/kube';
import type { VCenterSandbox } from '@drydock/sandbox';
import { CONTENT_KEY } from '@drydock/templates';
import { connectReader } from './voyage.ts';
import { installerTemplate, machineApi } from './voyage-cluster.ts';

/** A consumer of a machine set, as the machine controller is one: it clones whatever the set names, at any time. */
export interface Observer extends AsyncDisposable {
  /** How often it looked. */
  readonly looks: number;
  /** When what the set names was not exactly one finished template. Forgets them. */
  complaints(): readonly string[];
}

/**
 * Looks all the time, on connections of its own, whether the template that a set names is there and finished: a template, and
 * either the installer's or verified.
 */
export async function startObserver(sandbox: VCenterSandbox, set: string, folder: string): Promise<Observer> {
  await using starting = new AsyncDisposableStack();
  const client = starting.use(createClient(await loadKubeconfig({ kubeconfig: sandbox.kubeconfig })));
  const vcenter = starting.use(await connectReader(sandbox));
  const place = (await vcenter.findByPath(folder)) ?? { type: 'Folder', value: '?' };
  const stop = new AbortController();
  const complaints: string[] = [];
  let looks = 0;

  const look = async (): Promise<string | undefined> => {
    const { spec } = await client.get(MachineSet, { namespace: machineApi, name: set });
    const name = String(spec?.template?.spec?.providerSpec?.value?.['template']);
    const ref = await vcenter.findChild(place, name);
    if (ref === undefined) return `${name}: nothing has this name`;
    const vm = await vcenter.vm(ref);
    if (vm === undefined) return `${name}: it vanished`;
    if (!vm.isTemplate) return `${name}: it is no template`;
    const finished = name === installerTemplate || vm.extraConfig.has(CONTENT_KEY);
    return finished ? undefined : `${name}: it is not finished`;
  };
  const loop = (async () => {
    while (!stop.signal.aborted) {
      const complaint = await look().catch((error: unknown) => `the observer failed: ${String(error)}`);
      looks += 1;
      if (complaint !== undefined) complaints.push(complaint);
      // What a killed process leaves stays until the next one has started, which takes longer than this.
      await sleep(40);
    }
  })();
  const resources = starting.move();
  return {
    get looks() {
      return looks;
    },
    complaints: () => complaints.splice(0),
    async [Symbol.asyncDispose]() {
      stop.abort();
      await loop;
      await resources.disposeAsync();
    },
  };
}
