import type { MoRef } from '@drydock/vsphere';

/** Which machines are there, for who wants to hear of those that come. */
export interface Presence {
  /** Everything that was there at the beginning was read: what is there now is no news. */
  begin(machines: readonly MoRef[]): void;
  /** It is there, and was before it was watched. */
  known(machine: MoRef): void;
  /** It is there; calls `came` where that is news. */
  seen(machine: MoRef): void;
  left(machine: MoRef): void;
}

/** Nobody is told before {@link Presence.begin}. */
export function presence(came: (machine: MoRef) => void): Presence {
  const present = new Set<string>();
  let begun = false;
  return {
    begin: (machines) => {
      if (begun) return;
      begun = true;
      for (const { value } of machines) present.add(value);
    },
    known: ({ value }) => void present.add(value),
    seen: (machine) => {
      if (!begun || present.has(machine.value)) return;
      present.add(machine.value);
      came(machine);
    },
    left: ({ value }) => void present.delete(value),
  };
}
