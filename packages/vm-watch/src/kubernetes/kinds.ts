import { CustomResourceDefinition, VirtualMachine, Zone } from '@drydock/api';
import { isNotFound, type KubeClient } from '@drydock/kube';
import type { Clock } from '@drydock/vsphere';
import { WatchError } from '../errors.ts';
import type { WatchLog } from '../watch/watch-log.ts';

const [vmCrd, zoneCrd] = [VirtualMachine, Zone].map(({ plural, group }) => `${plural}.${group}`);

/** Name of the CRD of VirtualMachines. */
export const VIRTUAL_MACHINES: string = vmCrd ?? '';

const CRDS: readonly string[] = [VIRTUAL_MACHINES, zoneCrd ?? ''];
const AGAIN_MS = 5_000;

/** The kinds that the role needs and that this cluster does not serve, as names of CRDs. */
export async function missingKinds(client: Pick<KubeClient, 'get'>, signal?: AbortSignal): Promise<readonly string[]> {
  const missing: string[] = [];
  for (const name of CRDS) {
    try {
      const { status } = await client.get(CustomResourceDefinition, { name }, signal === undefined ? {} : { signal });
      const served = status?.conditions?.some((one) => one.type === 'Established' && one.status === 'True');
      // A fresh one has no conditions yet: then its first list is repeated.
      if (served === false) missing.push(name);
    } catch (error) {
      if (!isNotFound(error)) throw error;
      missing.push(name);
    }
  }
  return missing;
}

/** What {@link kindsServed} needs. */
export interface KindsServedOptions {
  readonly client: Pick<KubeClient, 'get'>;
  readonly clock: Clock;
  readonly log: WatchLog;
  readonly signal: AbortSignal;
  /** Told of what is missing, whenever that was looked at. */
  readonly onMissing?: (kinds: readonly string[]) => void;
}

/** Resolves to true when the cluster serves all kinds that the role needs, which is looked at every 5 s; to false when the signal ended the wait. Never fails. */
export async function kindsServed({ client, clock, log, signal, onMissing }: KindsServedOptions): Promise<boolean> {
  let said = '';
  const say = (error: Error): void => {
    if (error.message !== said)
      log.warn(
        { err: error },
        'Virtual machines are not watched yet; Drydock looks again every 5 s. If this warning repeats, check that the CRDs of Zone and VirtualMachine are installed.',
      );
    said = error.message;
  };
  while (!signal.aborted) {
    try {
      const missing = await missingKinds(client, signal);
      onMissing?.(missing);
      if (missing.length === 0) return true;
      say(new WatchError('KindsMissing', `this cluster does not serve ${missing.join(' and ')}`));
    } catch (error) {
      if (signal.aborted) return false;
      say(error instanceof Error ? error : new Error(String(error)));
    }
    await clock.sleep(AGAIN_MS, { background: true, signal }).catch(() => undefined);
  }
  return false;
}
