import { jsonText, printable } from '@drydock/api/text';
import type { TemplateProgress } from '@drydock/templates';
import { TemplateProblem } from './problem.ts';
import { type ProgressLine, progressLine } from './progress-line.ts';
import type { Sink } from './sink.ts';

/** Formats of every verb. */
export const FORMATS = ['text', 'wide', 'name', 'json'] as const;
/** See {@link FORMATS}. */
export type Format = (typeof FORMATS)[number];

/**
 * Where a verb says things. Data goes to stdout, talk to stderr; with `json` everything is an event on stdout, one object per line, and stderr stays empty
 * unless something is wrong with the program itself.
 */
export interface Output {
  readonly format: Format;
  /** Talk: what is being done, what was done. */
  note(text: string): void;
  /** Something that a person should not miss. */
  warn(text: string): void;
  /** The result in text formats. */
  data(text: string): void;
  /** The result or a step as an event; nothing in text formats. */
  event(event: string, fields: object): void;
  /** Bytes on their way, in whatever form the output has. */
  progress(progress: TemplateProgress): void;
  /** Ends a progress line, so that what follows starts on its own. */
  settle(): void;
}

/** An output over two streams. */
export function createOutput(
  format: Format,
  stdout: Sink = process.stdout,
  stderr: Sink = process.stderr,
  now: () => number = Date.now,
): Output {
  const json = format === 'json';
  const line: ProgressLine | undefined = json ? undefined : progressLine(stderr, now);
  const event = (name: string, fields: object): void => {
    if (json) stdout.write(`${jsonText({ at: new Date(now()).toISOString(), event: name, ...fields })}\n`);
  };
  const talk = (text: string): void => {
    line?.settle();
    stderr.write(`${printable(text)}\n`);
  };
  return {
    format,
    note: (text) => {
      if (!json) talk(text);
    },
    warn: (text) => {
      if (json) event('warning', { message: text });
      else talk(`warning: ${text}`);
    },
    data: (text) => {
      line?.settle();
      if (!json) stdout.write(printable(text));
    },
    event,
    progress: (progress) => {
      line?.show(progress);
      event('progress', progress);
    },
    settle: () => line?.settle(),
  };
}

/** The format that a flag names. */
export function formatOf(text: string | undefined): Format {
  if (text === undefined) return 'text';
  const format = FORMATS.find((known) => known === text);
  if (format !== undefined) return format;
  throw new TemplateProblem({
    code: 'FORMAT_UNKNOWN',
    message: `unknown output format ${text}: use one of ${FORMATS.join(', ')}`,
  });
}
