import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { compileExpression } from './expression-compiler.ts';
import { CostLimitError, EvaluationError } from './expression-errors.ts';
import { display } from './expression-values.ts';

const evaluate = (text: string): string => display(compileExpression(text, {}).run({}));

suite('expressions', () => {
  for (const text of [
    'string(dyn(null))',
    'dyn(null).getHours()',
    'dyn(null)[0]',
    'timestamp(null)',
    'dyn(["a"]).sum()',
  ]) {
    test(`no overload takes the value of ${text}`, () => {
      assert.throws(() => evaluate(text), new EvaluationError('no such overload'));
    });
  }

  for (const [text, message] of [
    ['uint(double("inf"))', 'unsigned integer overflow'],
    ['timestamp(9223372036854775807)', 'timestamp overflow'],
    ['timestamp("9999-12-31T23:59:59Z") + duration("1s")', 'timestamp overflow'],
  ] as const) {
    test(`${text} is an error of the expression`, () => {
      assert.throws(() => evaluate(text), new EvaluationError(message));
    });
  }

  test('an operand that decides absorbs errors, but not the cost limit', () => {
    assert.equal(evaluate('1 / 0 == 1 || true'), 'true');
    const list = `[${'1,'.repeat(200)}1]`;
    const expensive = `${list}.all(a, ${list}.all(b, ${list}.all(c, a == b && b == c)))`;
    assert.throws(() => evaluate(`${expensive} || true`), CostLimitError);
  });

  test('the format of qualified names is the one of label keys', () => {
    const problem = (name: string): string => evaluate(`format.qualifiedName().validate("${name}").hasValue()`);
    assert.equal(problem('example.com/name'), 'false');
    assert.equal(problem('example..com/name'), 'true');
    assert.equal(problem('a'.repeat(63)), 'false');
    assert.equal(problem('a'.repeat(64)), 'true');
  });
});
