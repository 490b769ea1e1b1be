export * from '../optional/virtualmachine.gen.ts';
export * from '../optional/zone.gen.ts';
export * from './bootimage.gen.ts';
export * from './config.ts';
export * from './core.ts';
export { type LargeInteger, readJson } from './json.ts';
export type { Condition, KubeObject, LabelSelector, ObjectMeta, OwnerReference, Resource } from './meta.ts';
export * from './openshift.ts';
export * from './phases.ts';
