export {
  capabilitiesOf,
  clusterVersionCrd,
  clusterVersionManifest,
  clusterVersionObject,
  RELEASES,
  type Release,
} from './cluster-version.ts';
