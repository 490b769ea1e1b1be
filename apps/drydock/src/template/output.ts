import { jsonText, oneLine, printable } from '@drydock/api/text';
import type { TemplateProgress } from '@drydock/templates';
import { formatted, type OutputFormat, outputFormat } from '../output/format.ts';
import { yamlText } from '../yaml.ts';
import { type ProgressLine, progressLine, type Sink } from './progress-line.ts';

/**
 * Where a verb says things. Data goes to stdout, talk to stderr; for programs everything is an event on stdout, with `json` one object per line, with `yaml` a document each, and stderr stays
 * empty unless something is wrong with the program itself.
 */
export interface Output {
  readonly format: OutputFormat;
  /** Talk: what is being done, what was done. */
  note(text: string): void;
  /** Something that a person should not miss. */
  warn(text: string): void;
  /** The result in text formats. */
  data(text: string): void;
  /** A result with a row for each name: the names alone where only they are wanted. */
  list(names: readonly string[], text: (wide: boolean) => string): void;
  /** The result or a step as an event; nothing in text formats. */
  event(event: string, fields: object): void;
  /** Bytes on their way, in whatever form the output has. */
  progress(progress: TemplateProgress): void;
  /** Ends a progress line, so that what follows starts on its own. */
  settle(): void;
}

/** An output over two streams. */
export function createOutput(
  format: OutputFormat,
  stdout: Sink = process.stdout,
  stderr: Sink = process.stderr,
  now: () => number = Date.now,
): Output {
  const streams = !format.people && format.kind !== 'name';
  const line: ProgressLine | undefined = streams ? undefined : progressLine(stderr, now);
  const event = (name: string, fields: object): void => {
    if (streams) stdout.write(eventText(format, { at: new Date(now()).toISOString(), event: name, ...fields }));
  };
  const talk = (text: string): void => {
    line?.settle();
    stderr.write(`${printable(text)}\n`);
  };
  const data = (text: string): void => {
    line?.settle();
    if (!streams) stdout.write(printable(text));
  };
  return {
    format,
    note: (text) => {
      if (!streams) talk(text);
    },
    warn: (text) => {
      if (streams) event('warning', { message: text });
      else talk(`warning: ${oneLine(text)}`);
    },
    data,
    list: (names, text) =>
      data(format.kind === 'name' ? names.map((name) => `${oneLine(name)}\n`).join('') : text(format.wide)),
    event,
    progress: (progress) => {
      line?.show(progress);
      event('progress', progress);
    },
    settle: () => line?.settle(),
  };
}

/** The format that a flag names. Throws `UsageError`. */
export function formatOf(text = 'table'): OutputFormat {
  return outputFormat(text, { names: true });
}

function eventText(format: OutputFormat, event: object): string {
  if (format.kind === 'json') return `${jsonText(event)}\n`;
  if (format.kind === 'yaml') return `---\n${yamlText(event)}`;
  return printable(formatted(format, event, () => ''));
}
