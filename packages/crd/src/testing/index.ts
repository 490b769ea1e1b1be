export {
  capabilitiesOf,
  clusterVersionCrd,
  clusterVersionManifest,
  clusterVersionObject,
  RELEASES,
  type Release,
} from './cluster-version.ts';
export { crdOfVersions, type VersionOf } from './crd-of.ts';
export { type MemoryStore, memoryStore } from './memory-store.ts';
export { narrowed } from './narrowed.ts';
