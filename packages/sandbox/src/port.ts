import { once } from 'node:events';
import { createServer, type Server } from 'node:net';

async function listen(): Promise<{ server: Server; port: number }> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new TypeError('a TCP server has no port');
  return { server, port: address.port };
}

/**
 * Distinct loopback ports that were free a moment ago. Another process can take one before its server binds it:
 * whoever starts a server must be ready to try again with others.
 */
export async function freePorts(count: number): Promise<readonly number[]> {
  const held = await Promise.all(Array.from({ length: count }, listen));
  await Promise.all(
    held.map(async ({ server }) => {
      server.close();
      await once(server, 'close');
    }),
  );
  return held.map(({ port }) => port);
}
