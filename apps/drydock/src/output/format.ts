import { jsonText, oneLine } from '@drydock/api/text';
import { Option } from 'commander';
import { UsageError } from '../exit.ts';
import { say, sayColumns } from '../terminal.ts';
import { yamlText } from '../yaml.ts';
import { jsonpath } from './jsonpath.ts';

const KINDS = ['table', 'wide', 'name', 'json', 'yaml'] as const;

/** How a verb prints what it found. */
export interface OutputFormat {
  readonly kind: (typeof KINDS)[number] | 'jsonpath' | 'junit' | 'html';
  /** Text for people: a table, or whatever the verb has in its place. */
  readonly people: boolean;
  /** With all columns. */
  readonly wide: boolean;
  /** Of a jsonpath: the text for a value. */
  readonly apply?: (value: unknown) => string;
}

/** What a verb has: names of objects or not, and what it prints unless told otherwise. */
export interface OutputOptions {
  readonly names?: boolean;
  readonly initial?: 'table' | 'yaml';
  /** Forms that it alone has, and makes itself. */
  readonly more?: readonly ('junit' | 'html')[];
}

/** The flag `-o`, alike for every verb that prints objects. */
export function outputOption(options: OutputOptions = {}): Option {
  const { initial = 'table' } = options;
  return new Option('-o, --output <format>', kindsOf(options).join('|'))
    .argParser((text) => outputFormat(text, options))
    .default(outputFormat(initial, options), initial);
}

function kindsOf({ names = false, more = [] }: OutputOptions): readonly string[] {
  return [...KINDS.filter((kind) => names || kind !== 'name'), ...more, 'jsonpath=TEMPLATE'];
}

/** The format that a flag names; `text` is a table. Throws `UsageError`. */
export function outputFormat(text: string, options: OutputOptions = {}): OutputFormat {
  if (text.startsWith('jsonpath='))
    return { kind: 'jsonpath', people: false, wide: false, apply: jsonpath(text.slice('jsonpath='.length)) };
  const kind = [...KINDS, ...(options.more ?? [])].find((known) => known === (text === 'text' ? 'table' : text));
  if (kind === undefined || !kindsOf(options).includes(kind))
    throw new UsageError(`unknown output format ${text}: use one of ${kindsOf(options).join(', ')}`);
  return { kind, people: kind === 'table' || kind === 'wide', wide: kind === 'wide' };
}

/** The text of a value in a format; `text` is that for people, and `names` those that kubectl takes. */
export function formatted(
  format: OutputFormat,
  value: unknown,
  text: () => string,
  names: () => readonly string[] = () => [],
): string {
  switch (format.kind) {
    case 'json':
      return `${jsonText(value, 2)}\n`;
    case 'yaml':
      return yamlText(value);
    case 'name':
      return names()
        .map((name) => `${oneLine(name)}\n`)
        .join('');
    case 'jsonpath':
      return format.apply?.(JSON.parse(JSON.stringify(value))) ?? '';
    default:
      return text();
  }
}

/** Prints it. */
export function print(...[format, ...given]: Parameters<typeof formatted>): void {
  sayAs(format, formatted(format, ...given));
}

/** Prints what {@link formatted} made. */
export function sayAs({ kind }: OutputFormat, text: string): void {
  // Columns of a template are apart by tabs.
  if (kind === 'jsonpath') sayColumns(text);
  else say(text);
}
