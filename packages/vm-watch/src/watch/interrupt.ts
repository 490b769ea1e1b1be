/**
 * A signal for many waits, one after another: it ends with the outer one, or when somebody interrupts, after which it can be renewed. To join two signals for each wait costs more
 * than most answers do.
 */
export class Interrupt {
  readonly #outer: AbortSignal;
  #own: AbortController;
  #signal: AbortSignal;

  constructor(outer: AbortSignal) {
    this.#outer = outer;
    this.#own = new AbortController();
    this.#signal = AbortSignal.any([outer, this.#own.signal]);
  }

  get signal(): AbortSignal {
    return this.#signal;
  }

  /** The outer signal ended. */
  get ended(): boolean {
    return this.#outer.aborted;
  }

  get interrupted(): boolean {
    return this.#own.signal.aborted;
  }

  interrupt(): void {
    this.#own.abort();
  }

  renew(): void {
    this.#own = new AbortController();
    this.#signal = AbortSignal.any([this.#outer, this.#own.signal]);
  }
}
