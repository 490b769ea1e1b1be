import { join } from 'node:path';
import { localPage } from '../page/local-page.ts';
import { bootImagesChapter } from './boot-images.ts';
import type { Chapter } from './chapters.ts';
import { cloudsChapter } from './clouds.ts';
import { machineApi } from './cluster.ts';
import { rehearsalChapter } from './rehearsal.ts';
import { rollbackChapter } from './rollback.ts';
import { type DemoOptions, type Stage, setStage, vcenterName } from './stage.ts';
import { watchChapter } from './watch.ts';
import { wayBackChapter } from './way-back.ts';

/** Where `drydock` is. */
const checkout = join(import.meta.dirname, '../../../..');

const PLAY: Readonly<Record<Chapter, (stage: Stage) => Promise<void>>> = {
  'boot-images': bootImagesChapter,
  'way-back': wayBackChapter,
  clouds: cloudsChapter,
  watch: watchChapter,
  rollback: rollbackChapter,
  rehearsal: rehearsalChapter,
};

/** Plays the chapters on one stage. Rejects with a sentence where something that a chapter claims is not so. */
export async function runDemo(options: DemoOptions): Promise<void> {
  await using stage = await setStage(options);
  for (const chapter of options.chapters) await PLAY[chapter](stage);
  if (options.stay) await stay(stage);
}

async function stay({ tell, sandbox, operator, client, signal }: Stage): Promise<void> {
  await using page = await localPage({
    client,
    leaseNamespace: machineApi,
    host: '127.0.0.1',
    port: 0,
    onError: () => undefined,
  });
  const vcenter = `--vcenter-url ${vcenterName}=${sandbox.vcenter.url} --vcenter-ca ${sandbox.vcenter.ca}`;
  const looks =
    operator === undefined
      ? '  kubectl get clusterversion version -o yaml'
      : `  kubectl get bootimages -A
  kubectl get events -n ${machineApi}
  drydock status -o wide --lease-namespace ${machineApi}
  drydock watch status --operator ${operator.url()}
  drydock explain worker-a --lease-namespace ${machineApi} ${vcenter}
  drydock doctor --lease-namespace ${machineApi} ${vcenter}
The operator's log: ${operator.logFile}`;
  tell.plain(`\nEverything stays up until Ctrl-C. Can I scale now? ${page.url}
Try, in another terminal:
  export PATH=${checkout}:$PATH KUBECONFIG=${sandbox.kubeconfig}
${looks}`);
  await new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
