export { type TestDescriptor, testDescriptor } from './descriptor.ts';
export { header, member, type TestOva, type TestOvaSpec, writeTestOva } from './ova.ts';
