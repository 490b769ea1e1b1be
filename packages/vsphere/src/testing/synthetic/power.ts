import type { SyntheticInventory } from './inventory.ts';
import { guest } from './profile.ts';
import { textVal } from './values.ts';

/** Switches a FULL machine on or off, with all that such a machine then reports: one update of three properties. */
export function switchPower(inventory: SyntheticInventory, moid: string, on: boolean): void {
  inventory.set(moid, 'guestHeartbeatStatus', textVal(on ? 'green' : 'gray', 'ManagedEntityStatus'));
  inventory.set(moid, 'summary.guest', guest(on));
  inventory.set(
    moid,
    'summary.runtime.powerState',
    textVal(on ? 'poweredOn' : 'poweredOff', 'VirtualMachinePowerState'),
  );
}
