/** A list or object that is being written. */
interface Level {
  readonly fields: Readonly<Record<string, unknown>>;
  /** Undefined for a list. */
  readonly keys: readonly string[] | undefined;
  readonly size: number;
  at: number;
  /** Whether a field was written, so that a comma goes before the next. */
  begun: boolean;
}

/**
 * As JSON.stringify of what was read from JSON (lists, plain objects, scalars, raw JSON), without its recursion: nesting may be as deep as memory allows. Slower, so for what is too
 * deep for that.
 */
export function deepText(value: unknown): string {
  const parts: string[] = [];
  const open: Level[] = [];
  const begin = (field: unknown): void => {
    if (!isNested(field)) {
      parts.push(typeof field === 'bigint' ? `${field}` : (JSON.stringify(field) ?? 'null'));
      return;
    }
    const level = levelOf(field);
    parts.push(level.keys === undefined ? '[' : '{');
    open.push(level);
  };
  begin(value);
  for (let level = open.at(-1); level !== undefined; level = open.at(-1)) {
    if (level.at === level.size) {
      parts.push(level.keys === undefined ? ']' : '}');
      open.pop();
      continue;
    }
    const key = level.keys?.[level.at];
    const field = level.fields[key ?? level.at];
    level.at += 1;
    if (key !== undefined && field === undefined) continue;
    if (level.begun) parts.push(',');
    level.begun = true;
    if (key !== undefined) parts.push(JSON.stringify(key), ':');
    begin(field);
  }
  return parts.join('');
}

/** Raw JSON is an object by its type alone. */
function isNested(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !isRawJson(value);
}

function levelOf(value: object): Level {
  const keys = Array.isArray(value) ? undefined : Object.keys(value);
  const size = keys === undefined ? (value as readonly unknown[]).length : keys.length;
  return { fields: value as Readonly<Record<string, unknown>>, keys, size, at: 0, begun: false };
}

/** ECMA-262, JSON.parse source text access, which the compiler's library does not know yet. */
function isRawJson(value: object): boolean {
  return (JSON as unknown as { isRawJSON(value: unknown): boolean }).isRawJSON(value);
}
