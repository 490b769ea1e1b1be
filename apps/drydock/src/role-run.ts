import { type Clock, type HealthChecks, type Operator, RunError, type RunOptions, run } from '@drydock/kube';

/** What one role runs, for as long as it leads. */
export type RoleParts = Pick<RunOptions, 'caches' | 'controllers' | 'services' | 'ready' | 'leader'>;

/** What {@link startRole} needs. */
export interface RoleOptions extends Pick<RunOptions, 'client' | 'metrics' | 'log' | 'signal'> {
  readonly name: string;
  readonly clock: Clock;
  /** Makes everything of the role; what is put into `closing` is disposed when the role ends or is made anew. */
  readonly make: (closing: AsyncDisposableStack) => Promise<RoleParts>;
}

/** A role that runs. Disposal stops it as its signal would, and waits. */
export interface RunningRole extends AsyncDisposable {
  readonly live: () => HealthChecks;
  readonly ready: () => HealthChecks;
  /** Resolves after the signal; rejects where the process must end, see `Operator.finished`. A lost Lease is no reason. */
  readonly finished: Promise<void>;
}

/** Between two tries to make a role anew (ms). */
const AGAIN_MS = 5_000;

interface Run extends AsyncDisposable {
  readonly operator: Operator;
}

/** Runs a role until the signal. After a pause and after a lost Lease it is made anew, with nothing of its past, and contests the Lease again; other roles notice nothing. Rejects where it cannot be made the first time. */
export async function startRole(options: RoleOptions): Promise<RunningRole> {
  const { name, make, client, metrics, log, clock } = options;
  const dispose = new AbortController();
  const signal = AbortSignal.any([options.signal, dispose.signal]);

  const begin = async (): Promise<Run> => {
    await using starting = new AsyncDisposableStack();
    const parts = await make(starting);
    const operator = starting.use(await run({ client, ...parts, log, signal, ...(metrics && { metrics }) }));
    const begun = starting.move();
    return { operator, [Symbol.asyncDispose]: () => begun.disposeAsync() };
  };
  const again = async (): Promise<Run | undefined> => {
    while (!signal.aborted) {
      try {
        return await begin();
      } catch (error) {
        log.warn({ err: error, role: name }, 'the role could not be begun anew; trying again');
        await clock.sleep(AGAIN_MS, { signal }).catch(() => undefined);
      }
    }
    return undefined;
  };

  let current: Run | undefined = await begin();
  const finished = (async () => {
    while (current !== undefined) {
      try {
        await using ending = current;
        await ending.operator.finished;
      } catch (error) {
        if (!(error instanceof RunError) || error.code !== 'LeaseLost') throw error;
        log.warn({ role: name }, 'the role lost its Lease and contests it again; other roles of this process go on');
      }
      current = undefined;
      current = await again();
    }
  })();
  finished.catch(() => undefined);
  return {
    live: () => current?.operator.live ?? {},
    ready: () => current?.operator.ready ?? { [`role-${name}`]: () => 'is begun anew' },
    finished,
    [Symbol.asyncDispose]: async () => {
      dispose.abort();
      await finished.catch(() => undefined);
    },
  };
}
