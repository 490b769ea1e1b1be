import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ProcessTable, processHolder } from './holder.ts';

function table(change: Partial<ProcessTable> = {}): ProcessTable {
  const started = new Map([
    [10, '100'],
    [11, '200'],
  ]);
  return { bootId: 'boot1', namespace: 'ns1', startTime: (pid) => started.get(pid), ...change };
}

test('a process of the same boot and PID namespace is known to run or not, any other is not known', () => {
  const mine = processHolder(table(), 10, 'host');
  assert.equal(mine.isLive(mine.identity), true);
  assert.equal(mine.isLive(processHolder(table(), 11, 'host').identity), true);
  assert.equal(mine.isLive('cli/host/boot1/ns1/12/300'), false, 'there is no such process');
  assert.equal(mine.isLive('cli/host/boot1/ns1/11/199'), false, 'the number was given to another process');
  for (const other of [
    'cli/host/boot2/ns1/11/200',
    'cli/host/boot1/ns2/11/200',
    'cli/far/boot1/ns1/11/200',
    'a-lease-holder',
  ])
    assert.equal(mine.isLive(other), undefined, other);
});

test('without a process table nobody can tell, and identities differ', () => {
  const one = processHolder(null, 10, 'host');
  assert.equal(one.isLive(one.identity), undefined);
  assert.notEqual(one.identity, processHolder(null, 10, 'host').identity);
});

test('this very process is known to run', () => {
  const { identity, isLive } = processHolder();
  assert.equal(isLive(identity), true);
});
