import { createHash } from 'node:crypto';
import { createServer } from 'node:https';
import { type AddressInfo, connect, type Socket } from 'node:net';

/** What a kubelet is to port-forwarding: HTTPS that takes WebSockets of the protocol v4.channel.k8s.io. */
export interface FakeKubelet extends AsyncDisposable {
  readonly port: number;
  /** Headers of each request that reached it, as text. */
  readonly heard: readonly string[];
}

/** RFC 6455, section 1.3. */
const WEBSOCKET_GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
const CHANNELS = [0, 1];

/** Forwards to this machine's loopback address, as a kubelet does to that of a pod. */
export async function startFakeKubelet(
  host: string,
  tls: { readonly cert: string; readonly key: string },
): Promise<FakeKubelet> {
  const heard: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer(tls);
  server.on('upgrade', (request, client: Socket) => {
    heard.push(`${request.url} ${JSON.stringify(request.headers)}`);
    const { searchParams } = new URL(request.url ?? '', 'https://kubelet.invalid');
    // The API server asks a kubelet with another word than it is asked with.
    const port = Number(searchParams.get('port') ?? searchParams.get('ports'));
    const accept = createHash('sha1').update(`${request.headers['sec-websocket-key']}${WEBSOCKET_GUID}`);
    client.write(
      [
        'HTTP/1.1 101 Switching Protocols',
        ...['Upgrade: websocket', 'Connection: Upgrade', 'Sec-WebSocket-Protocol: v4.channel.k8s.io'],
        ...[`Sec-WebSocket-Accept: ${accept.digest('base64')}`, '', ''],
      ].join('\r\n'),
    );
    for (const channel of CHANNELS) client.write(frame(Buffer.of(channel, port & 0xff, port >> 8)));
    const pod = connect({ host: '127.0.0.1', port });
    for (const socket of [client, pod]) {
      sockets.add(socket);
      socket.on('error', () => undefined).once('close', () => sockets.delete(socket));
    }
    pod.on('data', (data: Buffer) => client.write(frame(Buffer.concat([Buffer.of(0), data]))));
    pod.once('close', () => client.end());
    client.once('close', () => pod.destroy());
    let pending: Buffer = Buffer.alloc(0);
    client.on('data', (data: Buffer) => {
      pending = Buffer.concat([pending, data]);
      for (let read = unframed(pending); read !== undefined; read = unframed(pending)) {
        pending = read.rest;
        if (read.opcode === 8) client.end();
        else if (read.payload[0] === 0) pod.write(read.payload.subarray(1));
      }
    });
  });
  await new Promise<void>((resolve) => server.listen({ port: 0, host }, resolve));
  return {
    port: (server.address() as AddressInfo).port,
    heard,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
}

/** One unmasked binary frame. */
function frame(payload: Buffer): Buffer {
  const { length } = payload;
  if (length < 126) return Buffer.concat([Buffer.of(0x82, length), payload]);
  const head = Buffer.alloc(10);
  head.writeUInt8(0x82, 0);
  head.writeUInt8(127, 1);
  head.writeBigUInt64BE(BigInt(length), 2);
  return Buffer.concat([head, payload]);
}

/** The first frame of what a client sent, or undefined if it is not complete. */
function unframed(
  bytes: Buffer,
): { readonly opcode: number; readonly payload: Buffer; readonly rest: Buffer } | undefined {
  if (bytes.length < 2) return undefined;
  const short = bytes.readUInt8(1) & 0x7f;
  const at = short === 126 ? 4 : short === 127 ? 10 : 2;
  if (bytes.length < at + 4) return undefined;
  const length = short === 126 ? bytes.readUInt16BE(2) : short === 127 ? Number(bytes.readBigUInt64BE(2)) : short;
  const mask = bytes.subarray(at, at + 4);
  const end = at + 4 + length;
  if (bytes.length < end) return undefined;
  const payload = Buffer.from(bytes.subarray(at + 4, end)).map((byte, index) => byte ^ (mask[index % 4] ?? 0));
  return { opcode: bytes.readUInt8(0) & 0x0f, payload: Buffer.from(payload), rest: bytes.subarray(end) };
}
