export { type AuditedCall, type AuditTrail, auditTrail } from '../rehearse/audit.ts';
export { type ApplyCluster, applyOn, applyWatched, widgetDefinition, wishOf } from './apply-cluster.ts';
export { APPLY_SCENARIOS, type ApplyScenario } from './apply-scenarios.ts';
export { applyVoyage, type Kill, type Voyage } from './apply-voyage.ts';
export { type LayerEntry, type TestImage, testImage } from './image.ts';
export { signedBy, type TestSigner, testSigner } from './signatures.ts';
