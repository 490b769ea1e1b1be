import { readFile } from 'node:fs/promises';
import type { Clock, KubeClient } from '@drydock/kube';
import type { Command } from 'commander';
import type { Logger } from 'pino';
import { UsageError } from '../exit.ts';
import { portNumber } from '../flag-numbers.ts';

/** How the operator serves the page; the values are flags. */
export interface OperatorPageFlags {
  readonly page?: boolean;
  readonly pagePort: number;
  readonly pageBindAddress: string;
  readonly pageTlsCert?: string;
  readonly pageTlsKey?: string;
  readonly pageForwardPort?: number;
}

/** Adds the flags of the page to `drydock operator`. */
export function operatorPageFlags(command: Command): Command {
  return command
    .option('--page', 'serve the page to those whose bearer token may get bootimages')
    .option('--page-port <number>', 'port of the page; 0 takes a free one', portNumber, 8443)
    .option('--page-bind-address <ip>', 'address of the page; * for all of this machine, which needs TLS', '127.0.0.1')
    .option('--page-tls-cert <file>', 'certificate of the page (PEM), read again when it is renewed')
    .option('--page-tls-key <file>', 'its key (PEM)')
    .option(
      '--page-forward-port <number>',
      'port of 127.0.0.1 for drydock page --port-forward, without a token',
      portNumber,
    );
}

/** What {@link operatorPage} needs. */
export interface OperatorPageOptions {
  readonly flags: OperatorPageFlags & { readonly leaseNamespace: string };
  readonly client: KubeClient;
  readonly log: Pick<Logger, 'info' | 'warn'>;
  readonly clock: Clock;
}

/** Files of a certificate are looked at so often (ms). */
const LOOK_MS = 60_000;

/** Throws `UsageError` where the page would be served to others in the clear. */
export async function checkOperatorPage(flags: OperatorPageFlags): Promise<void> {
  if (flags.page !== true) return;
  const { isLoopback } = await import('@drydock/page');
  const { pageTlsCert: cert, pageTlsKey: key, pageBindAddress: host } = flags;
  if ((cert === undefined) !== (key === undefined))
    throw new UsageError('--page-tls-cert and --page-tls-key are given together, or not at all');
  if (cert === undefined && !isLoopback(host))
    throw new UsageError(
      `--page-bind-address ${host}: tokens do not go over a network in the clear. Give --page-tls-cert and --page-tls-key, or leave the page to a proxy in the same pod`,
    );
}

/** Serves the page beside the controllers, on leader and standby alike. Disposal ends it. */
export async function operatorPage({
  flags,
  client,
  log,
  clock,
}: OperatorPageOptions): Promise<AsyncDisposable & { readonly url: string; readonly forwardUrl: string | undefined }> {
  const { bearerTokens, feed, loopbackOnly, pageAssets, startPage } = await import('@drydock/page');
  const [{ pageWorld }, { pageTriggers }] = await Promise.all([import('./world.ts'), import('./triggers.ts')]);
  await using starting = new AsyncDisposableStack();
  const onError = (error: unknown): void => log.warn({ err: error }, 'the page could not be told something');
  const state = starting.use(
    feed({
      read: (signal) => pageWorld(client, flags, signal),
      triggers: (changed) => pageTriggers(client, flags.leaseNamespace, changed),
      onError,
    }),
  );
  const tls = await certificate(flags);
  const assets = await pageAssets();
  const server = starting.use(
    await startPage({
      ...{ feed: state, assets, host: flags.pageBindAddress, port: flags.pagePort, onError },
      admit: bearerTokens({ client, clock, onError }),
      ...(tls === undefined ? {} : { tls }),
    }),
  );
  const { pageForwardPort: port } = flags;
  const forwarded =
    port === undefined
      ? undefined
      : starting.use(
          await startPage({ ...{ feed: state, assets, host: '127.0.0.1', port, onError }, admit: loopbackOnly }),
        );
  if (tls !== undefined) {
    const stop = new AbortController();
    starting.defer(() => stop.abort());
    void renewed(flags, { tls, renew: server.renew, log, clock, signal: stop.signal });
  }
  log.info({ page: server.url }, 'the page is served');
  const resources = starting.move();
  return { url: server.url, forwardUrl: forwarded?.url, [Symbol.asyncDispose]: () => resources.disposeAsync() };
}

interface Certificate {
  readonly cert: string;
  readonly key: string;
}

async function certificate({ pageTlsCert, pageTlsKey }: OperatorPageFlags): Promise<Certificate | undefined> {
  if (pageTlsCert === undefined || pageTlsKey === undefined) return undefined;
  const [cert, key] = await Promise.all([readFile(pageTlsCert, 'utf8'), readFile(pageTlsKey, 'utf8')]);
  return { cert, key };
}

/** Takes up a certificate that was renewed, as service CAs do it long before the old one lapses. */
async function renewed(
  flags: OperatorPageFlags,
  how: Pick<OperatorPageOptions, 'log' | 'clock'> & {
    readonly tls: Certificate;
    readonly renew: (tls: Certificate) => void;
    readonly signal: AbortSignal;
  },
): Promise<void> {
  const { renew, log, clock, signal } = how;
  let { tls } = how;
  while (!signal.aborted) {
    await clock.sleep(LOOK_MS, { background: true, signal }).catch(() => undefined);
    if (signal.aborted) return;
    try {
      const next = await certificate(flags);
      if (next === undefined || (next.cert === tls.cert && next.key === tls.key)) continue;
      renew(next);
      tls = next;
    } catch (error) {
      // Half of a pair, while it is being replaced.
      log.warn({ err: error }, 'the certificate of the page cannot be taken up yet');
    }
  }
}
