import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import { type LogFlags, operatorLog } from './operator-log.ts';

function logged(flags: Partial<LogFlags>) {
  let text = '';
  const out = {
    write: (line: string): void => {
      text += line;
    },
  };
  const log = operatorLog({ logLevel: 'info', logFormat: 'json', ...flags }, out);
  return { log, text: () => stripVTControlCharacters(text) };
}

const refusal = Object.assign(new Error('alice may not list nodes'), { code: 'Forbidden' });
const coded = Object.assign(new Error('connect ECONNREFUSED 10.0.0.1:443'), { code: 'ECONNREFUSED' });
const wrapped = new Error('the vCenter cannot be reached', { cause: coded });
const mistake = new TypeError('x is not a function');

test('OWN-20.4 a line for people has time, level, what and object, and no trace of what is expected', () => {
  const { log, text } = logged({ logFormat: 'text' });
  log.warn({ err: wrapped, server: 'vc1', set: 'ms/worker a' }, 'a watch failed and is tried again');
  log.info({ lease: 'n/l', waiting: 3 }, 'leading\u001b[2J\nforged');
  log.error({ err: mistake }, 'ended');
  const when = String.raw`\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ`;
  const [first, second, third, ...trace] = text().trimEnd().split('\n');
  assert.match(
    first ?? '',
    new RegExp(
      `^${when} WARN  a watch failed and is tried again: the vCenter cannot be reached: connect ECONNREFUSED 10\\.0\\.0\\.1:443 server=vc1 set="ms/worker a"$`,
    ),
  );
  assert.match(second ?? '', new RegExp(`^${when} INFO  leading +(?:\\[2J )?forged lease=n/l waiting=3$`));
  assert.match(third ?? '', new RegExp(`^${when} ERROR ended: x is not a function$`));
  assert.ok(trace.length > 0 && trace.every((line) => line.startsWith('    at ')), trace.join('\n'));
});

test('OWN-20.4 an object a line has the trace of a mistake, of what is expected only at debug', () => {
  const stacks = (logLevel: LogFlags['logLevel']): readonly boolean[] => {
    const { log, text } = logged({ logLevel });
    for (const err of [refusal, wrapped, mistake, Object.assign(new Error('x'), { code: 'ERR_ASSERTION' })])
      log.error({ err }, 'it failed');
    return text()
      .trimEnd()
      .split('\n')
      .map((line) => {
        const { err, time, level, app, msg } = JSON.parse(line) as Readonly<
          Record<string, { readonly stack?: string }>
        >;
        assert.deepEqual([level, app, msg], [50, 'drydock', 'it failed']);
        assert.equal(typeof time, 'string');
        return err?.stack !== undefined;
      });
  };
  assert.deepEqual(stacks('info'), [false, false, true, true]);
  assert.deepEqual(stacks('debug'), [true, true, true, true]);
});
