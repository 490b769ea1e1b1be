import { ADMISSION } from './conversation-admission.ts';
import { BUILT_IN_KINDS } from './conversation-built-in.ts';
import { CUSTOM_KINDS } from './conversation-custom.ts';
import type { Conversation } from './conversation-player.ts';
import { RATCHETING } from './conversation-ratcheting.ts';
import { RIGHTS } from './conversation-rights.ts';
import { WRITES } from './conversation-writes.ts';

/** What is said to both servers; `recorded-answers.jsonl` has the real one's answers. */
export const CONVERSATIONS: readonly Conversation[] = [
  ...[BUILT_IN_KINDS, WRITES, CUSTOM_KINDS, ADMISSION, RIGHTS],
  ...RATCHETING,
];
