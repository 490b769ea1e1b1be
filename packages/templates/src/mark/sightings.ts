import { readFileSync } from 'node:fs';
import type { VmSummary } from '@drydock/vsphere';
import { HEARTBEAT_ATTRIBUTE } from './birth-mark.ts';
import type { Ledger } from './ledger.ts';

/** A clock that only moves forward, and that nobody can set: ms since the boot that `boot` names. */
export interface Uptime {
  readonly boot: string;
  now(): number;
}

/** CLOCK_MONOTONIC: the same for all processes of one boot. */
export const systemUptime: Uptime = { boot: bootId(), now: () => Number(process.hrtime.bigint() / 1_000_000n) };

/**
 * How long (ms) this observer has seen a VM unchanged: its name, its kind, its heartbeat and, while it is no template, its configuration. 0 at first sight and after a reboot. Clocks of vCenter and of
 * machines may be set; silence of an importer and grace before a removal follow from this duration alone.
 */
export function unchangedFor(ledger: Ledger, uptime: Uptime, key: string, vm: VmSummary): number {
  const { name, isTemplate, changeVersion = '', customValues } = vm;
  const value = JSON.stringify(
    isTemplate ? [name] : [name, changeVersion, customValues.get(HEARTBEAT_ATTRIBUTE) ?? ''],
  );
  const before = ledger.sighting(key);
  const now = uptime.now();
  if (before?.value === value && before.boot === uptime.boot && before.at <= now) return now - before.at;
  ledger.see(key, { value, boot: uptime.boot, at: now });
  return 0;
}

/** Without it each process is a boot of its own. */
function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return `process ${process.pid} ${performance.timeOrigin}`;
  }
}
