import { styleText } from 'node:util';

/** Where the demo says things. */
export interface Telling {
  /** The heading of a chapter. */
  chapter(title: string): void;
  /** A numbered step. */
  step(text: string): void;
  /** Indented under its step, whatever number of lines it has. */
  say(text: string): void;
  /** As it is, at the margin. */
  plain(text: string): void;
}

/** Tells on stdout; headings are bold on a terminal. */
export function telling(write: (text: string) => void = (text) => void process.stdout.write(text)): Telling {
  let steps = 0;
  return {
    chapter: (title) => write(`\n${styleText('bold', title, { stream: process.stdout })}\n`),
    step: (text) => {
      steps += 1;
      write(`${steps}. ${text}\n`);
    },
    say: (text) => write(indented(text)),
    plain: (text) => write(`${text}\n`),
  };
}

function indented(text: string): string {
  return text
    .replace(/\n$/, '')
    .split('\n')
    .map((line) => (line === '' ? '\n' : `   ${line}\n`))
    .join('');
}
