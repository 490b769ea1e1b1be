import { styleText } from 'node:util';

/** Where the demo says things. Disposal ends the lines that only say that it goes on. */
export interface Telling extends Disposable {
  /** The heading of a chapter. */
  chapter(title: string): void;
  /** A numbered step. */
  step(text: string): void;
  /** Indented under its step, whatever number of lines it has. */
  say(text: string): void;
  /** As it is, at the margin. */
  plain(text: string): void;
  /** Progress as it is, control characters included. */
  progress(text: string): void;
}

/** ms after which a step that has said nothing says how long it takes already: a reader waits 5 s before wondering. */
const SILENT_MS = 3_500;
const LOOK_MS = 1_000;

/** Tells on stdout; headings are bold on a terminal. */
export function telling(write: (text: string) => void = (text) => void process.stdout.write(text)): Telling {
  let steps = 0;
  let began = Date.now();
  let last = began;
  const put = (text: string): void => {
    last = Date.now();
    write(text);
  };
  const timer = setInterval(() => {
    if (Date.now() - last >= SILENT_MS) put(`   … ${Math.round((Date.now() - began) / 1_000)} s\n`);
  }, LOOK_MS).unref();
  return {
    chapter: (title) => put(`\n${styleText('bold', title, { stream: process.stdout })}\n`),
    step: (text) => {
      steps += 1;
      began = Date.now();
      put(`${steps}. ${text}\n`);
    },
    say: (text) => put(indented(text)),
    plain: (text) => put(`${text}\n`),
    progress: put,
    [Symbol.dispose]: () => clearInterval(timer),
  };
}

function indented(text: string): string {
  return text
    .replace(/\n$/, '')
    .split('\n')
    .map((line) => (line === '' ? '\n' : `   ${line}\n`))
    .join('');
}
