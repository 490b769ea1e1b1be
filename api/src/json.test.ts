import assert from 'node:assert/strict';
import { test } from 'node:test';
import { repetitions } from '@drydock/model';
import fc from 'fast-check';
import { readJson } from './json.ts';

/** Names of which V8 takes one for another once it has seen the first of them. */
const NAMES = ['\\', '"', '\n', 'a\\', 'a"', 'a\\nb', 'a\nb', '\\u0041', 'A', '/', 'é', '\ud800', '__proto__', '7', ''];
const name = fc.oneof(fc.constantFrom(...NAMES), fc.string({ maxLength: 3 }), fc.string({ unit: 'binary' }));

interface Tree {
  readonly text: string;
  readonly value: unknown;
}

/** Texts and what they say, put together without any reader of JSON. Names are escaped as JSON.stringify does, or more than they need. */
const { tree } = fc.letrec<{ tree: Tree }>((tie) => {
  const space = fc.constantFrom('', '', ' ', '\n\t');
  const written = fc.tuple(name, fc.boolean()).map(([said, escaped]) => {
    const codes = Array.from({ length: said.length }, (_, at) => said.charCodeAt(at).toString(16).padStart(4, '0'));
    return { said, text: escaped ? `"${codes.map((code) => `\\u${code}`).join('')}"` : JSON.stringify(said) };
  });
  const object = fc.array(fc.tuple(written, space, tie('tree')), { maxLength: 4 }).map((fields): Tree => {
    const value = Object.fromEntries(fields.map(([{ said }, , field]) => [said, field.value]));
    return { text: `{${fields.map(([{ text }, gap, field]) => `${text}${gap}:${field.text}`).join(',')}}`, value };
  });
  const list = fc.array(tie('tree'), { maxLength: 4 }).map((items): Tree => {
    return { text: `[${items.map(({ text }) => text).join(' ,')}]`, value: items.map(({ value }) => value) };
  });
  const integer = fc.bigInt({ min: -(2n ** 64n), max: 2n ** 64n }).map((n): Tree => {
    return { text: `${n}`, value: /\d{16}/.test(`${n}`) ? `<${n}>` : Number(n) };
  });
  const text = name.map((said): Tree => ({ text: JSON.stringify(said), value: said }));
  return { tree: fc.oneof({ depthSize: 'small', withCrossShrink: true }, text, integer, object, list) };
});

test('control: after one name JSON.parse of this Node takes another for it; where it does so no longer, the marks may go', () => {
  const [seen, next] = ['{"control":1,"a\\\\":1}', '{"control":1,"a\\n":1}'];
  JSON.parse(seen);
  assert.deepEqual(Object.keys(JSON.parse(next) as object), ['control', 'a\\']);
  assert.deepEqual(Object.keys(readJson(next) as object), ['control', 'a\n']);
});

test('SAFE-1 names of properties are read as they are written, whatever V8 has seen before, and integers with all their digits', () => {
  for (const seen of NAMES) JSON.parse(`{${JSON.stringify(seen)}:1}`);
  fc.assert(
    fc.property(tree, ({ text, value }) => {
      // In a list, because a lone number is of no document.
      assert.deepEqual(
        readJson(`[${text}]`, (source) => `<${source}>`),
        [value],
      );
    }),
    { numRuns: repetitions(10_000, 1_000_000, 'JSON texts') },
  );
});

test('SAFE-1 a sign is no digit: what has fifteen of them is a number, whatever stands beside it', () => {
  const text = '[-1000000000000000,-100000000000000,100000000000000]';
  assert.deepEqual(
    readJson(text, (source) => `<${source}>`),
    ['<-1000000000000000>', -100_000_000_000_000, 100_000_000_000_000],
  );
});

test('SAFE-1 of a name that is written twice, once with an escape, the last one counts', () => {
  for (const [text, value] of [
    ['{"A":1,"\\u0041":2,"A":3}', { A: 3 }],
    ['{"A":1,"A":2,"\\u0041":3}', { A: 3 }],
    ['{"\\u0041":1,"A":2}', { A: 2 }],
    ['{"7":1,"\\u0037":2,"7":3}', { 7: 3 }],
    ['{"b":{"\\n":1},"A":{"A":1,"\\u0041":2,"A":3}}', { b: { '\n': 1 }, A: { A: 3 } }],
  ] as const)
    assert.deepEqual(readJson(text), value, text);
});

test('SAFE-1 what JSON.parse refuses is refused, what it accepts is accepted, and a mark makes no JSON of what is none', () => {
  const piece = fc.constantFrom(
    '{',
    '}',
    '[',
    ']',
    ':',
    ',',
    '"',
    '\\',
    '\\"',
    '"a\\n"',
    '"\\u12"',
    '"\\x":',
    ' ',
    '\v',
  );
  const digits = fc.constantFrom(
    '12345678901234567890',
    '-9007199254740993',
    '0123456789012345678',
    '1e1234567890123456',
  );
  const parts = fc.array(fc.oneof({ weight: 4, arbitrary: piece }, digits, fc.constantFrom('true', '"b"', '1.5')));
  const outcome = (read: () => unknown): string => {
    try {
      return JSON.stringify(read());
    } catch (error) {
      assert.ok(error instanceof SyntaxError, String(error));
      return 'no JSON';
    }
  };
  let accepted = 0;
  fc.assert(
    fc.property(
      fc.oneof(
        parts,
        parts.map((some) => ['{"a\\n":', ...some, '}']),
      ),
      (some) => {
        const text = some.join('');
        const plain = outcome(() => JSON.parse(text));
        if (plain !== 'no JSON') accepted += 1;
        assert.equal(
          outcome(() => readJson(text, (source) => Number(source))) === 'no JSON',
          plain === 'no JSON',
          text,
        );
      },
    ),
    { numRuns: repetitions(10_000, 1_000_000, 'JSON texts') },
  );
  assert.ok(accepted > 100, `only ${accepted} of the texts were JSON`);
});
