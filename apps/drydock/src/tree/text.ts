import { styleText } from 'node:util';
import { oneLine } from '@drydock/api/text';
import type { ClusterTree, TreePolicy, TreeSet } from '@drydock/boot-images';
import { age } from '../table.ts';
import { type Folded, foldedTree, type Twig } from './folding.ts';

/** Options of {@link treeText}. */
export interface TreeTextOptions {
  readonly now: number;
  /** Fold nothing. */
  readonly all: boolean;
  /** Columns of the terminal; undefined: lines are not broken. */
  readonly width: number | undefined;
}

/** Names that a folded line gives before it counts. */
const MOST_NAMED = 5;
/** A line has at least so many columns for its words, however deep it stands. */
const LEAST = 24;

/** A tree for people: what is fine in one line each, what is not with its reason and the next step. Colours only on a terminal that wants them. */
export function treeText(tree: ClusterTree, options: TreeTextOptions): string {
  const lines: string[] = [];
  const draw = ({ title, folded, below }: Twig, own: string, rest: string): void => {
    const stem = `${rest}${below.length > 0 ? '│ ' : '  '}`;
    lines.push(...wrapped(own, stem, headOf(title, folded, options), options.width));
    if (folded !== undefined)
      for (const more of detailsOf(folded))
        lines.push(...wrapped(`${stem}  `, `${stem}    `, { plain: more }, options.width));
    for (const [index, one] of below.entries()) {
      const last = index === below.length - 1;
      draw(one, `${rest}${last ? '└─ ' : '├─ '}`, `${rest}${last ? '   ' : '│  '}`);
    }
  };
  for (const cluster of foldedTree(tree, options)) draw(cluster, '', '');
  for (const text of policyTexts(tree.policies)) lines.push(...wrapped('', '  ', { plain: text }, options.width));
  return lines.map((line) => `${line}\n`).join('');
}

interface Head {
  readonly plain: string;
  readonly mark?: Mark;
}

const MARKS = { fine: ['✔', 'green'], stuck: ['✖', 'red'], other: ['•', 'yellow'] } as const;
type Mark = keyof typeof MARKS;

function headOf(title: string, folded: Folded | undefined, { now }: TreeTextOptions): Head {
  const name = oneLine(title);
  const [first, ...others] = folded?.sets ?? [];
  if (first === undefined) return { plain: name };
  const before = name === '' ? '' : `${name}: `;
  const { phase = 'Pending', progress = '-', since } = first.status;
  const stuck = phase === 'Blocked' || phase === 'Failed';
  const mark = first.fine ? 'fine' : stuck ? 'stuck' : 'other';
  const cell = progress === '-' ? '' : progress;
  if (others.length === 0) {
    const words = [first.set, phase, age(since, now), cell].filter((word) => word !== '').join('  ');
    return { plain: `${before}${oneLine(words)}`, mark };
  }
  const count = `${before}${others.length + 1} sets ${phase}`;
  if (first.fine) return { plain: count, mark };
  return { plain: `${count}  ${oneLine(cell)}: ${names([first, ...others])}`, mark };
}

function names(sets: readonly TreeSet[]): string {
  const shown = sets.slice(0, MOST_NAMED).map(({ set }) => oneLine(set));
  const more = sets.length - shown.length;
  return `${shown.join(', ')}${more > 0 ? ` and ${more} more (--all)` : ''}`;
}

/** What else there is to say: of equal sets it is said of the first. */
function detailsOf({ sets: [first] }: Folded): readonly string[] {
  if (first === undefined || first.fine) return [];
  const { status, policy, canary } = first;
  const { message, nextStep, revertTo } = status;
  const tried =
    canary === undefined
      ? undefined
      : `canary: ${canary.machine ?? ''} ${canary.verdict === undefined ? 'is tried' : canary.verdict.toLowerCase()}${canary.message === undefined ? '' : `: ${canary.message}`}`;
  return [
    message,
    // What failed is in the message already.
    status.reason === 'CanaryFailed' ? undefined : tried,
    policy === undefined ? undefined : `policy: ${policy}`,
    revertTo === undefined || status.phase === 'Skipped' ? undefined : `back: ${revertTo}`,
    nextStep === undefined ? undefined : `next: ${nextStep}`,
  ].flatMap((text) => (text === undefined ? [] : [oneLine(text)]));
}

/** Those that are followed by their names, each of the others with what it says of itself. */
function policyTexts(policies: readonly TreePolicy[]): readonly string[] {
  const followed = policies.filter(({ accepted }) => accepted === true);
  const refused = policies.filter(({ accepted }) => accepted !== true);
  const selected = (one: TreePolicy): string => `${one.name} (${one.selected ?? 0})`;
  return [
    ...(followed.length === 0 ? [] : [`policies, with the number of their sets: ${followed.map(selected).join(', ')}`]),
    ...refused.map(({ name, accepted, reason, message }) =>
      accepted === undefined
        ? `policy ${name}: nobody has looked at it yet`
        : `policy ${name} is not followed: ${reason ?? ''}: ${message ?? ''}`,
    ),
  ].map(oneLine);
}

/** A text behind `own`, broken at blanks where a line is full, and inside a word only where that is longer than a line. */
function wrapped(own: string, rest: string, { plain, mark }: Head, width: number | undefined): readonly string[] {
  const [sign, colour] = mark === undefined ? ['', 'reset' as const] : MARKS[mark];
  const lead = sign === '' ? '' : `${sign} `;
  const taken = Math.max(own.length, rest.length) + lead.length;
  const room = width === undefined ? Number.POSITIVE_INFINITY : Math.max(LEAST, width - taken);
  const made: string[] = [];
  let line = '';
  for (const word of plain.split(/(?<=\S) (?=\S)/)) {
    if (line !== '' && line.length + 1 + word.length > room) {
      made.push(line);
      line = '';
    }
    let left = line === '' ? word : `${line} ${word}`;
    for (; left.length > room; left = left.slice(room)) made.push(left.slice(0, room));
    line = left;
  }
  made.push(line);
  const shown = sign === '' ? '' : `${styleText(colour, sign, { stream: process.stdout })} `;
  return made.map((text, index) =>
    `${index === 0 ? `${own}${shown}` : rest + ' '.repeat(lead.length)}${text}`.trimEnd(),
  );
}
