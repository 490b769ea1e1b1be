import { type Key, keyText } from '@drydock/kube';
import { isRotationCanary, type RotationCanaries } from './canary.ts';
import type { ClusterApiObject } from './kinds.ts';

/** What {@link canaryWatch} needs. */
export interface CanaryWatchOptions {
  /** A machine, as it was seen last. */
  readonly machine: (key: Key) => ClusterApiObject | undefined;
  readonly canaries: Pick<RotationCanaries, 'remove'>;
  /** Sets that exist, and whose BootImages name a canary as theirs. */
  readonly named: (canary: Key) => readonly string[];
}

/** Which sets wait for which canary, and the end of those for which none does. */
export interface CanaryWatch {
  /** Work on a set that exists: what it asked for in the end is what it waits for. Where the work fails, it waits for what it waited for. `known`: the canary that its BootImage names. */
  readonly during: <T>(
    set: string,
    known: Key | undefined,
    work: (asks: (canary: Key) => void) => Promise<T>,
  ) => Promise<T>;
  /** The set is gone. */
  readonly forget: (set: string) => void;
  /** Removes a canary for which no set waits any more. */
  readonly sweep: (canary: Key, call: { readonly signal?: AbortSignal | undefined }) => Promise<void>;
  /** Tells of each canary for which perhaps no set waits any more. */
  readonly onEnd: (tell: (canary: Key) => void) => Disposable;
}

/** A canary of which nobody knows any more who waits for it goes; one that a BootImage names stays until its set was looked at once. */
export function canaryWatch({ machine: machineOf, canaries, named }: CanaryWatchOptions): CanaryWatch {
  /** Of every set that was looked at. */
  const waits = new Map<string, string | undefined>();
  const listeners = new Set<(canary: Key) => void>();

  function waited(canary: Key): boolean {
    const id = keyText(canary);
    for (const one of waits.values()) if (one === id) return true;
    return named(canary).some((set) => !waits.has(set));
  }

  function ended(...canaries: readonly (Key | undefined)[]): void {
    for (const canary of canaries) if (canary !== undefined) for (const tell of listeners) tell(canary);
  }

  return {
    during: async (set, known, work) => {
      let asked: Key | undefined;
      const before = waits.get(set);
      const done = await work((canary) => {
        asked = canary;
        waits.set(set, keyText(canary));
      });
      if (asked === undefined) waits.set(set, undefined);
      ended(known, before === undefined ? undefined : keyOfText(before));
      return done;
    },
    forget: (set) => {
      const before = waits.get(set);
      waits.delete(set);
      if (before !== undefined) ended(keyOfText(before));
    },
    sweep: async (canary, call) => {
      const machine = machineOf(canary);
      if (machine === undefined || machine.metadata.deletionTimestamp !== undefined) return;
      if (isRotationCanary(machine) && !waited(canary)) await canaries.remove(machine, call);
    },
    onEnd: (tell) => {
      listeners.add(tell);
      return { [Symbol.dispose]: () => void listeners.delete(tell) };
    },
  };
}

function keyOfText(text: string): Key {
  const [namespace = '', name = ''] = text.split('/');
  return { namespace, name };
}
