export { type CrashModel, type CrashState, type CrashStates, crashStates, diskText } from './crash-states.ts';
export {
  type Content,
  type CrashReport,
  type CrashScenario,
  contentOf,
  exploreCrashes,
  inodeAt,
  type Told,
  withoutEachSync,
} from './explore-crashes.ts';
export { type Effect, type Image, type Inode, type MemoryFs, type MemoryFsOptions, memoryFs } from './memory-fs.ts';
export { type Protocol, protocols } from './protocols.ts';
