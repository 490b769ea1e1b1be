import { labelValueProblems, qualifiedNameProblems } from './object-names.ts';
import { badRequest, type Refusal } from './refusal.ts';

// Parses label selectors as the server does, and refuses them in its words.

/** One requirement of a label selector; `operator` is `exists`, `!`, `=`, `!=`, `in`, `notin`, `>` or `<`. */
export interface LabelRequirement {
  readonly key: string;
  readonly operator: string;
  readonly values: readonly string[];
}

const SYMBOLS = new Set(['=', '!', '(', ')', ',', '>', '<']);
const OPERATORS = new Set([')', ',', '!', '==', '=', '>', 'in', '<', '!=', 'notin', '(']);
const BINARY = 'in, notin, =, ==, !=, gt, lt';

interface Token {
  /** The text of an operator; `word` for keys and values, `end` after the last. */
  readonly type: string;
  readonly text: string;
}

function* tokens(selector: string): Generator<Token> {
  let at = 0;
  const isSpace = (text: string): boolean => /^[ \t\r\n]$/.test(text);
  while (at < selector.length) {
    const first = selector.charAt(at);
    if (isSpace(first)) {
      at += 1;
      continue;
    }
    const from = at;
    if (SYMBOLS.has(first)) {
      const two = selector.slice(at, at + 2);
      const text = OPERATORS.has(two) ? two : first;
      at += text.length;
      yield { type: text, text };
      continue;
    }
    while (at < selector.length && !SYMBOLS.has(selector.charAt(at)) && !isSpace(selector.charAt(at))) at += 1;
    const text = selector.slice(from, at);
    yield { type: OPERATORS.has(text) ? text : 'word', text };
  }
  yield { type: 'end', text: '' };
}

/** Parses a label selector; 400 for what is none. */
export function parseLabelSelector(selector: string): readonly LabelRequirement[] {
  const parser = new Parser([...tokens(selector)]);
  const found: LabelRequirement[] = [];
  for (;;) {
    const { type, text } = parser.ahead();
    if (type === 'end') return found;
    if (type !== 'word' && type !== '!')
      throw badRequest(`found '${text}', expected: !, identifier, or 'end of string'`);
    found.push(parser.requirement());
    const next = parser.take();
    if (next.type === 'end') return found;
    if (next.type !== ',') throw badRequest(`found '${next.text}', expected: ',' or 'end of string'`);
    const after = parser.ahead();
    if (after.type !== 'word' && after.type !== '!')
      throw badRequest(`found '${after.text}', expected: identifier after ','`);
  }
}

class Parser {
  readonly #tokens: readonly Token[];
  #at = 0;

  constructor(all: readonly Token[]) {
    this.#tokens = all;
  }

  /** The next token as a key or a value: `in` and `notin` are words there. */
  ahead(): Token {
    return asValue(this.#tokens[this.#at] ?? END);
  }

  take(): Token {
    return asValue(this.#taken());
  }

  #taken(): Token {
    const token = this.#tokens[this.#at] ?? END;
    this.#at += 1;
    return token;
  }

  requirement(): LabelRequirement {
    let token = this.take();
    const absent = token.type === '!';
    if (absent) token = this.take();
    const key = token.text;
    if (token.type !== 'word') throw unparsed(`found '${key}', expected: identifier`);
    const problems = qualifiedNameProblems(key);
    if (problems.length > 0) throw unparsed(`<nil>: Invalid value: ${JSON.stringify(key)}: ${problems.join('; ')}`);
    const { type } = this.ahead();
    if (absent) return { key, operator: '!', values: [] };
    if (type === 'end' || type === ',') return { key, operator: 'exists', values: [] };
    const operator = this.#taken();
    switch (operator.type) {
      case 'in':
      case 'notin':
        return checked({ key, operator: operator.type, values: this.#values() });
      case '=':
      case '==':
        return checked({ key, operator: '=', values: [this.#value()] });
      case '!=':
        return checked({ key, operator: '!=', values: [this.#value()] });
      case '>':
      case '<':
        return number({ key, operator: operator.type, values: [this.#value()] });
      default:
        throw unparsed(`found '${operator.text}', expected: ${BINARY}`);
    }
  }

  #value(): string {
    const { type } = this.ahead();
    if (type === 'end' || type === ',') return '';
    const token = this.take();
    if (token.type === 'word') return token.text;
    throw unparsed(`found '${token.text}', expected: identifier`);
  }

  #values(): readonly string[] {
    const open = this.take();
    if (open.type !== '(') throw unparsed(`found '${open.text}' expected: '('`);
    const first = this.ahead();
    if (first.type === ')') {
      this.take();
      return [''];
    }
    if (first.type !== 'word' && first.type !== ',')
      throw unparsed(`found '${first.text}', expected: ',', ')' or identifier`);
    const values = new Set<string>();
    for (;;) {
      const token = this.take();
      if (token.type === 'word') {
        values.add(token.text);
        const next = this.ahead();
        if (next.type === ')') break;
        if (next.type !== ',') throw unparsed(`found '${next.text}', expected: ',' or ')'`);
      } else if (token.type === ',') {
        if (values.size === 0) values.add('');
        const next = this.ahead();
        if (next.type === ')' || next.type === ',') values.add('');
        if (next.type === ')') break;
        if (next.type === ',') this.take();
      } else throw unparsed(`found '${token.text}', expected: ',', or identifier`);
    }
    this.take();
    return [...values];
  }
}

const END: Token = { type: 'end', text: '' };

function asValue(token: Token): Token {
  return token.type === 'in' || token.type === 'notin' ? { ...token, type: 'word' } : token;
}

function unparsed(said: string): Refusal {
  return badRequest(`unable to parse requirement: ${said}`);
}

function checked(requirement: LabelRequirement): LabelRequirement {
  for (const [at, value] of requirement.values.toSorted().entries()) {
    const problems = labelValueProblems(value);
    if (problems.length === 0) continue;
    const said = problems.join('; ');
    throw unparsed(`values[${at}][${requirement.key}]: Invalid value: ${JSON.stringify(value)}: ${said}`);
  }
  return requirement;
}

function number(requirement: LabelRequirement): LabelRequirement {
  const [value = ''] = requirement.values;
  if (/^[-+]?\d+$/.test(value)) return requirement;
  const said = "for 'Gt', 'Lt' operators, the value must be an integer";
  throw unparsed(`values[0]: Invalid value: ${JSON.stringify(value)}: ${said}`);
}
