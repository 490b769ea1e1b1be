import assert from 'node:assert/strict';
import { test } from 'node:test';
import { backends, fault, method, reset, skips, start, THIS, TIME } from './testing/simulator.ts';

for (const backend of backends)
  test(`${backend}: the switchboard fails, delays, drops and counts calls`, { skip: skips(backend) }, async () => {
    await using sim = await start(backend);
    const { board } = sim;
    const client = sim.client();
    assert.equal((await client.login()).status, 200);

    await using failing = await board.rule({
      ...{ on: 'CurrentTime', skip: 1, times: 1, do: 'fault' },
      fault: { name: 'NoPermission', fields: { privilegeId: 'a<b' } },
    });
    assert.deepEqual(
      [fault(await client.call(TIME)), fault(await client.call(TIME)), fault(await client.call(TIME))],
      [undefined, 'NoPermission', undefined],
    );
    assert.equal((await failing.state()).taken, 1);

    const folder = (await board.find('/DC0/vm')).moref;
    const create = (name: string): string => method('CreateFolder', `${THIS('Folder', folder)}<name>${name}</name>`);
    await using _before = await board.rule({ on: 'CreateFolder', match: 'never', do: 'drop-before' });
    await assert.rejects(client.call(create('never')), reset);
    await using _after = await board.rule({ on: 'CreateFolder', match: 'acted', do: 'drop-after' });
    await assert.rejects(client.call(create('acted')), reset);
    const names = (await board.objects('Folder')).map(({ name }) => name);
    assert.deepEqual([names.includes('never'), names.includes('acted')], [false, true]);

    await using holding = await board.rule({ on: 'CurrentTime', do: 'hold', times: 1 });
    const held = client.call(TIME);
    await holding.held();
    assert.equal((await board.callLog()).at(-1)?.ended, false);
    await holding.release();
    assert.equal((await held).status, 200);
    assert.equal((await board.calls()).methods['CurrentTime'], 4);

    await assert.rejects(board.rule({ on: 'X', do: 'throttle', bytesPerSecond: 0 }), { code: 'BadInput' });
    await assert.rejects(holding.taken(9, { timeoutMs: 10 }), { code: 'NotReady' });
  });
