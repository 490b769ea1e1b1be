/**
 * A vCenter on the wire: SOAP, REST and uploads over TLS, for whoever starts one in a process of its own. The inventory is that of the in-memory
 * vCenter (`inventory.ts`); `vcenter-world.ts` shows it as objects with properties, and `vcenter-server.ts` answers calls.
 */
export {
  datacenterOf,
  datastoresNamed,
  type InventoryState,
  initialState,
  keyRef,
  type Machine,
  type MemoryOptions,
  pathOf,
} from '../inventory.ts';
export { clone, destroy, giveName, markTemplate, takeSnapshot, unmarkTemplate } from './machine-methods.ts';
export { createMachine, type MachinePlace, placeMachine } from './machine-spec.ts';
export { atPath, defineField, setCustomValue } from './manager-methods.ts';
export { makePlace, moveInto, setMaintenance } from './place-methods.ts';
export { childrenOf } from './place-queries.ts';
export { ROOT } from './root-folder.ts';
export type { ServerSession } from './server-session.ts';
export { checkMethod } from './soap-methods.ts';
export { faultXml, notAuthenticated, Refusal } from './soap-refusal.ts';
export { attachedTo, ensureTag, removeTag, setTag } from './tag-inventory.ts';
export { enveloped } from './update-page.ts';
export { startVCenterServer, type VCenterServer, type VCenterServerOptions } from './vcenter-server.ts';
export {
  asRefusal,
  type NameEvent,
  type ServerBehaviour,
  type TaskRecord,
  type VCenterWorld,
} from './vcenter-world.ts';
export { specXml } from './vim-values.ts';
export {
  faultAnswer,
  type Interceptor,
  resetConnection,
  soapAnswer,
  type TransferInterceptor,
  type WireAnswer,
  type WireCall,
} from './wire-call.ts';
