import assert from 'node:assert/strict';
import { test } from 'node:test';
import { selectorText } from './label-selectors.ts';

test('the terms of a label selector are in the order of their keys', () => {
  const matchExpressions = [
    { key: 'b', operator: 'NotIn', values: ['y', 'x'] },
    { key: 'a', operator: 'DoesNotExist' },
  ];
  assert.equal(selectorText({ matchLabels: { c: '1', 'a-b': '2' }, matchExpressions }), '!a,a-b=2,b notin (x,y),c=1');
  assert.equal(selectorText({}), '');
});
