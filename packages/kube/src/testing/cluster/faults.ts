import { Readable } from 'node:stream';
import type { Clock } from '../../clock.ts';
import { ApiError, errorOfStatus } from '../../errors.ts';
import type { Transport, WireRequest } from '../../transport/transport.ts';

/** How a wire misbehaves. */
export interface WireFaults {
  /** 0 ≤ n < 1: every choice comes from here, so a seed gives a run. */
  readonly random: () => number;
  readonly clock: Clock;
  /** How often (0 to 1) a request fails, and an event of a watch meets a fault; asked each time, so that a run can heal. */
  readonly rate: () => number;
  /** Objects per page instead of what the client asked for. */
  readonly page?: number;
  /** Leave out what needs a wire that delivers two lines as one: events out of order. Over real sockets. */
  readonly ordered?: boolean;
}

/** Faults of a request; `lost` before the server acted, `unanswered` after it did. */
const CALL_FAULTS = ['lost', 'unanswered', '429', '500', '503', 'hang', 'garbage'] as const;
/** Faults at the opening of a watch. */
const OPEN_FAULTS = ['lost', '410', '429', '500', 'hang'] as const;
/** Faults at an event: of the connection, of the line, of the order. */
const EVENT_FAULTS = [
  'reset',
  'end',
  'torn and ended',
  'torn and reset',
  'garbage',
  'error 500',
  'error 410',
  'twice',
  'replay',
  'silence',
  'delay',
  'swap',
] as const;

/** A hung request is given up after this long (ms) by its transport. */
const REQUEST_TIMEOUT = 30_000;
/** TCP keep-alive ends a dead connection at the latest after this long (ms). */
const DEAD_AFTER = 400_000;
/** Longest delay (ms) of one kind's events behind those of others. */
const LONGEST_DELAY = 5000;
/** Lines that may come again. */
const REPLAYED = 6;

/** Puts faults between a client and a server; the bytes of a watch are torn as bytes. */
export function faultyWire(wire: Transport, faults: WireFaults): Transport {
  const { random, clock } = faults;
  const pick = <T>(among: readonly T[]): T => among[Math.floor(random() * among.length)] as T;
  const strikes = (): boolean => random() < faults.rate();

  function refusal(code: number, action: string): ApiError {
    const reason = code === 410 ? 'Expired' : code === 429 ? 'TooManyRequests' : 'InternalError';
    const status = { code, reason, message: `injected ${code}` };
    return errorOfStatus(status, code, { action, ...(code === 429 ? { retryAfter: 1000 } : {}) });
  }

  async function hang(request: WireRequest): Promise<never> {
    const { signal } = request;
    await clock.sleep(REQUEST_TIMEOUT, { background: true, ...(signal === undefined ? {} : { signal }) });
    throw cut(request.action);
  }

  return {
    call: async (request) => {
      const fault = strikes() ? pick(CALL_FAULTS) : undefined;
      if (fault === 'lost') throw cut(request.action);
      if (fault === 'hang') return hang(request);
      if (fault === '429' || fault === '500' || fault === '503') throw refusal(Number(fault), request.action);
      const answer = await wire.call(paged(request, faults.page));
      if (fault === 'unanswered') throw cut(request.action);
      return fault === 'garbage' ? '<html>502 Bad Gateway</html>' : answer;
    },
    stream: async (request) => {
      const fault = strikes() ? pick(OPEN_FAULTS) : undefined;
      if (fault === 'lost') throw cut(request.action);
      if (fault === 'hang') return hang(request);
      if (fault !== undefined) throw refusal(Number(fault), request.action);
      return faultyStream(await wire.stream(request), request, { ...faults, strikes, pick });
    },
    [Symbol.asyncDispose]: () => wire[Symbol.asyncDispose](),
  };
}

function cut(action: string): ApiError {
  return new ApiError({ code: 'Connection', action, said: 'injected: the connection was cut' });
}

function paged(request: WireRequest, page: number | undefined): WireRequest {
  return page === undefined ? request : { ...request, path: request.path.replace(/\blimit=\d+/, `limit=${page}`) };
}

