import assert from 'node:assert/strict';
import { test } from 'node:test';
import { liveRig, POWER, type SyntheticRig } from './testing/synthetic-rig.ts';

const nameOf = (moid: string): string => `ns/machine-${moid.slice(3)}`;
const told = ({ warnings }: SyntheticRig): readonly string[] =>
  warnings.filter((text) => text.startsWith('A container cannot be watched now'));

for (const [what, close, open] of [
  [
    'that the user may not see',
    (rig, ref) => rig.server.forbidden.add(ref.value),
    (rig, ref) => rig.server.forbidden.delete(ref.value),
  ],
  [
    'that is gone',
    (rig, ref) => rig.server.inventory.dropContainer(ref),
    (rig, ref) => rig.server.inventory.container(ref.type, ref.value),
  ],
] satisfies readonly (readonly [string, ...((rig: SyntheticRig, ref: SyntheticRig['folder']) => unknown)[]])[]) {
  test(`SAFE-6 after an ended session one container ${what} blinds no other: it is told once, tried again by itself, and watched again`, async () => {
    await using rig = await liveRig(2, { verified: true, speed: 200 });
    const { server, watcher } = rig;
    const [moid = ''] = rig.moids;
    const zone = server.inventory.container('Folder', 'group-v9');
    const [inside = ''] = server.inventory.add(1, zone);
    rig.objects.push({ namespace: 'ns', name: `machine-${inside.slice(3)}`, uniqueId: inside, deleting: false });
    await rig.watch(zone, 'zone');
    await rig.settled();
    rig.signals.length = 0;
    rig.states.length = 0;

    close?.(rig, zone);
    server.endSessions();
    rig.power(moid, true);
    await rig.until('another session', () => server.calls.get('Login') === 2);
    await rig.live();
    await rig.settled();
    assert.ok(rig.signals.includes(`${nameOf(moid)} changed ${POWER} verified`), rig.signals.join('\n'));
    assert.ok(!rig.states.some(({ name }) => name === 'backoff'), 'nobody waits for it');
    assert.deepEqual(
      watcher.supervisor.containers.map(({ watched }) => watched),
      [true, false],
    );
    assert.match(
      watcher.supervisor.containers[1]?.refused ?? '',
      /lacks the privilege System\.View|ManagedObjectNotFound/,
    );
    if (server.forbidden.size > 0)
      assert.deepEqual(
        rig.signals.filter((signal) => signal.startsWith(`${nameOf(inside)} left`)),
        [],
        'it is not seen, and did not leave',
      );

    // Tried several times, told once; nobody else's wait is interrupted for it.
    const views = server.calls.get('CreateContainerView') ?? 0;
    const cancelled = server.calls.get('CancelWaitForUpdates') ?? 0;
    await rig.until('it was tried again, twice', () => (server.calls.get('CreateContainerView') ?? 0) >= views + 2);
    assert.equal(told(rig).length, 1);
    assert.equal(server.calls.get('CancelWaitForUpdates') ?? 0, cancelled);

    rig.signals.length = 0;
    rig.power(inside, true);
    open?.(rig, zone);
    await rig.until('it is watched again', () => watcher.supervisor.containers.every(({ watched }) => watched));
    await rig.live();
    await rig.settled();
    assert.ok(
      rig.signals.some((signal) => signal.startsWith(`${nameOf(inside)} changed`)),
      rig.signals.join('\n'),
    );
    rig.signals.length = 0;
    rig.power(inside, false);
    await rig.settled();
    assert.deepEqual(rig.signals, [`${nameOf(inside)} changed ${POWER} verified`]);
    assert.equal(server.calls.get('Login'), 2);
  });
}

test('SAFE-6 a machine that was destroyed while its container was not seen is told as gone when it is seen again', async () => {
  await using rig = await liveRig(1, { verified: true, speed: 200 });
  const { server, watcher } = rig;
  const zone = server.inventory.container('Folder', 'group-v9');
  const [inside = ''] = server.inventory.add(1, zone);
  rig.objects.push({ namespace: 'ns', name: `machine-${inside.slice(3)}`, uniqueId: inside, deleting: false });
  await rig.watch(zone, 'zone');
  await rig.settled();
  server.forbidden.add(zone.value);
  server.endSessions();
  await rig.until('it is refused', () => told(rig).length === 1);
  rig.signals.length = 0;
  server.inventory.destroy(inside);
  server.forbidden.clear();
  await rig.until('it is watched again', () => watcher.supervisor.containers.every(({ watched }) => watched));
  await rig.until('it is told', () => rig.signals.includes(`${nameOf(inside)} left verified`));
});

test('SAFE-6 a container that goes while it is watched is told once, and counts no more', async () => {
  await using rig = await liveRig(1, { speed: 200 });
  const { server, watcher } = rig;
  const zone = server.inventory.container('Folder', 'group-v9');
  await rig.watch(zone, 'zone');
  server.inventory.dropContainer(zone);
  await rig.until('it is noticed', () => watcher.supervisor.containers.some(({ watched }) => !watched));
  assert.equal(told(rig).length, 1);
  assert.equal(watcher.supervisor.state.name, 'live');
  server.inventory.container('Folder', 'group-v9');
  await rig.until('it is watched again', () => watcher.supervisor.containers.every(({ watched }) => watched));
});

test('SAFE-6 where every container is refused for a reason that may pass, the watch is opened again', async () => {
  await using rig = await liveRig(1, { speed: 200 });
  const { server } = rig;
  server.faults.add('CreateContainerView', { act: 'fault', fault: 'SystemError' }, 2);
  server.endSessions();
  await rig.until('it was refused', () => server.faults.left === 0);
  await rig.live();
});
