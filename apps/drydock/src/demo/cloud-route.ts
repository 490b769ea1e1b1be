import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A proxy, and the hosts that it leads to. */
export interface Route {
  readonly hosts: RegExp;
  /** `http://127.0.0.1:<port>` */
  readonly proxy: string;
}

/** One proxy before several: a process knows one alone, in HTTPS_PROXY. */
export interface RoutingProxy extends AsyncDisposable {
  readonly address: string;
}

/** Starts it. What no route leads to is refused: nothing leaves the machine. */
export async function routingProxy(routes: readonly Route[]): Promise<RoutingProxy> {
  const sockets = new Set<Socket>();
  const track = (socket: Socket): Socket => {
    sockets.add(socket);
    return socket.on('error', () => undefined).once('close', () => sockets.delete(socket));
  };
  const server = createServer((client) => {
    track(client).once('data', (head) => {
      const [, host = ''] = /^CONNECT ([^:\s]+):/.exec(head.toString('latin1')) ?? [];
      const route = routes.find(({ hosts }) => hosts.test(host));
      if (route === undefined) return void client.end('HTTP/1.1 502 no such host\r\n\r\n');
      const proxy = track(connect(Number(new URL(route.proxy).port), '127.0.0.1'));
      proxy.write(head);
      client.pipe(proxy).pipe(client);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
