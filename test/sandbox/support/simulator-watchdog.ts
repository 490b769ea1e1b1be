/** Longer than any answer of the simulator takes whose wait ends after a second or five. */
const PATIENCE_MS = 20_000;

/** The simulator does not answer a wait any more. */
export class SimulatorDeadlock extends Error {
  override readonly name = 'SimulatorDeadlock';
}

/**
 * A wait for updates under a watchdog. govmomi's simulator, up to v0.56.0, stops answering a wait for ever when the list view behind it is modified meanwhile under load
 * (govmomi pull request 4109): then that is said, instead of a test that times out in silence.
 */
export async function answeredBySimulator<T>(wait: Promise<T>, patienceMs: number = PATIENCE_MS): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(
    () =>
      late.reject(
        new SimulatorDeadlock(
          `the simulator has not answered a wait for updates within ${patienceMs / 1000} s: this is its deadlock when a list view is modified during a wait (govmomi pull request 4109), if the log of calls shows ModifyListView between this wait and its cancellation. Start the test again; a real vCenter answers.`,
        ),
      ),
    patienceMs,
  );
  try {
    return await Promise.race([wait, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
