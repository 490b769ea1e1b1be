import { delayBefore, type Remedy } from './state.ts';

/** A watch that was live for so long (ms) is none that breaks again and again. */
const CALM_MS = 30_000;

/**
 * How long to wait before a watch is opened again. Refused logins are counted by themselves: whoever was away for an hour and then refuses one has refused one. So are watches
 * that become live and end soon after, each of which costs the server a full pass.
 */
export class Failures {
  #refused = 0;
  #others = 0;
  #short = 0;
  #liveSince: number | undefined;

  /** The watch is live. */
  live(now: number): void {
    this.#liveSince ??= now;
    this.#refused = 0;
    this.#others = 0;
  }

  /** The watch ended, or could not be opened: milliseconds until the next attempt. 0: what a session held is made anew at once, the first time. */
  next(remedy: Remedy, now: number, random: () => number): number {
    const since = this.#liveSince;
    this.#liveSince = undefined;
    if (remedy === 'refused') {
      this.#refused += 1;
      return delayBefore(remedy, this.#refused, random);
    }
    if (since === undefined) {
      this.#others += 1;
      return remedy === 'rebuild' && this.#others === 1 ? 0 : delayBefore(remedy, this.#others, random);
    }
    this.#short = now - since < CALM_MS ? this.#short + 1 : 1;
    return this.#short === 1 ? 0 : delayBefore(remedy, this.#short - 1, random);
  }
}
