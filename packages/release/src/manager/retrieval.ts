import type { Clock } from '@drydock/kube';
import { ReleaseError } from '../errors.ts';
import type { PayloadFiles } from '../payload/directory.ts';
import { imageText, type Retrieve } from './loaded-release.ts';
import { turns } from './turns.ts';

/** Something that a pass waits for before anything is applied. */
export interface Wait {
  readonly object: string;
  /** A clause, as it is now. */
  readonly why: () => string;
  readonly since: Date;
}

/** {@link Retrieve} with an end: `onWait` is called whenever it begins to wait for something else. Rejects with `ReleaseError` also where an image is not there in time, whatever is done about the signal. */
export type Retrieval = (image: string, signal: AbortSignal, onWait?: (wait: Wait) => void) => Promise<PayloadFiles>;

/** ms for fetching an image, as upstream has it. */
export const RETRIEVAL = 240_000;
/** Images that are read at the same time. */
const AT_ONCE = 4;

/** Reads a few images at a time, each for four minutes at most, so that registries that hang hold nobody else up; who tries again is last in the line. */
export function boundedRetrieval(retrieve: Retrieve, clock: Pick<Clock, 'date' | 'sleep'>): Retrieval {
  const reading = turns(AT_ONCE);
  const seconds = RETRIEVAL / 1_000;
  return async (image, signal, onWait = () => undefined) => {
    const name = imageText(image);
    const object = `image ${name}`;
    onWait({
      object,
      why: () => `others are read first, each for at most ${seconds} s: ${reading.taken() ?? 'done'}`,
      since: clock.date(),
    });
    using _turn = await reading.take(name, signal);
    signal.throwIfAborted();
    const since = clock.date();
    const end = new Date(since.getTime() + RETRIEVAL).toISOString();
    onWait({ object, why: () => `it is being read, until ${end} at the latest; then it is tried again`, since });
    const over = new AbortController();
    const done = new AbortController();
    const within = AbortSignal.any([signal, over.signal]);
    const { promise: ended, reject } = Promise.withResolvers<never>();
    // Heard before whoever reads hears of it: its words would not say why.
    within.addEventListener('abort', () => reject(within.reason as Error), { once: true, signal: done.signal });
    const late = new ReleaseError('REGISTRY', `${name} could not be read within ${seconds} s`);
    clock.sleep(RETRIEVAL, { background: true, signal: done.signal }).then(
      () => over.abort(late),
      () => undefined,
    );
    try {
      return await Promise.race([retrieve(image, within), ended]);
    } finally {
      done.abort();
    }
  };
}
