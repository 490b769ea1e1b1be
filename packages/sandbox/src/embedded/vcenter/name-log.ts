import type { NameEvent } from '@drydock/vsphere/testing/server';
import type { NameChange, NameGap } from '../../switchboard-types.ts';
import { BoundedLog } from './call-log.ts';

interface Logged {
  readonly seq: number;
  readonly micros: number;
  readonly change: NameChange;
}

/** Now, in microseconds since the epoch. */
const nowMicros = (): number => Math.floor((performance.timeOrigin + performance.now()) * 1000);

/** RFC 3339 with microseconds. */
function instant(micros: number): string {
  const second = new Date(Math.floor(micros / 1e6) * 1000).toISOString().slice(0, 19);
  return `${second}.${String(micros % 1e6).padStart(6, '0')}Z`;
}

/** Renames and destructions of machines, and the times in which nothing had a name. */
export class NameLog {
  readonly #log = new BoundedLog<Logged>();

  /** `session`: whose call it was; undefined: the switchboard's. */
  add({ kind, machine, from, to, task }: NameEvent, folder: string, session: string | undefined): void {
    const micros = nowMicros();
    const began = Math.min(micros, task.queued.getTime() * 1000);
    this.#log.add((seq) => ({
      seq,
      micros,
      change: {
        ...{ seq, kind, moref: machine.value, folder, from, startedAt: instant(began), at: instant(micros) },
        ...(to === '' ? {} : { to }),
        ...(session === undefined ? {} : { session }),
        ...(task.error === undefined ? {} : { fault: task.error.fault }),
      },
    }));
  }

  since(seq: number): readonly NameChange[] {
    return this.#log.since(seq).map(({ change }) => change);
  }

  reset(): void {
    this.#log.reset();
  }

  /** Pairs what took a name away with what brought it back. */
  gaps(folder: string | undefined, name: string | undefined): readonly NameGap[] {
    const gaps: { name: string; folder: string; from: string; to?: string; micros: number }[] = [];
    const open = new Map<string, { readonly gap: (typeof gaps)[number]; readonly since: number }>();
    for (const { change, micros } of this.#log.since(0)) {
      if (change.fault !== undefined) continue;
      const back = change.to === undefined ? undefined : open.get(`${change.folder}\n${change.to}`);
      if (back !== undefined) {
        back.gap.to = change.at;
        back.gap.micros = micros - back.since;
        open.delete(`${change.folder}\n${change.to ?? ''}`);
      }
      if ((folder !== undefined && folder !== change.folder) || (name !== undefined && name !== change.from)) continue;
      const gap = { name: change.from, folder: change.folder, from: change.at, micros: 0 };
      gaps.push(gap);
      open.set(`${change.folder}\n${change.from}`, { gap, since: micros });
    }
    return gaps;
  }
}
