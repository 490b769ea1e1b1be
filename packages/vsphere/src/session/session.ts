import { VimError } from '../errors.ts';
import type { ServiceContent, VimLog } from '../soap/call.ts';
import type { Clock } from '../soap/clock.ts';
import { untilAborted } from '../soap/signals.ts';

/** A login that holds. */
export interface LiveSession {
  /** Grows with every login: what was made in an older one (leases, collectors, views) is gone. */
  readonly generation: number;
  /** Value of vmware_soap_session byte for byte, quotes included. */
  readonly cookie: string;
  readonly content: ServiceContent;
  /** `urn:vim25/8.0.2.0`. */
  readonly soapAction: string;
}

/** The calls that a session makes itself. */
export interface SessionPort {
  /** Learns the server without a session. */
  discover(signal: AbortSignal): Promise<{ readonly content: ServiceContent; readonly soapAction: string }>;
  /** Logs in, without any cookie: a live one would be refused as InvalidLogin. Resolves to the new cookie. */
  login(found: { readonly content: ServiceContent; readonly soapAction: string }): Promise<string>;
  /** CurrentTime. */
  probe(live: LiveSession, signal: AbortSignal): Promise<void>;
  logout(live: LiveSession, signal: AbortSignal): Promise<void>;
}

/** What a {@link Session} needs. */
export interface SessionOptions {
  readonly port: SessionPort;
  readonly clock: Clock;
  readonly log: VimLog;
  readonly server: string;
}

/** Idle sessions end after 30 minutes by default; a call after 5 keeps them. */
const KEEP_ALIVE_MS = 5 * 60_000;
const LOGOUT_MS = 5_000;

/**
 * One SOAP session. Whoever needs it while there is none shares one login; a session that was found dead is given up once, whoever finds it first. The keep-alive never
 * logs in: it marks the session suspect, and the next `ensure` looks.
 */
export class Session {
  readonly #options: SessionOptions;
  readonly #closing = new AbortController();
  readonly #listeners = new Set<(generation: number) => void>();
  #live: LiveSession | undefined;
  #suspect = false;
  #pending: Promise<LiveSession> | undefined;
  #found: Promise<{ readonly content: ServiceContent; readonly soapAction: string }> | undefined;
  #generation = 0;
  #lastAnswer = 0;
  #closed: Promise<void> | undefined;

  constructor(options: SessionOptions) {
    this.#options = options;
  }

  /** Resolves to a session that held when last looked at; logs in where there is none. */
  async ensure(signal?: AbortSignal): Promise<LiveSession> {
    if (this.#closing.signal.aborted) throw disposed(this.#options.server);
    if (this.#live !== undefined && !this.#suspect) return this.#live;
    this.#pending ??= this.#establish().finally(() => {
      this.#pending = undefined;
    });
    return untilAborted(this.#pending, signal, 'Login');
  }

  /** The service content, known without a login. */
  content(signal?: AbortSignal): Promise<ServiceContent> {
    if (this.#live !== undefined) return Promise.resolve(this.#live.content);
    return untilAborted(this.#discover(), signal, 'RetrieveServiceContent').then((found) => found.content);
  }

  /** An answer came: the session was not idle. */
  answered(): void {
    this.#lastAnswer = this.#options.clock.now();
  }

  /** The server does not know the session of this generation any more. */
  invalidate(generation: number): void {
    if (this.#live?.generation !== generation) return;
    this.#live = undefined;
    this.#suspect = false;
    // What it knows may have changed with the restart that ended the session.
    this.#found = undefined;
    for (const listener of this.#listeners) listener(generation);
  }

  /** Whether the session of this generation is the one that is used. */
  holds(generation: number): boolean {
    return this.#live?.generation === generation;
  }

  /** Calls back when a session ended without `close`. Returns the way to stop that. */
  onInvalidated(listener: (generation: number) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Aborted when the session closes: what runs in the background ends with it. */
  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  /** Logs out, within 5 s. Never throws: a session that cannot be ended now ends by its idle limit. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    const pending = this.#pending;
    this.#closing.abort(disposed(this.#options.server));
    // A login that is just completing must not leave a session behind.
    if (pending !== undefined)
      await untilAborted(pending, AbortSignal.timeout(LOGOUT_MS), 'Login').catch(() => undefined);
    const live = this.#live;
    this.#live = undefined;
    if (live === undefined) return;
    try {
      await this.#options.port.logout(live, AbortSignal.timeout(LOGOUT_MS));
    } catch (error) {
      this.#options.log.warn(
        { server: this.#options.server, err: error },
        'The vCenter session was not logged out; it ends by its idle limit.',
      );
    }
  }

  #discover(): Promise<{ readonly content: ServiceContent; readonly soapAction: string }> {
    this.#found ??= this.#options.port.discover(this.#closing.signal).catch((error: unknown) => {
      this.#found = undefined;
      throw error;
    });
    return this.#found;
  }

  async #establish(): Promise<LiveSession> {
    const { port, clock } = this.#options;
    const { signal } = this.#closing;
    const before = this.#live;
    if (before !== undefined) {
      try {
        await port.probe(before, signal);
        this.#suspect = false;
        this.answered();
        return before;
      } catch (error) {
        if (!isDead(error)) throw error;
        this.invalidate(before.generation);
      }
    }
    const found = await this.#discover();
    // Not ended by closing: an answer that nobody reads would leave a session behind. `close` waits for it instead.
    const cookie = await port.login(found).catch((error: unknown) => {
      // Until the next attempt another server may stand under the address.
      this.#found = undefined;
      throw error;
    });
    const live: LiveSession = { generation: ++this.#generation, cookie, ...found };
    this.#live = live;
    this.#suspect = false;
    this.#lastAnswer = clock.now();
    void this.#keepAlive(live);
    return live;
  }

  async #keepAlive(live: LiveSession): Promise<void> {
    const { port, clock, log, server } = this.#options;
    const { signal } = this.#closing;
    while (this.#live === live && !signal.aborted) {
      const left = KEEP_ALIVE_MS - (clock.now() - this.#lastAnswer);
      try {
        if (left > 0) await clock.sleep(left, { background: true, signal });
        else {
          await port.probe(live, signal);
          this.answered();
        }
      } catch (error) {
        if (signal.aborted || this.#live !== live) return;
        this.#suspect = true;
        log.warn({ server, err: error }, 'The vCenter session may have ended; the next call looks.');
        // The next look is the next ensure's; until then a slow retry keeps a session alive that was only out of reach.
        this.answered();
      }
    }
  }
}

/** Whether an error says that the session is gone. */
export function isDead(error: unknown): boolean {
  return error instanceof VimError && error.fault?.is('NotAuthenticated') === true;
}

function disposed(server: string): VimError {
  return new VimError({
    kind: 'aborted',
    code: 'VIM_ABORTED',
    op: 'session',
    message: `the client of ${server} was disposed`,
    sent: false,
  });
}
