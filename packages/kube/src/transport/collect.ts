import type { Dispatcher } from 'undici';
import type { ApiError } from '../errors.ts';

/** A whole answer. Header names are in lower case. */
export interface Collected {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

/** How one answer is collected. */
export interface CollectOptions {
  /** Ends the exchange at once, also while it waits for a connection. */
  readonly signal: AbortSignal;
  /** Told before the body is read. */
  readonly status: (code: number) => void;
  /** The longest body (bytes) of a success; one that is longer is an error. */
  readonly limit: number;
  readonly tooLarge: () => ApiError;
  /** A failure's body is cut here (bytes). */
  readonly cut: number;
}

/**
 * Sends one request and collects its answer. Rejects with what undici gives or with the signal's reason. Straight on undici's lowest interface: a body as
 * a stream costs more than all else about a small object.
 */
export function collect(
  dispatcher: Dispatcher,
  request: Dispatcher.DispatchOptions,
  options: CollectOptions,
): Promise<Collected> {
  return new Promise((resolve, reject) => {
    options.signal.throwIfAborted();
    dispatcher.dispatch(request, new Collector(options, resolve, reject));
  });
}

class Collector implements Dispatcher.DispatchHandler {
  readonly #options: CollectOptions;
  readonly #resolve: (answer: Collected) => void;
  readonly #reject: (error: Error) => void;
  readonly #chunks: Buffer[] = [];
  #controller: Dispatcher.DispatchController | undefined;
  #statusCode = 0;
  #headers: Collected['headers'] = {};
  #size = 0;

  constructor(options: CollectOptions, resolve: (answer: Collected) => void, reject: (error: Error) => void) {
    this.#options = options;
    this.#resolve = resolve;
    this.#reject = reject;
    options.signal.addEventListener('abort', this.#abort, { once: true });
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#options.signal.aborted) this.#abort();
  }

  onResponseStart(_: Dispatcher.DispatchController, statusCode: number, headers: Collected['headers']): void {
    if (statusCode < 200) return;
    this.#statusCode = statusCode;
    this.#headers = headers;
    this.#options.status(statusCode);
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#size += chunk.length;
    const succeeded = this.#statusCode < 300;
    if (this.#size <= (succeeded ? this.#options.limit : this.#options.cut)) {
      this.#chunks.push(chunk);
      return;
    }
    const error = this.#options.tooLarge();
    if (succeeded) this.#fail(error);
    else this.#finish();
    controller.abort(error);
  }

  onResponseEnd(): void {
    this.#finish();
  }

  onResponseError(_: Dispatcher.DispatchController | null, error: Error): void {
    this.#fail(error);
  }

  readonly #abort = (): void => {
    const reason = this.#options.signal.reason as Error;
    this.#fail(reason);
    this.#controller?.abort(reason);
  };

  #finish(): void {
    this.#options.signal.removeEventListener('abort', this.#abort);
    const [first] = this.#chunks;
    const text = (this.#chunks.length === 1 ? first : Buffer.concat(this.#chunks))?.toString('utf8') ?? '';
    this.#resolve({ statusCode: this.#statusCode, headers: this.#headers, text });
  }

  #fail(error: Error): void {
    this.#options.signal.removeEventListener('abort', this.#abort);
    this.#reject(error);
  }
}
