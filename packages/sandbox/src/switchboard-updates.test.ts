import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Answer, backends, method, reset, skips, start, THIS, value } from './testing/simulator.ts';

for (const backend of backends)
  test(`${backend}: an update whose answer was lost is repeated to the next wait at the same version`, {
    skip: skips(backend),
  }, async () => {
    await using sim = await start(backend);
    const { board } = sim;
    const client = sim.client();
    await client.login();
    const { moref } = await board.createVm({ name: 'v', folder: '/DC0/vm' });
    const collector = THIS('PropertyCollector', 'propertyCollector');
    const filter = await client.call(
      method(
        'CreateFilter',
        `${collector}<spec><propSet><type>VirtualMachine</type><pathSet>config.annotation</pathSet><pathSet>config.template</pathSet>` +
          `</propSet><objectSet><obj type="VirtualMachine">${moref}</obj></objectSet></spec><partialUpdates>false</partialUpdates>`,
      ),
    );
    assert.equal(filter.status, 200, filter.text);
    const wait = (version: string): Promise<Answer> =>
      client.call(
        method(
          'WaitForUpdatesEx',
          `${collector}<version>${version}</version><options><maxWaitSeconds>5</maxWaitSeconds></options>`,
        ),
      );
    const version = value(await wait(''), 'version');
    await using dropping = await board.rule({ on: 'WaitForUpdatesEx', do: 'drop-after', times: 1 });
    const lost = assert.rejects(wait(version), reset);
    await dropping.taken();
    await board.editVm(moref, { annotation: 'seen twice' });
    await lost;
    const repeated = await wait(version);
    assert.match(repeated.text, /seen twice/);

    const marked = wait(value(repeated, 'version'));
    assert.equal((await client.call(method('MarkAsTemplate', THIS('VirtualMachine', moref)))).status, 200);
    assert.match((await marked).text, /<name>config.template<\/name>.*true/);
  });
