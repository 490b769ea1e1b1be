import type { AddressInfo } from 'node:net';
import { connect, createServer, type Socket } from 'node:net';

/** A TCP proxy before a server. It knows nothing of what passes, so TLS goes through untouched. */
export interface CuttingProxy extends AsyncDisposable {
  /** `https://127.0.0.1:<port>`: the server, seen through the proxy. */
  readonly url: string;
  /** Cuts every connection without a word; the server lives on. */
  cut(): void;
  /** Cuts, and lets nobody through until `open`. */
  close(): void;
  open(): void;
  /** Keeps the connections that are open now, and passes nothing on any more: both ends believe that the other lives. */
  freeze(): void;
}

/** Starts a proxy before `server`, an https URL on loopback. */
export async function cuttingProxy(server: string): Promise<CuttingProxy> {
  const pairs = new Set<readonly [Socket, Socket]>();
  let shut = false;
  const listener = createServer((near) => {
    if (shut) {
      near.destroy();
      return;
    }
    const far = connect(Number(new URL(server).port), '127.0.0.1');
    const pair = [near, far] as const;
    pairs.add(pair);
    const end = (): void => {
      pairs.delete(pair);
      near.destroy();
      far.destroy();
    };
    for (const socket of pair) {
      socket.on('error', end);
      socket.on('close', end);
    }
    near.pipe(far).pipe(near);
  });
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  const cut = (): void => {
    for (const [near, far] of [...pairs]) {
      near.resetAndDestroy();
      far.destroy();
    }
  };
  return {
    url: `https://127.0.0.1:${(listener.address() as AddressInfo).port}`,
    cut,
    close: () => {
      shut = true;
      cut();
    },
    open: () => {
      shut = false;
    },
    freeze: () => {
      for (const [near, far] of pairs) {
        near.unpipe(far).pause();
        far.unpipe(near).pause();
      }
    },
    [Symbol.asyncDispose]: async () => {
      cut();
      await new Promise((resolve) => listener.close(resolve));
    },
  };
}
