import { join } from 'node:path';
import { localPage } from '../page/local-page.ts';
import { bootImagesChapter } from './boot-images.ts';
import type { Chapter } from './chapters.ts';
import { cloudsChapter } from './clouds.ts';
import { machineApi } from './cluster.ts';
import { writeDemoContext } from './demo-context.ts';
import { rehearsalChapter } from './rehearsal.ts';
import { rollbackChapter } from './rollback.ts';
import { type DemoOptions, type Stage, setStage } from './stage.ts';
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

async function stay(stage: Stage): Promise<void> {
  const { tell, sandbox, operator, client, signal, options } = stage;
  await using page = await localPage({
    client,
    leaseNamespace: machineApi,
    host: '127.0.0.1',
    port: 0,
    onError: () => undefined,
  });
  const config = await writeDemoContext(stage);
  const looks =
    operator === undefined
      ? '  kubectl get clusterversion version -o yaml'
      : `  kubectl get bootimages -A
  kubectl get events -n ${machineApi}
  drydock status -o wide
  drydock tree
  drydock explain worker-a
  drydock doctor
  drydock template list${options.chapters.includes('watch') ? '\n  drydock watch status' : ''}
The operator's log: ${operator.logFile}`;
  tell.plain(`\nEverything stays up until Ctrl-C. Can I scale now? ${page.url}
Try, in another terminal:
  export PATH=${checkout}:$PATH KUBECONFIG=${sandbox.kubeconfig} DRYDOCK_CONFIG=${config}
${looks}`);
  tell[Symbol.dispose]();
  await new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
