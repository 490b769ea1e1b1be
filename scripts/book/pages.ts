import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../command.ts';
import { releasedVersion, upgradeNotes, upgradeNow, withNotes } from '../upgrade.ts';
import { apiReference } from './api-reference.ts';
import { messages } from './messages.ts';
import { withDifferences } from './release-differences.ts';
import { variablesPage } from './variables.ts';

/** The pages of the book that are written from sources, whole or in part, by their path. */
export function bookPages(): ReadonlyMap<string, string> {
  const [upgrade, comparison] = ['docs/upgrade.md', 'docs/comparison.md'];
  return new Map([
    ['docs/api.md', apiReference()],
    ['docs/messages.md', messages()],
    ['docs/variables.md', variablesPage()],
    [comparison, withDifferences(readFileSync(join(root, comparison), 'utf8'))],
    [upgrade, withNotes(readFileSync(join(root, upgrade), 'utf8'), upgradeNotes(releasedVersion(), upgradeNow()))],
  ]);
}
