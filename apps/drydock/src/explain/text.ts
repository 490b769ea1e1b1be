import { styleText } from 'node:util';
import type { BootImageStatus } from '@drydock/api';
import type { ExplainedAnswer, ExplainedQuestion, Explanation } from '@drydock/boot-images';
import { age, oneLine } from '../table.ts';
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
export function explainedText(all: readonly Explained[], now: number): string {
  const [first] = all;
  if (first === undefined) return '';
  const cluster = first.answers.filter(({ question }) => OF_CLUSTER.has(question));
  return [paragraph('cluster', cluster), ...all.map((one) => setText(one, now))].join('\n');
}

function setText(explained: Explained, now: number): string {
  const { set, answers, step, why, edits = [], operator } = explained;
  const acting = step === 'switch' || step === 'publish';
  const tried = acting && isStuck(explained) ? ', but it was tried and failed' : '';
  const nextStep = explained.nextStep ?? (tried === '' ? undefined : operator?.nextStep);
  const own = answers.filter(({ question }) => !OF_CLUSTER.has(question));
  return [
    paragraph(`${set}: ${STEPS[step]}${tried}`, own),
    line('→', 'so', why),
    ...edits.map(({ path, from, to }) => line('', '', `${path.join('.')}: ${from ?? '(absent)'} → ${to}`)),
    ...(nextStep === undefined ? [] : [line('', 'next', nextStep)]),
    line('', 'operator', operatorText(operator, now)),
  ].join('');
}

function paragraph(title: string, answers: readonly ExplainedAnswer[]): string {
  const lines = answers.map(({ question, answer, text }) => {
    const [word, colour] = MARKS[answer];
    return line(word, question, text, colour);
  });
  return `${title}\n${lines.join('')}`;
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

function operatorText(status: BootImageStatus | undefined, now: number): string {
  if (status === undefined) return 'has said nothing of it: there is no BootImage';
  const { phase, since, message = '' } = status;
  return phase === undefined ? message : `says ${phase} since ${age(since, now)}: ${message}`;
}
