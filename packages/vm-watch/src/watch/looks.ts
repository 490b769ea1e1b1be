/** Whoever is told looks at the machine within this time. */
const RECONCILED_MS = 60_000;

/** Looks within this time (ms) are one, the latest possible: a delivery notes two of them, and each costs the order of the map. */
const AT_ONCE_MS = 100;

interface Look {
  readonly at: number;
  /** The last full pass in which the machine had been seen. */
  epoch: number;
  /** Something may have happened since of which the watch sees nothing. */
  touched: boolean;
}

/**
 * Looks that the watch has not caught up with. Whoever looks reads what the machine is at that moment, which the watch may never hear of: it was away, or the value was again what it had been
 * before the next answer. To the watch such a machine never changed, and yet what its reader saw is over. A look counts until an answer came to a question that was asked after it.
 */
export class Looks {
  /** The oldest come first. */
  readonly #looks = new Map<string, Look>();

  /** Somebody looks at a machine at this time (ms) or soon after it, that is, after the pass of this number came to it. */
  note(machine: string, at: number, epoch: number): void {
    const look = this.#looks.get(machine);
    if (look !== undefined && look.at >= at) {
      look.epoch = epoch;
      return;
    }
    if (look !== undefined) this.#looks.delete(machine);
    this.#looks.set(machine, { at: at + AT_ONCE_MS, epoch, touched: look?.touched === true });
  }

  /** The server says of a machine what is known. Unasked it does so only where something happened. */
  touch(machine: string): void {
    const look = this.#looks.get(machine);
    if (look !== undefined) look.touched = true;
  }

  /** An answer came late: whether it names what went and came back meanwhile is up to the server. */
  doubt(): void {
    for (const look of this.#looks.values()) look.touched = true;
  }

  /** Machines that were looked at before the pass of this number came to them. */
  *before(epoch: number): Generator<string, void> {
    for (const [machine, look] of this.#looks) if (look.epoch !== epoch) yield machine;
  }

  /** Everything until this time (ms) was heard. Those machines whose reader may have seen what was over before an answer said so, each once. */
  heard(until: number): readonly string[] {
    const touched: string[] = [];
    for (const [machine, look] of this.#looks) {
      if (look.at + RECONCILED_MS >= until) break;
      this.#looks.delete(machine);
      if (look.touched) touched.push(machine);
    }
    return touched;
  }

  clear(): void {
    this.#looks.clear();
  }
}
