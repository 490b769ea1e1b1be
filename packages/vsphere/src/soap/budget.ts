import { VimError } from '../errors.ts';

/** What the answers to one question may cost together. */
export interface BudgetLimits {
  readonly calls: number;
  readonly bytes: number;
  /** Elements, attributes and texts. */
  readonly nodes: number;
  readonly objects: number;
  /** What is kept of them, in bytes, as `weightOf` counts them. */
  readonly kept: number;
}

/**
 * A server that goes on answering one question for ever is stopped here: each answer is bounded by itself, but not their number. The largest vCenter
 * there may be has 45,000 machines, whose devices have 18 million nodes, and of which 30 MB are kept; a folder of 3,000 machines with all that is read of them is as much.
 */
export const CONVERSATION: BudgetLimits = {
  calls: 5_000,
  bytes: 512 << 20,
  nodes: 24_000_000,
  objects: 100_000,
  kept: 48 << 20,
};

/** One conversation's budget. */
export class Budget {
  readonly #op: string;
  readonly #server: string;
  readonly #limits: BudgetLimits;
  readonly #spent = { calls: 0, bytes: 0, nodes: 0, objects: 0, kept: 0 };

  constructor(op: string, server: string, limits: BudgetLimits = CONVERSATION) {
    this.#op = op;
    this.#server = server;
    this.#limits = limits;
  }

  /** Fails with `VIM_BAD_RESPONSE` where there is no end of it. */
  spend(what: keyof BudgetLimits, amount: number): void {
    this.#spent[what] += amount;
    if (this.#spent[what] <= this.#limits[what]) return;
    throw new VimError({
      kind: 'protocol',
      code: 'VIM_BAD_RESPONSE',
      op: this.#op,
      message: `the answers of ${this.#server} have no end: more than ${this.#limits[what]} ${what === 'kept' ? 'bytes to keep' : what}`,
    });
  }
}
