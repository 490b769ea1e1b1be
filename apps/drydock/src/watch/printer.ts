import { oneLine } from '@drydock/api/text';
import { type MoRef, unescapeName } from '@drydock/vsphere';
import type { Output } from '../template/output.ts';
import type { KnownValues, SmallValue } from './known-values.ts';
import type { MachineNames } from './machine-names.ts';

/** What happened to a machine. */
export interface MachineEvent {
  readonly what: 'changed' | 'came' | 'left';
  readonly ref: MoRef;
  readonly path?: string;
  readonly old?: SmallValue;
  readonly new?: SmallValue;
}

const COLUMNS = ['TIME', 'VM', 'MACHINE', 'MOREF', 'PATH', 'CHANGE'] as const;
const WIDTHS = { TIME: 12, VM: 24, MACHINE: 24, MOREF: 8, PATH: 28, CHANGE: 0 } as const;
const WIDEST = 80;

/** Prints events in the order in which they are given. */
export interface Printer {
  readonly print: (event: MachineEvent) => void;
  /** Resolves when everything was printed. */
  readonly settled: () => Promise<void>;
}

/** A printer; with a cluster each line names the Machine, too. */
export function createPrinter(out: Output, known: KnownValues, machines: MachineNames | undefined): Printer {
  let headed = false;
  const columns = COLUMNS.filter(
    (column) => (column !== 'MACHINE' || machines !== undefined) && (column !== 'MOREF' || out.format.wide),
  );
  // A column grows with what comes: nobody knows the names before.
  const widths: number[] = columns.map((column) => WIDTHS[column]);
  let last: Promise<void> = Promise.resolve();

  const write = (at: Date, vm: string, event: MachineEvent, machine: string | undefined): void => {
    const { what, ref, path, old, new: now } = event;
    out.event(what, {
      at: at.toISOString(),
      vm,
      ...(machines === undefined ? {} : { machine: machine ?? null }),
      ref: ref.value,
      ...(path === undefined ? {} : { path, old: old ?? null, new: now ?? null }),
    });
    if (!out.format.people && out.format.kind !== 'name') return;
    if (out.format.kind === 'name') {
      out.data(`${oneLine(vm)}\n`);
      return;
    }
    const row = (cells: readonly string[]): void => {
      const shown = columns.map((column, index) => {
        const cell = oneLine(cells[COLUMNS.indexOf(column)] ?? '');
        widths[index] = Math.max(widths[index] ?? 0, column === 'CHANGE' ? 0 : Math.min(cell.length, WIDEST));
        return cell.padEnd(widths[index]);
      });
      out.data(`${shown.join('  ').trimEnd()}\n`);
    };
    if (!headed) row(COLUMNS);
    headed = true;
    const change = path === undefined ? what : values(old, now);
    row([at.toISOString().slice(11, 23), vm, machine ?? '-', ref.value, path ?? '-', change]);
  };

  return {
    print: (event) => {
      // Both are of this moment, also when the line has to wait.
      const at = new Date();
      const { path, new: now, ref } = event;
      const name = (path === 'name' ? now : undefined) ?? known.value(ref, 'name') ?? ref.value;
      const vm = unescapeName(name);
      if (machines === undefined) {
        write(at, vm, event, undefined);
        return;
      }
      const owner = machines.of(ref).catch(() => undefined);
      last = last.then(async () => write(at, vm, event, await owner));
    },
    settled: () => last,
  };
}

/** `old → new` where both are small; of everything else it is only said that it changed. */
function values(old: SmallValue, now: SmallValue): string {
  return old === undefined || now === undefined ? 'changed' : `${shown(old)} → ${shown(now)}`;
}

function shown(value: string | null): string {
  return value === null ? '(unset)' : value === '' ? '""' : value;
}
