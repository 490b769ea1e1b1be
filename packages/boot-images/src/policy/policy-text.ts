import { type KeptSet, setText } from '../observe/kept-set.ts';
import type { SetPolicy } from './set-policy.ts';

/** Which policy decides about a set, and what it asks for, as a sentence without its full stop. */
export function policyText(set: KeptSet, policy: SetPolicy | undefined): string {
  if (policy === undefined) return `no bootimagepolicy selects ${setText(set)}`;
  const { name, spec } = policy;
  const { priority = 0, image, publication, canary, pace, windows = [], hold, retention } = spec;
  const wishes = [
    image?.release === undefined ? undefined : `release ${image.release}`,
    image?.catalogue === undefined ? undefined : 'images of its catalogue',
    publication === undefined ? undefined : `publication by ${publication.toLowerCase()}`,
    canary?.mode === 'Machine' ? 'a canary' : undefined,
    pace === undefined ? undefined : `a pace of ${pace.setsAtATime ?? 'all'} at a time`,
    windows.length === 0 ? undefined : `windows ${windows.map(({ schedule }) => `"${schedule}"`).join(', ')}`,
    hold === undefined ? undefined : `a hold${hold.until === undefined ? '' : ` until ${hold.until}`}`,
    retention?.keep === undefined ? undefined : `${retention.keep} images as a way back`,
  ].filter((wish) => wish !== undefined);
  return `bootimagepolicy ${name} decides (priority ${priority})${wishes.length === 0 ? '' : `: ${wishes.join(', ')}`}`;
}
