import { apiReference } from './api-reference.ts';
import { messages } from './messages.ts';

/** The pages of the book that are written from sources, by their path. */
export function bookPages(): ReadonlyMap<string, string> {
  return new Map([
    ['docs/api.md', apiReference()],
    ['docs/messages.md', messages()],
  ]);
}
