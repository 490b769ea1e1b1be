import { styleText } from 'node:util';
import type { BootImageStatus } from '@drydock/api';
import { oneLine } from '@drydock/api/text';
import type { ExplainedAnswer, ExplainedQuestion, Explanation, LeafEdit } from '@drydock/boot-images';
import { type Leadership, leadershipText } from '../leadership.ts';
import { age } from '../table.ts';
import { type Explained, isStuck } from './explained.ts';

const MARKS = { yes: ['yes', 'green'], no: ['NO', 'red'], unknown: ['?', 'yellow'] } as const;
const STEPS: Readonly<Record<Explanation['step'], string>> = {
  none: 'nothing to do',
  switch: 'the set is pointed at another image',
  publish: 'an image is made',
  skip: 'left alone',
  wait: 'waits',
  blocked: 'blocked',
  failed: 'failed',
  unknown: 'cannot be told',
};
const WIDTH = 'reflected'.length;
/** What is asked about the cluster, not about a set. */
const OF_CLUSTER: ReadonlySet<ExplainedQuestion> = new Set(['upstream', 'reflected', 'stable', 'release']);

/** The sets as paragraphs, before them what is the same for all; colours only on a terminal. */
export function explainedText(all: readonly Explained[], leader: Leadership, now: number): string {
  const [first] = all;
  if (first === undefined) return '';
  const shared = sharedOf(all);
  const cluster = first.answers.filter(({ question }) => shared.has(question));
  const led = { led: 'yes', vacant: 'no', never: 'no', unread: 'unknown' } as const;
  const [word, colour] = MARKS[led[leader.state]];
  const leads = line(word, 'led', leadershipText(leader, 'boot images', now), colour);
  return [`${paragraph('cluster', cluster)}${leads}`, ...all.map((one) => setText(one, shared, leader, now))].join(
    '\n',
  );
}

/** What is asked about the cluster and is answered alike for all sets. */
function sharedOf(all: readonly Explained[]): ReadonlySet<ExplainedQuestion> {
  const textOf = ({ answers }: Explained, of: ExplainedQuestion): string | undefined =>
    answers.find(({ question }) => question === of)?.text;
  const [first] = all;
  return new Set([...OF_CLUSTER].filter((of) => first && all.every((one) => textOf(one, of) === textOf(first, of))));
}

function setText(
  explained: Explained,
  shared: ReadonlySet<ExplainedQuestion>,
  leader: Leadership,
  now: number,
): string {
  const { set, answers, step, why, edits = [], operator } = explained;
  const acting = step === 'switch' || step === 'publish';
  const tried = acting && isStuck(explained) ? ', but it was tried and failed' : '';
  const nextStep = explained.nextStep ?? (tried === '' ? undefined : operator?.nextStep);
  const own = answers.filter(({ question }) => !shared.has(question));
  return [
    paragraph(`${set}: ${STEPS[step]}${tried}`, own),
    line('→', 'so', why),
    ...edits.map(({ path, from, to }) =>
      line('', '', `${path.join('.')}: ${from === undefined ? '(absent)' : valueText(from)} → ${valueText(to)}`),
    ),
    ...(nextStep === undefined ? [] : [line('', 'next', nextStep)]),
    line('', 'operator', operatorText(operator, leader, now)),
  ].join('');
}

function valueText(value: LeafEdit['to']): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function paragraph(title: string, answers: readonly ExplainedAnswer[]): string {
  const lines = answers.map(({ question, answer, text }) => {
    const [word, colour] = MARKS[answer];
    return line(word, question, text, colour);
  });
  return `${oneLine(title)}\n${lines.join('')}`;
}

function line(
  mark: string,
  name: string,
  text: string,
  colour: 'green' | 'red' | 'yellow' | 'reset' = 'reset',
): string {
  const shown = styleText(colour, mark.padEnd(3), { stream: process.stdout });
  return `  ${shown}  ${name.padEnd(WIDTH)}  ${oneLine(text)}\n`;
}

function operatorText(status: BootImageStatus | undefined, leader: Leadership, now: number): string {
  if (status === undefined) return 'has said nothing of it: there is no BootImage';
  const { phase, since, message = '' } = status;
  if (phase === undefined) return message;
  const says = leader.state === 'led' || leader.state === 'unread' ? 'says' : 'said, when one led,';
  return `${says} ${phase} since ${age(since, now)}: ${message}`;
}
