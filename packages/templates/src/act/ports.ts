import type { VCenter } from '@drydock/vsphere';
import type { Clock } from '../clock.ts';
import type { UsedUp } from '../image/disk-space.ts';
import type { OvaSource } from '../image/ova-source.ts';
import type { Witnesses } from '../mark/witness.ts';
import { type Fence, fenced } from './fenced.ts';
import { everyMinute, type Pacemaker } from './heartbeat.ts';
import type { Slots } from './slots.ts';

/** What the steps of a publication act on. */
export interface Ports {
  /** Asks before each change whether this process may still act. */
  readonly vcenter: VCenter;
  /** The same session, which does not ask: for the second half of what must not be left half done. */
  readonly unfenced: VCenter;
  readonly ovas: OvaSource;
  readonly clock: Clock;
  /** Instance UUIDs of imports under way in this process; shared by all publications of a store. */
  readonly running: Set<string>;
  /** Identity keys of all that this process imported; shared likewise. */
  readonly imported: Set<string>;
  /** What proves ownership now. */
  readonly witnesses: Witnesses;
  /** What imports ran out of; shared likewise. */
  readonly usedUp: UsedUp;
  readonly pacemaker: Pacemaker;
  /** Bounds imports at a time, by server; absent: no bound. */
  readonly slots?: Slots;
}

/** What all publications of a store share, and one session. */
export type PortsInit = Pick<Ports, 'vcenter' | 'ovas' | 'clock' | 'running' | 'imported' | 'witnesses'> &
  Partial<Pick<Ports, 'usedUp' | 'pacemaker' | 'slots'>> & {
    readonly fence?: Fence | undefined;
  };

/** Ports on one session. */
export function portsOn({ vcenter, fence, ...rest }: PortsInit): Ports {
  return { usedUp: new Map(), pacemaker: everyMinute, ...rest, vcenter: fenced(vcenter, fence), unfenced: vcenter };
}
