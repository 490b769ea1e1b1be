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
export { extraConfig, FULL, guest, NUMBER, type Profile, SMALL } from './server/machine-profiles.ts';
export { type Misbehaviour, Misbehaviours } from './server/misbehaviour.ts';
export type { ObjectIndex, ProfileMachine } from './server/object-index.ts';
export { switchPower } from './server/profile-power.ts';
export { type SyntheticVCenter, startSyntheticVCenter } from './server/synthetic-vcenter.ts';
export type { ServerObjects } from './server/vcenter-server.ts';
export { devicesVal, optionsVal, refVal, textVal, type Val } from './server/vim-values.ts';
export type { InventorySnapshot, MachineSnapshot } from './snapshot.ts';
