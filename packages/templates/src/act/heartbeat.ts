import type { MoRef, VCenter } from '@drydock/vsphere';
import { reasonOf, TemplateError } from '../errors.ts';
import { HEARTBEAT_ATTRIBUTE } from '../mark/birth-mark.ts';

/** Between two signs of life of an import. */
export const BEAT_MS = 60_000;

/** In a row; others take an importer for dead after ten minutes of silence. */
const MAX_FAILURES = 5;

/** Calls something every so often until it is disposed of. */
export type Pacemaker = (beat: () => void) => Disposable;

/** Every minute, without keeping the process alive. */
export const everyMinute: Pacemaker = (tick) => {
  const timer = setInterval(tick, BEAT_MS);
  timer.unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
};

/** Signs of life while something is imported. */
export interface Heartbeat extends AsyncDisposable {
  /** Ends when nobody can see any more that the import lives. */
  readonly failed: AbortSignal;
}

/** Leaves a sign of life on the machine from time to time. None is under way any more when disposal is over. */
export function heartbeat(vcenter: VCenter, vm: MoRef, instanceUuid: string, pacemaker: Pacemaker): Heartbeat {
  const failed = new AbortController();
  const over = new AbortController();
  let underway: Promise<void> | undefined;
  let failures = 0;
  const once = async (): Promise<void> => {
    try {
      const signal = AbortSignal.any([over.signal, AbortSignal.timeout(BEAT_MS)]);
      const at = (await vcenter.currentTime({ signal })).toISOString();
      await vcenter.setCustomValue(vm, HEARTBEAT_ATTRIBUTE, `${instanceUuid} ${at}`, { signal });
      failures = 0;
    } catch (cause) {
      failures += 1;
      if (failures < MAX_FAILURES) return;
      const message = `failed to say that the import of ${vm.value} lives, ${failures} times in a row, so that others would take it for dead: ${reasonOf(cause)}`;
      failed.abort(new TemplateError({ code: 'IMPORT_FAILED', message, retriable: true, cause }));
    } finally {
      underway = undefined;
    }
  };
  const pace = pacemaker(() => {
    underway ??= once();
  });
  return {
    failed: failed.signal,
    [Symbol.asyncDispose]: async () => {
      pace[Symbol.dispose]();
      over.abort();
      await underway;
    },
  };
}