interface StreamFaults extends WireFaults {
  readonly strikes: () => boolean;
  readonly pick: <T>(among: readonly T[]) => T;
}

function faultyStream(source: Readable, request: WireRequest, faults: StreamFaults): Readable {
  const { clock, random, strikes, pick } = faults;
  const out = new Readable({ read: () => undefined });
  const over = new AbortController();
  const recent: string[] = [];
  const wait = (ms: number): Promise<void> => clock.sleep(ms, { background: true, signal: over.signal });

  // Whoever reads hears of it; nobody may be reading yet.
  out.on('error', () => undefined);
  out.once('close', () => {
    over.abort();
    source.destroy();
  });

  const finish = (error?: Error): void => {
    if (error === undefined) out.push(null);
    else out.destroy(error);
    source.destroy();
  };

  /** Passes a line on, or not; false when the stream is over. */
  async function pass(line: string, next: () => Promise<string | undefined>): Promise<boolean> {
    const fault = strikes() ? pick(EVENT_FAULTS) : undefined;
    const bookmark = line.startsWith('{"type":"BOOKMARK"');
    const torn = line.slice(0, 1 + Math.floor(random() * (line.length - 2)));
    switch (fault) {
      case 'reset':
        finish(cut(request.action));
        return false;
      case 'end':
        finish();
        return false;
      case 'torn and ended':
        out.push(torn);
        finish();
        return false;
      case 'torn and reset':
        out.push(torn);
        await wait(1);
        finish(cut(request.action));
        return false;
      case 'garbage':
        out.push(`${torn.slice(0, -1)}\u0000!\n`);
        return true;
      case 'error 500':
      case 'error 410': {
        const code = Number(fault.slice(-3));
        const object = {
          kind: 'Status',
          code,
          reason: code === 410 ? 'Expired' : 'InternalError',
          message: 'injected',
        };
        out.push(`${JSON.stringify({ type: 'ERROR', object })}\n`);
        finish();
        return false;
      }
      case 'silence':
        await wait(DEAD_AFTER);
        finish(cut(request.action));
        return false;
      case 'delay':
        await wait(random() * LONGEST_DELAY);
        break;
      case 'twice':
        out.push(line);
        break;
      case 'replay':
        out.push([...recent, line].join(''));
        break;
      case 'swap': {
        // A line after the bookmark that covers it would be lost without a trace at a cut: no server may do that.
        const other = bookmark || faults.ordered === true ? undefined : await next();
        if (other === undefined) break;
        const apart = other.startsWith('{"type":"BOOKMARK"');
        out.push(apart ? line + other : other + line);
        remember(apart ? '' : other);
        return true;
      }
      default:
    }
    out.push(line);
    if (!bookmark) remember(line);
    return true;
  }

  function remember(line: string): void {
    if (line !== '') recent.push(line);
    if (recent.length > REPLAYED) recent.shift();
  }

  async function pump(): Promise<void> {
    const lines = new LineQueue(source);
    for (let line = await lines.take(); line !== undefined; line = await lines.take()) {
      if (!(await pass(line, async () => lines.ready()))) return;
    }
    finish(lines.error);
  }
  pump().catch(() => undefined);
  return out;
}

/** The lines of a stream, each with its end. */
class LineQueue {
  readonly #lines: string[] = [];
  #rest = '';
  #ended = false;
  #wake: (() => void) | undefined;
  error: Error | undefined;

  constructor(source: Readable) {
    source.setEncoding('utf8');
    source.on('data', (chunk: string) => {
      const parts = (this.#rest + chunk).split('\n');
      this.#rest = parts.pop() ?? '';
      this.#lines.push(...parts.map((part) => `${part}\n`));
      this.#wake?.();
    });
    source.on('error', (error) => {
      this.error = error;
    });
    source.on('close', () => {
      this.#ended = true;
      this.#wake?.();
    });
  }

  /** A line that is there already. */
  ready(): string | undefined {
    return this.#lines.shift();
  }

  async take(): Promise<string | undefined> {
    while (this.#lines.length === 0 && !this.#ended) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    return this.#lines.shift();
  }
}
