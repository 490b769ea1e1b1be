import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** What leads programs to a simulated vCenter, whatever they call it. */
export interface VCenterProxy extends AsyncDisposable {
  /** Environment of a program; what is on loopback it reaches directly. */
  readonly env: Readonly<Record<string, string>>;
}

/** RFC 9110 §9.3.6: whatever host is asked for, this vCenter is there. */
export async function leadTo(url: string): Promise<VCenterProxy> {
  const { port } = new URL(url);
  const sockets = new Set<Socket>();
  const track = (socket: Socket): void => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    socket.on('error', () => socket.destroy());
  };
  const server = createServer((client) => {
    track(client);
    let head = '';
    const read = (chunk: Buffer): void => {
      head += chunk.toString('latin1');
      if (!head.includes('\r\n\r\n')) return;
      client.off('data', read);
      const vcenter = connect(Number(port), '127.0.0.1', () => {
        client.write('HTTP/1.1 200 led\r\n\r\n');
        client.pipe(vcenter).pipe(client);
      });
      track(vcenter);
      vcenter.once('close', () => client.destroy());
      client.once('close', () => vcenter.destroy());
    };
    client.on('data', read);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    env: { HTTPS_PROXY: `http://127.0.0.1:${(server.address() as AddressInfo).port}` },
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
