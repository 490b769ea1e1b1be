import { faultError, VimError } from '../errors.ts';
import { foreignText, refText } from '../foreign-text.ts';
import type { Caller, ObjectContent } from '../soap/call.ts';
import type { Clock } from '../soap/clock.ts';
import { readFault, readLocalizedFault } from '../soap/faults.ts';
import { nextLook, SLOWEST_MS } from '../soap/pace.ts';
import { givenUp } from '../soap/signals.ts';
import { refKey } from '../soap/soap.ts';
import type { MoRef } from '../vcenter.ts';
import { child, childText, type XmlElement } from '../xml/xml.ts';

/** What a {@link TaskWaiter} needs. */
export interface TaskWaiterOptions {
  readonly retrieve: Caller['retrieve'];
  readonly clock: Clock;
  readonly server: string;
  readonly closing: AbortSignal;
}

interface Waiting {
  readonly task: MoRef;
  readonly op: string;
  readonly since: number;
  readonly onProgress?: (percent: number) => void;
  readonly resolve: (info: XmlElement) => void;
  readonly reject: (error: VimError) => void;
}

const FIRST_RETRY_MS = 100;
/** No task that we start takes this long; one that does is looked at by the next pass. */
const DEADLINE_MS = 30 * 60_000;
/** In a row, spread over about seven seconds: as long as a restarted proxy takes. */
const MAX_FAILURES = 8;

/**
 * Waits for any number of tasks with one retrieval per round: at once, then at a pace that follows the youngest. Tasks outlive sessions, and a round is repeatable, so
 * neither a lost connection nor a new login loses a result; a wait on a filter would (the update that the connection carried is not sent again by every server).
 */
export class TaskWaiter {
  readonly #options: TaskWaiterOptions;
  readonly #waiting = new Set<Waiting>();
  #wake = new AbortController();
  #running = false;

  constructor(options: TaskWaiterOptions) {
    this.#options = options;
  }

  /** See `Caller.waitForTask`. */
  wait(
    task: MoRef,
    options?: {
      readonly op?: string;
      readonly signal?: AbortSignal | undefined;
      readonly onProgress?: (percent: number) => void;
    },
  ): Promise<XmlElement> {
    const op = options?.op ?? 'task';
    const signal = options?.signal;
    if (signal?.aborted === true) return Promise.reject(givenUp(op, signal));
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        this.#waiting.delete(waiting);
        if (signal !== undefined) reject(givenUp(op, signal));
      };
      const waiting: Waiting = {
        task,
        op,
        since: this.#options.clock.now(),
        ...(options?.onProgress === undefined ? {} : { onProgress: options.onProgress }),
        resolve: (info) => {
          signal?.removeEventListener('abort', onAbort);
          resolve(info);
        },
        reject: (error) => {
          signal?.removeEventListener('abort', onAbort);
          reject(error);
        },
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#waiting.add(waiting);
      if (this.#running) this.#wake.abort();
      else void this.#run();
    });
  }

  async #run(): Promise<void> {
    const { clock, closing } = this.#options;
    this.#running = true;
    let failures = 0;
    while (this.#waiting.size > 0 && !closing.aborted) {
      try {
        const round = [...this.#waiting];
        const found = await this.#options.retrieve(
          round.map(({ task }) => task),
          'Task',
          ['info'],
          { signal: closing },
        );
        failures = 0;
        this.#settle(round, found);
      } catch (error) {
        failures++;
        const retriable = error instanceof VimError && error.retriable;
        if (!retriable || failures >= MAX_FAILURES) this.#giveUp(error);
      }
      if (this.#waiting.size === 0) break;
      this.#wake = new AbortController();
      const signal = AbortSignal.any([this.#wake.signal, closing]);
      const pause = failures > 0 ? Math.min(SLOWEST_MS, FIRST_RETRY_MS * 2 ** (failures - 1)) : this.#pace();
      // Ended early by a task that wants its first look.
      await clock.sleep(pause, { signal }).catch(() => undefined);
    }
    this.#running = false;
    if (closing.aborted) this.#giveUp(closing.reason);
  }

  #pace(): number {
    let youngest = Number.NEGATIVE_INFINITY;
    for (const { since } of this.#waiting) youngest = Math.max(youngest, since);
    return nextLook(this.#options.clock.now() - youngest);
  }

  #settle(round: readonly Waiting[], found: readonly ObjectContent[]): void {
    const infos = new Map(found.map(({ ref, values }) => [refKey(ref), values.get('info')]));
    for (const waiting of round) {
      if (!this.#waiting.has(waiting)) continue;
      const info = infos.get(refKey(waiting.task));
      const state = childText(info, 'state');
      if (info === undefined || state === undefined)
        this.#end(waiting, unknown(waiting, `the task disappeared from ${this.#options.server}`));
      else if (state === 'success') this.#end(waiting, info);
      else if (state === 'error') this.#end(waiting, taskError(waiting, info));
      else if (this.#options.clock.now() - waiting.since > DEADLINE_MS)
        this.#end(waiting, unknown(waiting, 'the task has not ended for 30 minutes'));
      else {
        const progress = Number(childText(info, 'progress') ?? Number.NaN);
        if (!Number.isNaN(progress)) waiting.onProgress?.(progress);
      }
    }
  }

  #end(waiting: Waiting, outcome: XmlElement | VimError): void {
    this.#waiting.delete(waiting);
    if (outcome instanceof VimError) waiting.reject(outcome);
    else waiting.resolve(outcome);
  }

  #giveUp(cause: unknown): void {
    for (const waiting of this.#waiting)
      this.#end(waiting, unknown(waiting, `the task could not be followed at ${this.#options.server}`, cause));
  }
}

function unknown(waiting: Waiting, message: string, cause?: unknown): VimError {
  return new VimError({
    kind: 'protocol',
    code: 'VIM_UNKNOWN_OUTCOME',
    op: waiting.op,
    message: `${message} (${refText(waiting.task)})`,
    retriable: true,
    ...(cause === undefined ? {} : { cause }),
  });
}

function taskError(waiting: Waiting, info: XmlElement): VimError {
  const error = child(info, 'error');
  const fault = error === undefined ? undefined : readLocalizedFault(error);
  const object = foreignText(childText(info, 'entityName') ?? refText(waiting.task));
  return faultError(
    waiting.op,
    object,
    fault ?? readFault({ uri: '', name: 'SystemError', attributes: [], children: [] }, ''),
  );
}
