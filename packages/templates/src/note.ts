import type { TemplateWish } from './wish.ts';

/** Most characters of each name in the note. */
const MOST_NAME = 256;

/**
 * What a person reads of a template of ours in vCenter: whose it is, and where to ask. It proves nothing, is read by no program, and clones repeat it, which is why it says so.
 */
export function noteOf(
  { cluster, tagName, image }: Pick<TemplateWish, 'cluster' | 'tagName' | 'image'>,
  name: string,
): string {
  const [whose, release, named] = [cluster, image.release, name].map(plain);
  const owner = tagName === undefined ? `${whose}` : `cluster ${plain(tagName)} (${whose})`;
  return [
    `Boot image template ${named}, release ${release}, of ${owner}. It is kept by Drydock: please do not rename, move, run or delete it.`,
    'Who uses it and what comes next: drydock explain, in its cluster; drydock template list, without one.',
    `A machine that bears this note under another name is a clone of it.`,
  ].join('\n');
}

/** Without what no XML carries, and no person reads. */
function plain(text: string): string {
  return text.slice(0, MOST_NAME).replaceAll(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\ufffe\uffff]/gu, ' ');
}
