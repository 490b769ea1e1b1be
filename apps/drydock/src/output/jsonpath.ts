import { UsageError } from '../exit.ts';

/** A step of a path: from one value to some. */
type Step = (value: unknown, root: unknown) => readonly unknown[];

/** A part of a template. */
type Part =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'values'; readonly path: readonly Step[] }
  | { readonly kind: 'range'; readonly path: readonly Step[]; readonly body: readonly Part[] };

/** Templates are written by hand. */
const MOST = 10_000;

/**
 * A template in kubectl's dialect of JSONPath, as `{range .items[*]}{.metadata.name}{"\n"}{end}`: gives the text for a value. A path that leads nowhere gives nothing, as it does for `kubectl get`; an index
 * beyond the end throws. Without braces it is one path. Throws `UsageError` for what is no template.
 */
export function jsonpath(template: string): (value: unknown) => string {
  if (template.trim() === '') throw new UsageError('jsonpath= needs a template, as jsonpath={.items[*].metadata.name}');
  if (template.length > MOST)
    throw new UsageError(`a jsonpath of ${template.length} characters: at most ${MOST} are read`);
  const source = template.includes('{') ? template : `{${/^[.[$@]/.test(template) ? '' : '.'}${template}}`;
  const parts = new Reader(source).parts();
  return (value) => textOf(parts, value, value);
}

function textOf(parts: readonly Part[], value: unknown, root: unknown): string {
  return parts
    .map((part) => {
      if (part.kind === 'text') return part.text;
      const found = walked(part.path, value, root);
      if (part.kind === 'values') return found.map(shown).join(' ');
      return found.map((one) => textOf(part.body, one, root)).join('');
    })
    .join('');
}

function walked(path: readonly Step[], value: unknown, root: unknown): readonly unknown[] {
  return path.reduce<readonly unknown[]>((values, step) => values.flatMap((one) => step(one, root)), [value]);
}

function shown(value: unknown): string {
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value);
}

const field =
  (name: string): Step =>
  (value) =>
    isObject(value) && Object.hasOwn(value, name) ? [value[name]] : [];

const all: Step = (value) => (typeof value === 'object' && value !== null ? Object.values(value) : []);

const below: Step = (value) => [value, ...all(value, value).flatMap((one) => below(one, one))];

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** `[from:to:step]`, and `[index]`. */
function slice(from: number | undefined, to: number | undefined, step: number): Step {
  return (value) => {
    if (!Array.isArray(value)) return [];
    const at = (index: number): number => (index < 0 ? value.length + index : index);
    const end = Math.min(at(to ?? value.length), value.length);
    return value.slice(Math.max(0, at(from ?? 0)), end).filter((_, index) => index % step === 0) as readonly unknown[];
  };
}

function item(index: number): Step {
  return (value) => {
    if (!Array.isArray(value)) return [];
    const at = index < 0 ? value.length + index : index;
    if (at < 0 || at >= value.length)
      throw new Error(`jsonpath: index ${index} is beyond a list of ${value.length}; [*] takes all there are`);
    return [value[at]];
  };
}

type Compare = '==' | '!=' | '<' | '<=' | '>' | '>=';

function compares(a: unknown, by: Compare, b: unknown): boolean {
  if (by === '==') return a === b;
  if (by === '!=') return a !== b;
  const known = (typeof a === 'number' && typeof b === 'number') || (typeof a === 'string' && typeof b === 'string');
  if (!known) return false;
  return by === '<' ? a < b : by === '<=' ? a <= b : by === '>' ? a > b : a >= b;
}

