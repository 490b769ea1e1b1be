import { isVimError, type MoRef, refKey, type VimError } from '@drydock/vsphere';

/** Something with machines below it that is wanted. */
export interface Container {
  readonly ref: MoRef;
  /** Who wants it. */
  readonly ids: Set<string>;
  /** It is in the list of the open watch. */
  applied: boolean;
  everApplied: boolean;
  refusal: Refusal | undefined;
}

/** Why the server does not let a container be watched. */
export interface Refusal {
  readonly error: VimError;
  /** How often in a row, and when (ms) it is tried again. */
  readonly times: number;
  readonly again: number;
}

/** How a container stands, for a report. */
export interface ContainerReport {
  readonly ref: MoRef;
  readonly ids: readonly string[];
  readonly watched: boolean;
  /** Absent where the server did not refuse it. */
  readonly refused?: string;
}

/** What the server refused is tried again after this long, doubling. */
const AGAIN_MS = 30_000;
const LONGEST_MS = 5 * 60_000;

/** What is to be watched, for whom, and what the server says to each. It outlives every watch. */
export class Containers {
  readonly #all = new Map<string, Container>();

  get size(): number {
    return this.#all.size;
  }

  [Symbol.iterator](): IterableIterator<Container> {
    return this.#all.values();
  }

  get applied(): readonly MoRef[] {
    return [...this.#all.values()].filter(({ applied }) => applied).map(({ ref }) => ref);
  }

  get reports(): readonly ContainerReport[] {
    return Array.from(this.#all.values(), ({ ref, ids, applied, refusal }) => ({
      ...{ ref, ids: [...ids], watched: applied },
      ...(refusal === undefined ? {} : { refused: refusal.error.clause }),
    }));
  }

  has(ref: MoRef): boolean {
    return this.#all.has(refKey(ref));
  }

  /** Whether it is this very one that is wanted: another one may have taken its place. */
  wants(container: Container): boolean {
    return this.#all.get(refKey(container.ref)) === container;
  }

  /** Wants a container on behalf of `id`; `fresh`: nobody did before. */
  want(ref: MoRef, id: string): { readonly container: Container; readonly fresh: boolean } {
    const known = this.#all.get(refKey(ref));
    const container = known ?? { ref, ids: new Set(), applied: false, everApplied: false, refusal: undefined };
    container.ids.add(id);
    this.#all.set(refKey(ref), container);
    return { container, fresh: known === undefined };
  }

  /** `id` no longer wants it. The container where nobody does any more. */
  release(ref: MoRef, id: string): Container | undefined {
    const container = this.#all.get(refKey(ref));
    if (container === undefined || !container.ids.delete(id) || container.ids.size > 0) return undefined;
    this.#all.delete(refKey(ref));
    return container;
  }

  /** Nothing is watched any more. */
  closed(): void {
    for (const container of this.#all.values()) container.applied = false;
  }

  /** Another vCenter: none of them was ever seen in it. */
  forget(): void {
    for (const container of this.#all.values()) {
      container.everApplied = false;
      container.refusal = undefined;
    }
  }

  /** Those that are to be tried now, besides the open watch. */
  due(now: number): readonly Container[] {
    return [...this.#all.values()].filter(({ applied, refusal }) => !applied && (refusal?.again ?? 0) <= now);
  }

  /**
   * Some that were watched may not be seen at this moment: nothing is known of their machines, in particular not that they left. One that is gone has none.
   */
  get obscured(): boolean {
    return [...this.#all.values()].some(
      ({ everApplied, applied, refusal }) =>
        everApplied && !applied && refusal !== undefined && refusal.error.code !== 'VIM_GONE',
    );
  }
}

/** It is watched; resolves to whether nothing was known of its machines before. */
export function applied(container: Container): boolean {
  const wasObscured = container.everApplied && container.refusal !== undefined;
  container.applied = true;
  container.everApplied = true;
  container.refusal = undefined;
  return wasObscured;
}

/** The server refused it; resolves to whether that was not said yet. */
export function refused(container: Container, error: VimError, now: number): boolean {
  const before = container.refusal;
  const times = (before?.times ?? 0) + 1;
  container.applied = false;
  container.refusal = { error, times, again: now + Math.min(LONGEST_MS, AGAIN_MS * 2 ** (times - 1)) };
  return before?.error.code !== error.code;
}

/** Whether an error concerns the container that was asked for alone, and not the session or the way to the server. */
export function isOfContainer(error: unknown): error is VimError {
  if (!isVimError(error) || error.code === 'VIM_NOT_AUTHENTICATED') return false;
  return error.kind === 'fault' || error.code === 'VIM_GONE';
}
