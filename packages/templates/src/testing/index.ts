export { recordCalls, withoutRef } from './call-recorder.ts';
export { TEST_KEYS } from './keys.ts';
export { memoryLedger, testUptime } from './memory-ledger.ts';
export { header, member, type TestOva, type TestOvaSpec, writeTestOva } from './ova.ts';
export { type MemoryOvaSpec, memoryOva, testPlacement, testWish } from './wishes.ts';