/** Reads a template from its left to its right, and never looks back. */
class Reader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** All parts, up to the end or to `{end}`. */
  parts(inRange = false): readonly Part[] {
    const made: Part[] = [];
    while (this.#at < this.#text.length) {
      const open = this.#text.indexOf('{', this.#at);
      const end = open < 0 ? this.#text.length : open;
      if (end > this.#at) made.push({ kind: 'text', text: this.#text.slice(this.#at, end) });
      this.#at = end;
      if (open < 0) break;
      this.#at += 1;
      this.#blanks();
      if (this.#takes(/end(?=\s*\})/y) !== undefined) {
        this.#close();
        if (!inRange) this.#refuse('{end} without {range …}');
        return made;
      }
      if (this.#takes(/range\s/y) !== undefined) {
        const path = this.#path(/\s*\}/y);
        made.push({ kind: 'range', path, body: this.parts(true) });
      } else this.#action(made);
    }
    if (inRange) this.#refuse('{range …} without {end}');
    return made;
  }

  /** `{"text"}`, `{.path}`, or more of them with blanks between. */
  #action(made: Part[]): void {
    for (;;) {
      this.#blanks();
      if (this.#takes(/\}/y) !== undefined) return;
      const literal = this.#literal();
      if (literal !== undefined) made.push({ kind: 'text', text: String(literal.value) });
      else made.push({ kind: 'values', path: this.#path(/(?=[\s}])/y) });
    }
  }

  /** Steps up to what ends them, which is taken as well. */
  #path(end: RegExp): readonly Step[] {
    const steps: Step[] = [];
    this.#blanks();
    if (this.#takes(/\$/y) !== undefined) steps.push((_, root) => [root]);
    else this.#takes(/@/y);
    const first = this.#at;
    while (this.#takes(end) === undefined) {
      // A name may begin a path.
      const name = this.#at === first ? this.#name() : undefined;
      steps.push(...(name === undefined ? this.#step() : [field(name)]));
    }
    return steps;
  }

  #step(): readonly Step[] {
    if (this.#takes(/\.\./y) !== undefined) {
      if (this.#takes(/\*/y) !== undefined) return [below, all];
      const named = this.#name();
      return named === undefined ? [below] : [below, field(named)];
    }
    if (this.#takes(/\.\*/y) !== undefined || this.#takes(/\[\s*\*\s*\]/y) !== undefined) return [all];
    if (this.#takes(/\.(?=\[)/y) !== undefined) return this.#step();
    if (this.#takes(/\./y) !== undefined) {
      const name = this.#name();
      if (name === undefined) return /[\s}]/.test(this.#text[this.#at] ?? '') ? [] : this.#refuse('a name behind "."');
      return [field(name)];
    }
    if (this.#takes(/\[\?\(/y) !== undefined) return [this.#filter()];
    if (this.#takes(/\[/y) !== undefined) return [this.#union()];
    return this.#refuse('".", "[" or "}"');
  }

  #name(): string | undefined {
    // A dot that belongs to a name stands behind a backslash.
    return this.#takes(/(?:[^\s.[\](){}'"$@,=<>!?*\\]|\\.)+/y)?.replaceAll(/\\(.)/g, '$1');
  }

  /** `'a','b'`, `0,-1` or `1:3`, up to the bracket. */
  #union(): Step {
    const steps: Step[] = [];
    do {
      this.#blanks();
      const range = this.#takes(/-?\d*:-?\d*(?::\d+)?(?=\s*[\],])/y)?.split(':');
      const index = range === undefined ? this.#takes(/-?\d+(?=\s*[\],])/y) : undefined;
      if (range !== undefined) {
        const [from, to, step = 1] = range.map((part) => (part === '' ? undefined : Number(part)));
        steps.push(step < 1 ? this.#refuse('a step of 1 or more') : slice(from, to, step));
      } else if (index !== undefined) steps.push(item(Number(index)));
      else steps.push(field(this.#quoted() ?? this.#name() ?? this.#refuse('an index, a name in quotes or *')));
      this.#blanks();
    } while (this.#takes(/,/y) !== undefined);
    if (this.#takes(/\]/y) === undefined) this.#refuse('"]"');
    return (value, root) => steps.flatMap((step) => step(value, root));
  }

  /** `@.a=="b")]`, or `@.a)]` for what is there. */
  #filter(): Step {
    const left = this.#operand();
    this.#blanks();
    const by = this.#takes(/==|!=|<=|>=|<|>/y) as Compare | undefined;
    const right = by === undefined ? undefined : this.#operand();
    this.#blanks();
    if (this.#takes(/\)\]/y) === undefined) this.#refuse('")]" behind a condition, as [?(@.phase=="Blocked")]');
    return (value, root) => {
      const items = Array.isArray(value) ? (value as readonly unknown[]) : [];
      return items.filter((one) => {
        const a = left(one, root);
        if (by === undefined || right === undefined) return a.length > 0;
        const b = right(one, root);
        return a.length === 1 && b.length === 1 && compares(a[0], by, b[0]);
      });
    };
  }

  #operand(): Step {
    this.#blanks();
    const literal = this.#literal();
    if (literal !== undefined) return () => [literal.value];
    const path = this.#path(/(?=[\s)=!<>])/y);
    return (value, root) => walked(path, value, root);
  }

  #literal(): { readonly value: unknown } | undefined {
    const quoted = this.#quoted();
    if (quoted !== undefined) return { value: quoted };
    const word = this.#takes(/(?:true|false|-?\d+(?:\.\d+)?)(?=[\s)}=!<>])/y);
    return word === undefined ? undefined : { value: JSON.parse(word) as unknown };
  }

  #quoted(): string | undefined {
    const found = this.#takes(/"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'/sy);
    const escapes: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r' };
    return found?.slice(1, -1).replaceAll(/\\(.)/gs, (_, of: string) => escapes[of] ?? of);
  }

  #blanks(): void {
    this.#takes(/\s+/y);
  }

  #close(): void {
    this.#blanks();
    if (this.#takes(/\}/y) === undefined) this.#refuse('"}"');
  }

  /** What stands here, if it is this; it is behind then. */
  #takes(what: RegExp): string | undefined {
    what.lastIndex = this.#at;
    const [found] = what.exec(this.#text) ?? [];
    if (found !== undefined) this.#at += found.length;
    return found;
  }

  #refuse(expected: string): never {
    const where =
      this.#at >= this.#text.length ? 'at its end' : `at ${JSON.stringify(this.#text.slice(this.#at, this.#at + 20))}`;
    throw new UsageError(`jsonpath=${this.#text}: expected ${expected} ${where}`);
  }
}
