/** One line of the Prometheus text format. */
export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** Reads the Prometheus text format, version 0.0.4. Lines that are none of it are passed over. */
export function samplesOf(text: string): readonly Sample[] {
  const samples: Sample[] = [];
  for (const line of text.split('\n')) {
    const [, name = '', labels = '', value = ''] = /^([\w:]+)(?:\{(.*)\})? (\S+)/.exec(line) ?? [];
    if (name === '') continue;
    samples.push({ name, labels: labelsOf(labels), value: Number(value) });
  }
  return samples;
}

function labelsOf(text: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    [...text.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, name = '', value = '']) => [name, unescaped(value)]),
  );
}

function unescaped(value: string): string {
  return value.replaceAll(/\\(.)/g, (_, char: string) => (char === 'n' ? '\n' : char));
}
