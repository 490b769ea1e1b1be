import { existsSync, statSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { root, textOf } from './blocks.ts';

/** A link of a page. */
export interface Link {
  readonly file: string;
  readonly target: string;
}

/** What stands outside of code. */
function prose(text: string): string {
  return text
    .replaceAll(/^ *```[\s\S]*?^ *```$/gm, '')
    .replaceAll(/`[^`\n]*`/g, (code) => code.replaceAll(/[[\]()]/g, ' '));
}

/** Links and pictures of a text, in its order. */
export function linksOf(file: string, text: string): readonly Link[] {
  const inline = [...prose(text).matchAll(/\]\(([^()\s]+)\)/g)].map(([, target = '']) => ({ file, target }));
  const html = [...prose(text).matchAll(/\b(?:src|srcset|href)="([^"]+)"/g)].map(([, target = '']) => ({
    file,
    target,
  }));
  return [...inline, ...html];
}

/** The anchors of a text, as code hosts make them of headings: in lower case, without punctuation, hyphens for spaces, a number behind what comes again. */
export function anchorsOf(text: string): ReadonlySet<string> {
  const seen = new Map<string, number>();
  const anchors = new Set<string>();
  for (const [, heading = ''] of text.replaceAll(/^ *```[\s\S]*?^ *```$/gm, '').matchAll(/^#{1,6} +(.+?) *#*$/gm)) {
    const plain = heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').replaceAll('`', '');
    const slug = plain
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .trim()
      .replaceAll(/\s/g, '-');
    const times = seen.get(slug) ?? 0;
    seen.set(slug, times + 1);
    anchors.add(times === 0 ? slug : `${slug}-${times}`);
  }
  return anchors;
}

/** Why a link leads nowhere: a file or an anchor that there is not. Of addresses elsewhere only the form is looked at. */
export function deadEnd({ file, target }: Link): string | undefined {
  if (/^[a-z]+:/.test(target)) {
    if (!URL.canParse(target)) return `${target} is no address`;
    return target.startsWith('https://') ? undefined : `${target} does not begin with https://`;
  }
  const [path = '', anchor] = target.split('#');
  const to = path === '' ? file : normalize(join(dirname(file), path));
  if (to.startsWith('..') || !existsSync(join(root, to))) return `there is no ${to}`;
  if (anchor === undefined || statSync(join(root, to)).isDirectory() || !to.endsWith('.md')) return undefined;
  return anchorsOf(textOf(to)).has(anchor) ? undefined : `${to} has no heading #${anchor}`;
}
