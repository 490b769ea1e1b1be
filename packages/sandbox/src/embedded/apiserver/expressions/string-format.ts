import { EvaluationError } from './expression-errors.ts';
import { Dictionary, display, List, typeName, Unsigned, type Value } from './expression-values.ts';

/** Replaces `%s`, `%d`, `%f`, `%e`, `%b`, `%x`, `%X` and `%o`, with precision, by values. Throws `EvaluationError`. */
export function formatted(text: string, values: readonly Value[]): string {
  let next = 0;
  return text.replaceAll(
    /%(%|(?:\.(\d+))?([sdfebxXo]))/g,
    (_all, sign: string, digits: string | undefined, verb: string) => {
      if (sign === '%') return '%';
      const value = values[next];
      if (value === undefined) throw new EvaluationError(`index ${next} out of range`);
      next += 1;
      const replacement = formattedValue(value, verb, Number(digits ?? 6));
      if (replacement !== undefined) return replacement;
      throw new EvaluationError(`error during formatting: unsupported ${typeName(value)} for %${verb}`);
    },
  );
}

/** A string inside of a list or a map is quoted. */
function literal(value: Value, inside: boolean): string {
  if (typeof value === 'string') return inside ? JSON.stringify(value) : value;
  if (value instanceof List) return `[${value.items.map((one) => literal(one, true)).join(', ')}]`;
  if (value instanceof Dictionary) {
    const entries = value.keys.map((key) => `${literal(key, true)}:${literal(value.get(key) ?? null, true)}`);
    return `{${entries.sort().join(', ')}}`;
  }
  return display(value);
}

/** Undefined for a value that the verb does not take. */
function formattedValue(value: Value, verb: string, digits: number): string | undefined {
  const number = value instanceof Unsigned ? value.value : value;
  const integer = typeof number === 'bigint' ? number : undefined;
  const double = typeof number === 'number' || typeof number === 'bigint' ? Number(number) : undefined;
  switch (verb) {
    case 's':
      return literal(value, false);
    case 'd':
      return (integer ?? double)?.toString();
    case 'f':
      return double?.toFixed(digits);
    case 'e':
      return double?.toExponential(digits).replace(/e([-+])(\d)$/, 'e$10$2');
    case 'b':
      return typeof value === 'boolean' ? String(Number(value)) : integer?.toString(2);
    case 'o':
      return integer?.toString(8);
    default: {
      const bytes = typeof value === 'string' ? Buffer.from(value) : value;
      const hex = bytes instanceof Uint8Array ? Buffer.from(bytes).toString('hex') : undefined;
      const lower = integer?.toString(16) ?? hex;
      return verb === 'X' ? lower?.toUpperCase() : lower;
    }
  }
}
