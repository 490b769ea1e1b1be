import assert from 'node:assert/strict';
import { test } from 'node:test';
import { backends, fault, method, skips, start, THIS, TIME, until, value } from './testing/simulator.ts';

for (const backend of backends)
  test(`${backend}: killing a session ends its pending wait, and a restart forgets sessions but not the inventory`, {
    skip: skips(backend),
  }, async () => {
    await using sim = await start(backend);
    const { board } = sim;
    const client = sim.client();
    await client.login();
    const wait = (version: string): string =>
      method(
        'WaitForUpdatesEx',
        `${THIS('PropertyCollector', 'propertyCollector')}<version>${version}</version><options><maxWaitSeconds>60</maxWaitSeconds></options>`,
      );
    const version = value(await client.call(wait('')), 'version');
    const pending = client.call(wait(version));
    await until('the wait', async () =>
      (await board.callLog()).some((c) => c.method === 'WaitForUpdatesEx' && !c.ended),
    );
    assert.equal(await board.killSessions(), 1);
    assert.equal(fault(await pending), 'NotAuthenticated');
    assert.equal(fault(await client.call(TIME)), 'NotAuthenticated');

    const again = sim.client();
    await again.login();
    await board.createVm({ name: 'kept', folder: '/DC0/vm', template: true, extraConfig: { mark: '1' } });
    await board.restart({ downMs: 2_000 });
    const first = await again.call(TIME).catch(() => again.call(TIME));
    assert.equal(first.status, 503);
    const back = await until('the end of the outage', async () => {
      const answer = await again.call(TIME);
      return answer.status === 503 ? undefined : answer;
    });
    assert.equal(fault(back), 'NotAuthenticated');
    assert.deepEqual(
      (await board.templates()).map((t) => [t.name, t.extraConfig['mark']]),
      [['kept', '1']],
    );

    await board.refuseLogins(true);
    assert.equal(fault(await sim.client().login()), 'InvalidLogin');
    await board.refuseLogins(false);
    assert.equal((await sim.client().login()).status, 200);
    const { logins, refused } = await board.sessions();
    assert.deepEqual([logins, refused], [3, 1]);

    await board.lockAccounts();
    const guess = (password: string) => sim.client().login(password);
    for (let n = 0; n < 4; n += 1) assert.equal(fault(await guess(`wrong ${n}`)), 'InvalidLogin');
    assert.deepEqual([(await sim.client().login()).status, (await board.sessions()).locked], [200, []]);
    assert.equal(fault(await guess('wrong')), 'InvalidLogin');
    assert.equal(fault(await sim.client().login()), 'InvalidLogin', 'also with the right password');
    assert.equal((await board.sessions()).locked.length, 1);
  });
