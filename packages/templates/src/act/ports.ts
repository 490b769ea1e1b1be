import type { VCenter, VmChange } from '@drydock/vsphere';
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
  /** What was uploaded whole and could not yet be called finished, by instance UUID; shared likewise. */
  readonly uploaded: Map<string, VmChange>;
  /** What imports ran out of; shared likewise. */
  readonly usedUp: UsedUp;
  readonly pacemaker: Pacemaker;
  /** Instance UUIDs of all that this process imported: it may destroy them. */
  readonly imported?: Set<string>;
  /** What proves marks now. Default: nothing. */
  readonly witnesses?: Witnesses;
  /** Bounds imports at a time, by server; absent: no bound. */
  readonly slots?: Slots;
}

/** What all publications of a store share, and one session. */
export type PortsInit = Pick<Ports, 'vcenter' | 'ovas' | 'clock' | 'running'> &
  Partial<Pick<Ports, 'uploaded' | 'usedUp' | 'pacemaker' | 'imported' | 'witnesses' | 'slots'>> & {
    readonly fence?: Fence | undefined;
  };

/** Ports on one session. */
export function portsOn({ vcenter, fence, ...rest }: PortsInit): Ports {
  return {
    uploaded: new Map(),
    usedUp: new Map(),
    pacemaker: everyMinute,
    ...rest,
    vcenter: fenced(vcenter, fence),
    unfenced: vcenter,
  };
}
