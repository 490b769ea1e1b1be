import { jsonText } from '@drydock/api/text';
import { UsageError } from '../exit.ts';
import { say } from '../terminal.ts';
import { yamlText } from '../yaml.ts';

const FORMATS = ['table', 'wide', 'json', 'yaml'] as const;
/** How a verdict is printed. */
export type CrdFormat = (typeof FORMATS)[number];

/** The format that a flag names. Throws `UsageError`. */
export function formatOf(name: string): CrdFormat {
  const format = FORMATS.find((known) => known === name);
  if (format === undefined) throw new UsageError(`unknown output format ${name}: use one of ${FORMATS.join(', ')}`);
  return format;
}

/** Prints a value for machines, or a text for people. */
export function print(format: CrdFormat, value: unknown, text: () => string): void {
  if (format === 'json') say(`${jsonText(value, 2)}\n`);
  else if (format === 'yaml') say(yamlText(value));
  else say(text());
}

/** `1 place`, `2 places`. */
export function count(of: number, noun: string): string {
  return `${of} ${noun}${of === 1 ? '' : 's'}`;
}
