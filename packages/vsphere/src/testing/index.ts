export { refKey } from '../soap/soap.ts';
export { simulatedFault, simulatedLoss } from './fault.ts';
export type { ForeignMachine } from './foreign.ts';
export {
  type CallContext,
  type CallHook,
  type CallPhase,
  ClientKilled,
  type MemoryClient,
  MUTATING_CALLS,
} from './hooks.ts';
export type { InventoryState, MemoryHost, MemoryOptions } from './inventory.ts';
export type { CloneRequest } from './machines.ts';
export { type MemoryCounters, type MemoryInventory, memoryInventory, memoryVCenter } from './memory.ts';
export { type OvfText, ovfText } from './ovf.ts';
export { type ScenarioPlaces, VCENTER_SCENARIOS, type VCenterScenario } from './scenarios.ts';
export type { InventorySnapshot, MachineSnapshot } from './snapshot.ts';
export * from './synthetic/index.ts';
