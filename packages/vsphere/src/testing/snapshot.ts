import { refKey } from '../soap/soap.ts';
import { type InventoryState, pathOf } from './inventory.ts';

/** A machine, as plain data that `assert.deepEqual` compares well. */
export interface MachineSnapshot {
  readonly ref: string;
  readonly name: string;
  /** Inventory path of its folder. */
  readonly folder: string;
  readonly instanceUuid: string;
  readonly isTemplate: boolean;
  readonly powerState: string;
  readonly productVersion: string | undefined;
  readonly secureBoot: boolean;
  readonly annotation: string;
  readonly extraConfig: Readonly<Record<string, string>>;
  readonly customValues: Readonly<Record<string, string>>;
  readonly tags: readonly string[];
  /** False for what an import left half-made: not every file arrived, or nobody completed the lease. */
  readonly complete: boolean;
  readonly tasks: readonly string[];
  readonly disks: readonly string[];
}

/** The whole inventory at one instant. */
export interface InventorySnapshot {
  readonly machines: readonly MachineSnapshot[];
  readonly leases: readonly {
    readonly id: string;
    readonly vm: string;
    readonly state: string;
    readonly client: string;
  }[];
  /** Machines whose disk lost a parent: somebody destroyed what they were linked to. */
  readonly broken: readonly string[];
}

/** Copies the state. */
export function snapshotOf(state: InventoryState): InventorySnapshot {
  const machines = [...state.machines.values()];
  const files = new Set(machines.flatMap((machine) => machine.disks.map((disk) => disk.file)));
  return {
    machines: machines.map((machine) => ({
      ref: refKey(machine.ref),
      name: machine.name,
      folder: pathOf(state, machine.folder),
      instanceUuid: machine.instanceUuid,
      isTemplate: machine.isTemplate,
      powerState: machine.powerState,
      productVersion: machine.productVersion,
      secureBoot: machine.secureBoot,
      annotation: machine.annotation,
      extraConfig: Object.fromEntries(machine.extraConfig),
      customValues: Object.fromEntries(
        [...machine.customValues].map(([key, value]) => [state.customFields[key] ?? `${key}`, value]),
      ),
      tags: [...machine.tags],
      complete: machine.complete,
      tasks: machine.tasks.map((task) => task.descriptionId),
      disks: machine.disks.map((disk) => disk.file),
    })),
    leases: [...state.leases.values()].map(({ id, vm, state: at, client }) => ({ id, vm, state: at, client })),
    broken: machines
      .filter((machine) => machine.disks.some((disk) => disk.parents.some((parent) => !files.has(parent))))
      .map((machine) => machine.name),
  };
}
