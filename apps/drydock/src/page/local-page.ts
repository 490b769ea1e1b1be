import type { KubeClient } from '@drydock/kube';
import { feed, loopbackOnly, type PageServer, pageAssets, startPage } from '@drydock/page';
import { pageTriggers } from './triggers.ts';
import { pageWorld } from './world.ts';

/** Which cluster's page, and where. */
export interface LocalPageOptions {
  readonly client: KubeClient;
  readonly leaseNamespace: string;
  /** An address of this machine alone. */
  readonly host: string;
  readonly port: number;
  readonly onError: (error: unknown) => void;
}

/** Serves the page to this machine. Rejects where the cluster cannot be read. Disposal ends it; the client stays. */
export async function localPage(options: LocalPageOptions): Promise<AsyncDisposable & Pick<PageServer, 'url'>> {
  const { client, leaseNamespace, host, port, onError } = options;
  await using starting = new AsyncDisposableStack();
  const assets = await pageAssets();
  const state = starting.use(
    feed({
      read: (signal) => pageWorld(client, { leaseNamespace }, signal),
      triggers: (changed) => pageTriggers(client, leaseNamespace, changed),
    }),
  );
  // Whoever may read nothing is told here, and not by an empty page.
  await state.now();
  const { url } = starting.use(await startPage({ feed: state, assets, admit: loopbackOnly, host, port, onError }));
  const resources = starting.move();
  return { url, [Symbol.asyncDispose]: () => resources.disposeAsync() };
}
