import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Normal } from './conversation-player.ts';

/** One answer a line, so that a change of one answer is a change of one line. */
const FILE = join(import.meta.dirname, 'recorded-answers.jsonl');

type Answers = Readonly<Record<string, readonly Normal[]>>;

/** The real server's answers by conversation; `recording/record-conversations.ts` writes them. */
export function recordedAnswers(): Answers {
  const answers: Record<string, Normal[]> = {};
  for (const line of readFileSync(FILE, 'utf8').split('\n')) {
    if (line === '') continue;
    const [name, answer] = JSON.parse(line) as [string, Normal];
    answers[name] ??= [];
    answers[name].push(answer);
  }
  return answers;
}

/** Writes the answers, and returns where. */
export function writeRecordedAnswers(answers: Answers): string {
  const lines = Object.entries(answers).flatMap(([name, list]) => list.map((one) => JSON.stringify([name, one])));
  writeFileSync(FILE, `${lines.join('\n')}\n`);
  return FILE;
}
