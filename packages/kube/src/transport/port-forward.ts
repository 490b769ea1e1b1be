import { Duplex } from 'node:stream';
import { WebSocket } from 'undici';
import type { ClusterConfig } from '../access/kubeconfig.ts';
import { ApiError } from '../errors.ts';
import { type Key, keyText } from '../resource.ts';
import { createDispatchers, type Dispatchers } from './dispatchers.ts';
import { impersonationHeaders } from './transport.ts';

/** Connections to ports of pods, through the API server. Disposal ends them. */
export interface PortForwarder extends AsyncDisposable {
  /**
   * A connection to a port on the pod's own loopback address. The API server asks for the verbs `get` and, from Kubernetes 1.35 on, `create` on `pods/portforward`,
   * and adds nothing of the caller's: no credential leaves this machine but to the API server.
   */
  readonly connect: (pod: Key, port: number) => Promise<Duplex>;
}

/** Kubelet's protocol over WebSockets: each message begins with the number of its channel. */
const PROTOCOL = 'v4.channel.k8s.io';
const DATA = 0;
const PORT_BYTES = 2;
/** A pod that sends more than is read (bytes) is cut off: a WebSocket cannot be told to wait. */
const MOST_UNREAD = 64 * 2 ** 20;
/** Bytes of what the server says about a failure that are kept. */
const MOST_SAID = 4096;

/** Opens nothing until the first connection. */
export function portForwarder(
  config: ClusterConfig,
  env: Readonly<Record<string, string | undefined>> = process.env,
): PortForwarder {
  const running = new Set<Dispatchers>();
  return {
    connect: async (pod, port) => {
      const credential = await config.credentials.get();
      const options = { requestTimeout: 30_000, connections: 1, http2: false };
      const dispatchers = createDispatchers(config, credential, options, env);
      const end = (): void => {
        running.delete(dispatchers);
        void dispatchers.destroy();
      };
      running.add(dispatchers);
      const url = new URL(config.server.replace(/^http/, 'ws'));
      url.pathname = `${url.pathname.replace(/\/$/, '')}/api/v1/namespaces/${pod.namespace}/pods/${pod.name}/portforward`;
      url.search = `ports=${port}`;
      const socket = new WebSocket(url, {
        protocols: [PROTOCOL],
        dispatcher: dispatchers.of('watches'),
        headers: {
          ...impersonationHeaders(config.impersonate),
          ...(credential.authorization === undefined ? {} : { authorization: credential.authorization }),
        },
      });
      return opened(socket, `forward to port ${port} of pod ${keyText(pod)}`, end);
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all([...running].map((one) => one.destroy()));
    },
  };
}

/** The data of a WebSocket as a stream. Rejects if the server refuses it. */
function opened(socket: WebSocket, action: string, onEnd: () => void): Promise<Duplex> {
  socket.binaryType = 'arraybuffer';
  const failed = (said: string, quoted: boolean = false): ApiError =>
    new ApiError({ code: 'Connection', action, said, quoted });
  const stream = new Duplex({
    allowHalfOpen: false,
    // The socket sends as soon as it has something.
    read: () => undefined,
    write: (chunk: Buffer, _encoding, done) => {
      socket.send(Buffer.concat([Buffer.of(DATA), chunk]));
      done();
    },
    final: (done) => {
      socket.close();
      done();
    },
    destroy: (error, done) => {
      socket.close();
      done(error);
    },
  });
  // A failure before the caller has the stream rejects; it must not end the process.
  stream.on('error', () => undefined).once('close', onEnd);
  const begun = new Set<number>();
  socket.addEventListener('message', ({ data }) => {
    const bytes = Buffer.from(data as ArrayBuffer);
    const channel = bytes[0] ?? DATA;
    // The first message of each channel repeats the port.
    const content = bytes.subarray(begun.has(channel) ? 1 : 1 + PORT_BYTES);
    begun.add(channel);
    if (content.length === 0) return;
    if (channel !== DATA) stream.destroy(failed(content.subarray(0, MOST_SAID).toString(), true));
    else {
      stream.push(content);
      if (stream.readableLength > MOST_UNREAD) stream.destroy(failed('the pod sends faster than is read'));
    }
  });
  return new Promise((resolve, reject) => {
    socket.addEventListener('open', () => resolve(stream));
    socket.addEventListener('close', () => {
      stream.push(null);
      reject(failed('the API server or the kubelet closed the connection'));
    });
    socket.addEventListener('error', ({ message }) => {
      const error = failed(message === '' ? 'the API server refused it' : message);
      reject(error);
      stream.destroy(error);
    });
  });
}
