import { printable } from '@drydock/api/text';

/**
 * Where every command says what it has to say: whatever a name, a message or a note of somebody else holds, nothing but lines and the colours of our own reaches
 * a terminal. Texts for one line or one cell are put on one line before (`oneLine`), so that none forges a line either.
 */
export function say(text: string): void {
  process.stdout.write(printable(text));
}

/** Lines whose columns are apart by tabs: these stay. */
export function sayColumns(text: string): void {
  process.stdout.write(text.split('\t').map(printable).join('\t'));
}

/** Talk beside the data: on stderr. */
export function tell(text: string): void {
  process.stderr.write(printable(text));
}

/** One line of it, whatever the text is: an error of somebody else forges no line of ours. */
export function sayError(text: string): void {
  tell(`${printable(text).replaceAll(/\n\s*/g, ' ').trimEnd()}\n`);
}

/** Text in place of all that stands on the terminal. */
export function redraw(text: string): void {
  const [home, toEndOfLine, toEnd] = ['H', 'K', 'J'].map((code) => `${String.fromCharCode(27)}[${code}`);
  process.stdout.write(`${home}${printable(text).replaceAll('\n', `${toEndOfLine}\n`)}${toEnd}`);
}
