import type { Credentials } from '@drydock/sandbox';
import { Agent, request } from 'undici';
import type { PlannedRequest, RequestUser } from './planned-request.ts';

/** What is sent, with each server's own versions and identities. */
export type SentRequest = Pick<PlannedRequest, 'method' | 'path' | 'body' | 'type' | 'accept' | 'user'>;

/** What a server answered. */
export interface ServerAnswer {
  readonly code: number;
  readonly body: unknown;
  readonly warnings: readonly string[];
}

/** One event of a watch; `undefined` where the watch ended. */
export interface WatchEvent {
  readonly type: string;
  readonly object: Readonly<Record<string, unknown>>;
}

/** A watch that gathers events until it is disposed. */
export interface OpenWatch extends AsyncDisposable {
  readonly events: WatchEvent[];
  /** Resolves when the server has ended the stream. */
  readonly ended: Promise<void>;
}

/** One of two servers that get the same requests. */
export interface ServerSide extends AsyncDisposable {
  send(sent: SentRequest): Promise<ServerAnswer>;
  /** `changed` is called after each event. */
  watch(path: string, changed: () => void): Promise<OpenWatch>;
}

const USERS: Readonly<Record<RequestUser, readonly (readonly [string, string])[]>> = {
  admin: [],
  reader: [['impersonate-user', 'differ-reader']],
  editor: [
    ['impersonate-user', 'differ-editor'],
    ['impersonate-group', 'differ-editors'],
  ],
  nobody: [['impersonate-user', 'differ-nobody']],
};

/** A server over its wire. */
export function serverSide(as: Credentials): ServerSide {
  const connect = { ca: as.ca, cert: as.certificate, key: as.privateKey };
  const dispatcher = new Agent({ connections: 4, connect });
  const watches = new Agent({ connect, bodyTimeout: 0, headersTimeout: 120_000 });
  const headersOf = ({ accept, user = 'admin', type, body }: Partial<SentRequest>): Record<string, string> => ({
    accept: accept ?? 'application/json',
    'user-agent': 'differ/1',
    ...Object.fromEntries(USERS[user]),
    ...(body === undefined ? {} : { 'content-type': type ?? 'application/json' }),
  });
  return {
    send: async (sent) => {
      const response = await request(`${as.url}${sent.path}`, {
        dispatcher,
        method: sent.method,
        headers: headersOf(sent),
        body: sent.body === undefined ? null : JSON.stringify(sent.body),
      });
      const text = await response.body.text();
      return { code: response.statusCode, body: parsed(text), warnings: warningsOf(response.headers['warning']) };
    },
    watch: async (path, changed) => {
      const gone = new AbortController();
      const response = await request(`${as.url}${path}`, {
        dispatcher: watches,
        headers: headersOf({}),
        signal: gone.signal,
      });
      const events: WatchEvent[] = [];
      const ended = gather(response.body, gone.signal, (event) => {
        events.push(event);
        changed();
      }).finally(changed);
      return {
        events,
        ended,
        [Symbol.asyncDispose]: async () => {
          gone.abort();
          await ended;
        },
      };
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all([dispatcher.destroy(), watches.destroy()]);
    },
  };
}

async function gather(
  body: AsyncIterable<Buffer>,
  signal: AbortSignal,
  found: (event: WatchEvent) => void,
): Promise<void> {
  let rest = '';
  const decoder = new TextDecoder();
  try {
    for await (const bytes of body) {
      const lines = (rest + decoder.decode(bytes, { stream: true })).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) if (line !== '') found(JSON.parse(line) as WatchEvent);
    }
    if (rest !== '') found({ type: 'TEXT', object: { text: parsed(rest) } });
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function warningsOf(header: string | string[] | undefined): readonly string[] {
  const all = header === undefined ? [] : [header].flat();
  return all.flatMap((one) =>
    [...one.matchAll(/299 - "((?:[^"\\]|\\.)*)"/g)].map((match) => JSON.parse(`"${match[1] ?? ''}"`) as string),
  );
}
