import { Refusal } from '@drydock/vsphere/testing/server';
import type { Fault, Rule } from '../../switchboard-types.ts';

/** What a rule does to a call that it takes. */
export type RuleAction = Rule['do'];
const ACTIONS: readonly RuleAction[] = [
  ...(['fault', 'status', 'delay', 'hold', 'drop-before', 'drop-after', 'drop-upload', 'throttle', 'task'] as const),
];

/** A rule as it is sent. */
export interface RuleSpec {
  readonly on: string;
  readonly do: RuleAction;
  readonly match?: string;
  readonly skip?: number;
  readonly times?: number;
  readonly fault?: Fault;
  readonly acted?: boolean;
  readonly delayMs?: number;
  readonly afterBytes?: number;
  readonly bytesPerSecond?: number;
  readonly status?: number;
  readonly body?: string;
  readonly work?: 'first' | 'last' | 'never' | '';
  readonly hold?: boolean;
}

/** Names of all fields of a rule. */
export const RULE_FIELDS: readonly (keyof RuleSpec)[] = [
  ...(['on', 'do', 'match', 'skip', 'times', 'fault', 'acted', 'delayMs', 'afterBytes'] as const),
  ...(['bytesPerSecond', 'status', 'body', 'work', 'hold'] as const),
];

/** One row of the table. Calls are offered to the rows in the order in which they were made; the first that takes one decides. */
export class CallRule {
  readonly id: string;
  readonly spec: RuleSpec;
  seen = 0;
  taken = 0;
  held = 0;
  readonly #changed: () => void;
  readonly #released = new AbortController();

  constructor(id: string, spec: RuleSpec, changed: () => void) {
    this.id = id;
    this.spec = spec;
    this.#changed = changed;
  }

  /** Aborted once it lets go of what it holds. */
  get released(): AbortSignal {
    return this.#released.signal;
  }

  /** Whether it takes this call. */
  takes(method: string, text: string): boolean {
    const { on, match, skip = 0, times = 0 } = this.spec;
    const isOn = on.endsWith('*') ? method.startsWith(on.slice(0, -1)) : method === on;
    if (!isOn || (match !== undefined && !text.includes(match))) return false;
    this.seen += 1;
    if (this.seen <= skip || (times > 0 && this.taken >= times)) return false;
    this.taken += 1;
    this.#changed();
    return true;
  }

  /** Waits for the release. False: `given up` came first. */
  async hold(givenUp: AbortSignal): Promise<boolean> {
    this.held += 1;
    this.#changed();
    await either(this.released, givenUp);
    this.held -= 1;
    this.#changed();
    return this.released.aborted;
  }

  /** Waits for a time, or less where it is released meanwhile. False: `given up` came first. */
  async pause(ms: number, givenUp: AbortSignal): Promise<boolean> {
    const over = new AbortController();
    const timer = setTimeout(() => over.abort(), ms);
    await either(over.signal, givenUp);
    clearTimeout(timer);
    return over.signal.aborted;
  }

  /** Lets go of what it holds; the row stays, but holds no more. */
  release(): void {
    this.#released.abort();
  }

  /** As the switchboard tells it. */
  toJSON(): unknown {
    return { ...this.spec, id: this.id, seen: this.seen, taken: this.taken, held: this.held };
  }
}

/** Resolves when one of them is aborted. */
export function either(one: AbortSignal, other: AbortSignal): Promise<void> {
  if (one.aborted || other.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const done = (): void => {
      one.removeEventListener('abort', done);
      other.removeEventListener('abort', done);
      resolve();
    };
    one.addEventListener('abort', done);
    other.addEventListener('abort', done);
  });
}

/** The table. */
export class RuleTable {
  #rules: CallRule[] = [];
  #next = 0;
  /** Those who wait for a count. */
  readonly #waiting = new Set<() => void>();

  /** Adds a row. Throws an error whose text says what is wrong with it. */
  add(spec: RuleSpec): CallRule {
    check(spec);
    this.#next += 1;
    const rule = new CallRule(String(this.#next), spec, () => this.#announce());
    this.#rules.push(rule);
    return rule;
  }

  get all(): readonly CallRule[] {
    return this.#rules;
  }

  get(id: string): CallRule | undefined {
    return this.#rules.find((rule) => rule.id === id);
  }

  /** Removes one row, or all, and releases what they hold. */
  remove(id?: string): boolean {
    const removed = this.#rules.filter((rule) => id === undefined || rule.id === id);
    this.#rules = this.#rules.filter((rule) => !removed.includes(rule));
    for (const rule of removed) rule.release();
    this.#announce();
    return id === undefined || removed.length > 0;
  }

  /** Offers a call to the table; the row that takes it. */
  take(method: string, text: string): CallRule | undefined {
    return this.#rules.find((rule) => rule.takes(method, text));
  }

  /** Waits until a row has taken and holds that many calls. False: the time is over. */
  async await(id: string, taken: number, held: number, timeoutMs: number): Promise<boolean> {
    const deadline = performance.now() + timeoutMs;
    for (;;) {
      const rule = this.get(id);
      if (rule === undefined) throw new Error(`no rule ${id}`);
      if (rule.taken >= taken && rule.held >= held) return true;
      const left = deadline - performance.now();
      if (left <= 0) return false;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(wake, left);
        const waiting = this.#waiting;
        function wake(): void {
          clearTimeout(timer);
          waiting.delete(wake);
          resolve();
        }
        waiting.add(wake);
      });
    }
  }

  #announce(): void {
    for (const wake of [...this.#waiting]) wake();
  }
}

function check({ on, do: action, fault, bytesPerSecond = 0, work = '' }: RuleSpec): void {
  if (on === undefined || on === '') throw new Error('"on" must name a method, "upload", "download" or "*"');
  if (!ACTIONS.includes(action))
    throw new Error(`"${String(action)}" is not an action; choose from ${ACTIONS.join(', ')}`);
  if (action === 'fault' && fault === undefined) throw new Error('"fault" needs fault.name');
  if (fault !== undefined && !/^[A-Z]\w*$/.test(fault.name))
    throw new Error(`no vSphere fault is called "${fault.name}"`);
  if (action === 'throttle' && bytesPerSecond <= 0) throw new Error('"throttle" needs bytesPerSecond above 0');
  if (!['', 'first', 'last', 'never'].includes(work)) throw new Error('"work" is first, last or never');
}

/** A fault as the server answers it. */
export function refusalOf({ name, message = '', fields = {}, xml = '' }: Fault): Refusal {
  const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  const said = Object.keys(fields).toSorted();
  return new Refusal(
    name,
    said.map((field) => `<${field}>${escaped(fields[field] ?? '')}</${field}>`).join('') + xml,
    message,
  );
}
