/** One step of a path: what it finds in a value. */
type Step = (value: unknown) => readonly unknown[];

/** Finds values by a JSON path as `additionalPrinterColumns` has it: `.spec.replicas`, `.status.conditions[?(@.type=="Ready")].status`. */
export type JsonPath = (value: unknown) => readonly unknown[];

/** Compiles a path. Throws SyntaxError for what is no path of this small language. */
export function compileJsonPath(source: string): JsonPath {
  const reader = { text: source.trim().replace(/^\{(.*)\}$/s, '$1'), at: 0 };
  const steps = readSteps(reader, () => false);
  return (value) => steps.reduce<readonly unknown[]>((values, step) => values.flatMap(step), [value]);
}

interface Reader {
  readonly text: string;
  at: number;
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function field(name: string): Step {
  return (value) => (isRecord(value) && Object.hasOwn(value, name) ? [value[name]] : []);
}

const children: Step = (value) => {
  if (Array.isArray(value)) return value as readonly unknown[];
  return isRecord(value) ? Object.values(value) : [];
};

const descendants: Step = (value) => [value, ...children(value).flatMap(descendants)];

function readSteps(reader: Reader, done: (reader: Reader) => boolean): readonly Step[] {
  const steps: Step[] = [];
  while (reader.at < reader.text.length && !done(reader)) {
    const char = reader.text[reader.at];
    if (char === '[') {
      reader.at += 1;
      steps.push(readBracket(reader));
    } else if (char === '.' || char === '$' || char === '@' || steps.length === 0) {
      if (char === '$' || char === '@') {
        reader.at += 1;
        continue;
      }
      if (reader.text.startsWith('..', reader.at)) {
        steps.push(descendants);
        reader.at += 2;
      } else if (char === '.') reader.at += 1;
      const name = readName(reader);
      if (name === '*') steps.push(children);
      else if (name !== '') steps.push(field(name));
    } else throw new SyntaxError(`unexpected ${JSON.stringify(char)} in ${reader.text}`);
  }
  return steps;
}

function readName(reader: Reader): string {
  let name = '';
  while (reader.at < reader.text.length) {
    const char = reader.text[reader.at] ?? '';
    if (char === '\\') {
      name += reader.text[reader.at + 1] ?? '';
      reader.at += 2;
      continue;
    }
    if (/[.[\]()=!<>\s,]/.test(char)) break;
    name += char;
    reader.at += 1;
  }
  return name;
}

function readBracket(reader: Reader): Step {
  const { text } = reader;
  if (text.startsWith('?(', reader.at)) return readFilter(reader);
  const quote = text[reader.at];
  if (quote === "'" || quote === '"') {
    const name = readQuoted(reader);
    expect(reader, ']');
    return field(name);
  }
  const end = text.indexOf(']', reader.at);
  if (end === -1) throw new SyntaxError(`a bracket is not closed in ${text}`);
  const inside = text.slice(reader.at, end).trim();
  reader.at = end + 1;
  if (inside === '*') return children;
  if (/^-?\d+$/.test(inside)) return (value) => (Array.isArray(value) ? at(value, Number(inside)) : []);
  const [, from = '', to = ''] = /^(-?\d*):(-?\d*)$/.exec(inside) ?? [];
  if (inside.includes(':')) {
    return (value) =>
      Array.isArray(value)
        ? (value.slice(from === '' ? 0 : Number(from), to === '' ? undefined : Number(to)) as readonly unknown[])
        : [];
  }
  return field(inside);
}

function at(list: readonly unknown[], index: number): readonly unknown[] {
  const found = list.at(index);
  return found === undefined ? [] : [found];
}

function readFilter(reader: Reader): Step {
  reader.at += 2;
  const left = readOperand(reader);
  const [operator = ''] = /^\s*(==|!=|<=|>=|<|>)?\s*/.exec(reader.text.slice(reader.at)) ?? [];
  reader.at += operator.length;
  const right = operator.trim() === '' ? undefined : readOperand(reader);
  expect(reader, ')');
  expect(reader, ']');
  return (value) =>
    Array.isArray(value)
      ? (value as readonly unknown[]).filter((item) => {
          const [a] = left(item);
          if (right === undefined) return a !== undefined;
          return compare(a, right(item)[0], operator.trim());
        })
      : [];
}

function readOperand(reader: Reader): JsonPath {
  const rest = reader.text.slice(reader.at);
  const [space = ''] = /^\s*/.exec(rest) ?? [];
  reader.at += space.length;
  const char = reader.text[reader.at];
  if (char === '@' || char === '$') {
    const steps = readSteps(reader, ({ text, at: position }) => /[)=!<>\s]/.test(text[position] ?? ''));
    return (value) => steps.reduce<readonly unknown[]>((values, step) => values.flatMap(step), [value]);
  }
  if (char === "'" || char === '"') {
    const literal = readQuoted(reader);
    return () => [literal];
  }
  const [word = ''] = /^[^\s)]+/.exec(reader.text.slice(reader.at)) ?? [];
  reader.at += word.length;
  const literal = word === 'true' ? true : word === 'false' ? false : Number(word);
  return () => [literal];
}

function readQuoted(reader: Reader): string {
  const quote = reader.text[reader.at];
  let value = '';
  reader.at += 1;
  while (reader.at < reader.text.length && reader.text[reader.at] !== quote) {
    if (reader.text[reader.at] === '\\') reader.at += 1;
    value += reader.text[reader.at] ?? '';
    reader.at += 1;
  }
  reader.at += 1;
  return value;
}

function expect(reader: Reader, char: string): void {
  while (/\s/.test(reader.text[reader.at] ?? '')) reader.at += 1;
  if (reader.text[reader.at] !== char) throw new SyntaxError(`${char} is missing in ${reader.text}`);
  reader.at += 1;
}

function compare(a: unknown, b: unknown, operator: string): boolean {
  if (a === undefined || b === undefined) return false;
  if (operator === '==') return a === b;
  if (operator === '!=') return a !== b;
  const [left, right] = [a as number | string, b as number | string];
  if (operator === '<') return left < right;
  if (operator === '<=') return left <= right;
  return operator === '>' ? left > right : left >= right;
}
