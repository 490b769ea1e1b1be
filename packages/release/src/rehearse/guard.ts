import { once } from 'node:events';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { ConfigMap } from '@drydock/api';
import { ApiError, type KubeClient } from '@drydock/kube';
import type { Pace } from './pace.ts';
import { GUARD, type GuardAddress, imageOf, NAMESPACE } from './rehearsed-release.ts';

/** The webhook that only the newer release has: it answers as long as its operator runs. */
export interface Guard extends AsyncDisposable {
  readonly address: GuardAddress;
}

/** PEM texts of a server on the loopback interface, and of who vouches for it. */
export interface ServingCertificate {
  readonly certificate: string;
  readonly privateKey: string;
  readonly ca: string;
}

/** Starts one. It refuses nothing; what it answers nobody while its operator is away. */
export async function startGuard(
  { certificate, privateKey, ca }: ServingCertificate,
  version: string,
  running: () => ReadonlyMap<string, string>,
): Promise<Guard> {
  const server: Server = createServer({ cert: certificate, key: privateKey }, (request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (part: string) => {
      text += part;
    });
    request.on('end', () => {
      if (running().get(GUARD) !== imageOf(GUARD, version)) return void response.destroy();
      const { apiVersion, request: asked } = JSON.parse(text) as { apiVersion: string; request: { uid: string } };
      const answer = { apiVersion, kind: 'AdmissionReview', response: { uid: asked.uid, allowed: true } };
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    address: { url: `https://127.0.0.1:${port}/guard`, ca },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Somebody who makes a ConfigMap again and again, as a dry run: what the guard does is felt by it. */
export interface Passer extends AsyncDisposable {
  /** Attempts that failed because nobody answered the webhook, with what the server said. */
  readonly failures: readonly string[];
  readonly passes: number;
}

/** Starts one. */
export function startPasser(client: KubeClient, pace: Pace): Passer {
  const stop = new AbortController();
  const failures: string[] = [];
  let passes = 0;
  const running = pace.repeat(
    'passer',
    async () => {
      const metadata = { generateName: 'passer-', namespace: NAMESPACE } as unknown as { name: string };
      try {
        await client.create(ConfigMap, { metadata }, { dryRun: true, signal: stop.signal });
        passes += 1;
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        if (/failed calling webhook/.test(error.message)) failures.push(error.message);
      }
    },
    stop.signal,
  );
  return {
    failures,
    get passes() {
      return passes;
    },
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await running;
    },
  };
}
