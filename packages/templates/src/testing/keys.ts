import { keysOfText, type MarkKeys } from '../mark/keys.ts';

/** A key as an installation makes one; every test process has the same. */
export const TEST_KEYS: MarkKeys = keysOfText(`test:${'0123456789abcdef'.repeat(4)}`).keys;
