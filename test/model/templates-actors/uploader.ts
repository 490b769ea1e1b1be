import type { MemoryInventory } from '@drydock/vsphere/testing';
import type { Ledger } from '../templates-ledger.ts';

const HEARTBEAT = 'drydock.heartbeat';
const EVERY_MS = 60_000;

/** Those who upload say that they live, as any importer does once a minute; to be called before anybody looks. Those that have died say nothing. */
export function beat({ state }: MemoryInventory, { uploading }: Pick<Ledger, 'uploading'>, now: number): void {
  for (const ref of uploading) {
    const machine = state.machines.get(ref);
    if (machine === undefined) continue;
    if (!state.customFields.includes(HEARTBEAT)) state.customFields.push(HEARTBEAT);
    // The last full minute: it lives, and has not said so this moment.
    const at = new Date(Math.floor(now / EVERY_MS) * EVERY_MS).toISOString();
    machine.customValues.set(state.customFields.indexOf(HEARTBEAT), `${machine.instanceUuid} ${at}`);
  }
}
