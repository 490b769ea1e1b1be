import assert from 'node:assert/strict';
import { test } from 'node:test';
import { goJsonError } from './go-json-errors.ts';

test('a text that is no JSON is refused in the words of Go', () => {
  const cases: Readonly<Record<string, string | undefined>> = {
    '{"a":[1,true,null,"x\\u00e9"],"b":{}}': undefined,
    ' [ ] ': undefined,
    '-0.5e+3': undefined,
    '': 'unexpected end of JSON input',
    '{"a":': 'unexpected end of JSON input',
    hello: "invalid character 'h' looking for beginning of value",
    '{a:1}': "invalid character 'a' looking for beginning of object key string",
    '{"a" 1}': "invalid character '1' after object key",
    '{"a":1 "b"}': `invalid character '"' after object key:value pair`,
    '[1 2]': "invalid character '2' after array element",
    '{"a":tru}': "invalid character '}' in literal true (expecting 'e')",
    '{"a":"\\x"}': "invalid character 'x' in string escape code",
    '{"a":-}': "invalid character '}' in numeric literal",
    '{}x': "invalid character 'x' after top-level value",
  };
  for (const [text, said] of Object.entries(cases)) assert.equal(goJsonError(text), said, text);
});

test('a text that nests deeper than any stack is read', () => {
  const deep = 200_000;
  assert.equal(goJsonError(`${'['.repeat(deep)}${']'.repeat(deep)}`), undefined);
  assert.equal(goJsonError('['.repeat(deep)), 'unexpected end of JSON input');
});
