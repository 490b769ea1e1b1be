import type { VCenter } from '@drydock/vsphere';
import type { Clock } from '../clock.ts';
import { openLedger } from '../mark/ledger.ts';
import type { LedgerStore } from '../mark/ledger-store.ts';
import type { Witnesses } from '../mark/witness.ts';
import { TEST_KEYS } from './keys.ts';
import { testUptime } from './memory-ledger.ts';

/** What a process knows at its start: the tests' key, and what other processes left in `store`. */
export async function testWitnesses(
  vcenter: Pick<VCenter, 'instanceUuid'>,
  clock: Pick<Clock, 'now'>,
  store?: LedgerStore,
): Promise<Witnesses & { readonly imported: Set<string> }> {
  const ledger = openLedger(store);
  await ledger.load();
  return {
    ...{ vcenter: await vcenter.instanceUuid(), keys: TEST_KEYS, ledger },
    ...{ uptime: testUptime(clock), imported: new Set<string>() },
  };
}
