import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chaptersOf } from './chapters.ts';
import { telling } from './telling.ts';

test('steps are numbered over all chapters, and what belongs to one is indented line by line', () => {
  let text = '';
  using tell = telling((more) => {
    text += more;
  });
  tell.step('first');
  tell.say('NAME   AGE\na      1\n');
  tell.step('second');
  tell.say('\nafter an empty line');
  assert.equal(text, '1. first\n   NAME   AGE\n   a      1\n2. second\n\n   after an empty line\n');
});

test('a step that takes long says so every few seconds, and only while nothing else is said', (t) => {
  t.mock.timers.enable({ apis: ['setInterval', 'Date'] });
  const pass = (seconds: number): void => {
    for (let second = 0; second < seconds; second += 1) t.mock.timers.tick(1_000);
  };
  let text = '';
  const tell = telling((more) => {
    text += more;
  });
  tell.step('slow');
  pass(3);
  tell.progress('50 %\n');
  pass(3);
  assert.equal(text, '1. slow\n50 %\n');
  pass(2);
  assert.equal(text, '1. slow\n50 %\n   … 7 s\n');
  pass(4);
  tell[Symbol.dispose]();
  pass(60);
  assert.equal(text, '1. slow\n50 %\n   … 7 s\n   … 11 s\n');
});

test('chapters are played in their order, and only those that exist', () => {
  assert.deepEqual(chaptersOf('rollback, boot-images'), ['boot-images', 'rollback']);
  assert.equal(chaptersOf('watch,nothing'), undefined);
  assert.equal(chaptersOf(''), undefined);
});
