import { guest } from './machine-profiles.ts';
import type { ObjectIndex } from './object-index.ts';
import { textVal } from './vim-values.ts';

/** Switches a FULL machine on or off, with all that such a machine then reports: one update of three properties. */
export function switchPower(inventory: ObjectIndex, moid: string, on: boolean): void {
  inventory.set(moid, 'guestHeartbeatStatus', textVal(on ? 'green' : 'gray', 'ManagedEntityStatus'));
  inventory.set(moid, 'summary.guest', guest(on));
  inventory.set(
    moid,
    'summary.runtime.powerState',
    textVal(on ? 'poweredOn' : 'poweredOff', 'VirtualMachinePowerState'),
  );
}
