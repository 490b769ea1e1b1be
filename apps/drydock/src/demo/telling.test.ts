import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chaptersOf } from './chapters.ts';
import { telling } from './telling.ts';

test('steps are numbered over all chapters, and what belongs to one is indented line by line', () => {
  let text = '';
  const tell = telling((more) => {
    text += more;
  });
  tell.step('first');
  tell.say('NAME   AGE\na      1\n');
  tell.step('second');
  tell.say('\nafter an empty line');
  assert.equal(text, '1. first\n   NAME   AGE\n   a      1\n2. second\n\n   after an empty line\n');
});

test('chapters are played in their order, and only those that exist', () => {
  assert.deepEqual(chaptersOf('rollback, boot-images'), ['boot-images', 'rollback']);
  assert.equal(chaptersOf('watch,nothing'), undefined);
  assert.equal(chaptersOf(''), undefined);
});
