import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Misbehaviour, optionsVal, textVal } from '@drydock/vsphere/testing';
import { liveRig, POWER, startSyntheticRig } from './testing/synthetic-rig.ts';

const nameOf = (moid: string): string => `ns/machine-${moid.slice(3)}`;
const HEAD =
  '<soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><soapenv:Body><WaitForUpdatesExResponse xmlns="urn:vim25"><returnval><version>9</version><filterSet><filter type="PropertyFilter">f</filter><objectSet><kind>modify</kind><obj type="VirtualMachine">vm-100001</obj><changeSet><name>config.template</name><op>assign</op><val xsi:type="xsd:string">';
const MB = 1 << 20;

function* pieces(count: number, piece: Buffer): Generator<string | Buffer> {
  yield HEAD;
  for (let n = 0; n < count; n += 1) yield piece;
}

const BAD: Readonly<Record<string, { readonly how: Misbehaviour; readonly says: RegExp }>> = {
  'an entity bomb': {
    how: {
      act: 'instead',
      body: () => [`<?xml version="1.0"?><!DOCTYPE b [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;&a;">]>${HEAD}&b;`],
    },
    says: /document type/,
  },
  'elements 10,000 deep': { how: { act: 'instead', body: () => [HEAD, '<a>'.repeat(10_000)] }, says: /nested deeper/ },
  'a value of 300 MB': {
    how: { act: 'instead', body: () => pieces(300, Buffer.alloc(MB, 'x')) },
    says: /exceeds \d+ bytes/,
  },
  'a tag without an end': {
    how: { act: 'instead', body: () => [HEAD, '<', 'a'.repeat(4 * MB)] },
    says: /markup exceeds/,
  },
  'an answer cut in the middle': { how: { act: 'truncate', keep: 0.5 }, says: /ends too early/ },
  'two answers in each other': { how: { act: 'interleave' }, says: /not usable XML/ },
  'a page of HTML': {
    how: { act: 'instead', status: 503, contentType: 'text/html', body: () => ['<html>down</html>'] },
    says: /HTTP status 503/,
  },
  'an answer as JSON': { how: { act: 'mistype', contentType: 'application/json' }, says: /no SOAP answer/ },
  'the answer to something else': {
    how: {
      act: 'instead',
      body: () => ['<Envelope xmlns="http://schemas.xmlsoap.org/soap/envelope/"><Body/></Envelope>'],
    },
    says: /no answer to WaitForUpdatesEx/,
  },
};

for (const [what, { how, says }] of Object.entries(BAD)) {
  test(`VS-W89 ${what}: one clear message, bounded memory, and the change is told once all the same`, async () => {
    await using rig = await liveRig(2);
    const [moid = ''] = rig.moids;
    const { faults } = rig.server;
    const before = process.memoryUsage().rss;
    let highest = before;
    await rig.cutWait();
    faults.add('WaitForUpdatesEx', how);
    rig.power(moid, true);
    await rig.until('it went wrong', () => {
      highest = Math.max(highest, process.memoryUsage().rss);
      return faults.left === 0 && rig.states.some(({ reason }) => says.test(reason ?? ''));
    });
    await rig.live();
    await rig.settled();
    assert.deepEqual(rig.signals, [`${nameOf(moid)} changed ${POWER}`]);
    assert.equal(new Set(rig.states.map(({ reason }) => reason).filter((reason) => says.test(reason ?? ''))).size, 1);
    assert.ok(highest - before < 120 * MB, `${Math.round((highest - before) / MB)} MB`);
  });
}

test('VS-W89 a server that never says anything usable again is asked less and less, and told of each time', async () => {
  await using rig = await liveRig(1);
  const [moid = ''] = rig.moids;
  await rig.cutWait();
  rig.server.faults.add('WaitForUpdatesEx', { act: 'instead', body: () => [`${HEAD}x</val></wrong>`] }, 8);
  rig.power(moid, true);
  await rig.until('all that was wrong was said', () => rig.server.faults.left === 0);
  await rig.live();
  await rig.settled();
  assert.equal(rig.signals.filter((signal) => signal.includes(POWER)).length, 1, rig.signals.join());
  assert.ok(rig.warnings.length > 0 && rig.warnings.length <= 8, rig.warnings.join('\n'));
});

test('VS-W38 a property that the user may not read: one warning, a count, and the others work', async () => {
  const unreadable: string[] = [];
  await using rig = await startSyntheticRig({ watcher: { onUnreadable: (path) => unreadable.push(path) } });
  const moids = rig.server.inventory.add(150, rig.folder);
  rig.server.denied.set('config.keyId', 'NoPermission');
  void rig.watcher.supervisor.add(rig.folder, 'zone');
  rig.run();
  await rig.live();
  await rig.settled();
  rig.signals.length = 0;
  const [moid = ''] = moids;
  rig.server.inventory.set(moid, 'config.keyId', undefined);
  rig.power(moid, true);
  await rig.settled();
  assert.deepEqual(rig.signals, [`${nameOf(moid)} changed ${POWER}`]);
  assert.equal(rig.warnings.filter((text) => text.includes('config.keyId')).length, 1, rig.warnings.join('\n'));
  assert.ok(unreadable.length > 150 && new Set(unreadable).size === 1, `${unreadable.length}`);
});

test('VS-W39 an older API lacks two paths: they are left out with a warning each, and the rest is watched', async () => {
  await using rig = await startSyntheticRig({
    watcher: { paths: ['name', 'config.numaInfo', 'config.extraConfig', 'config.vPMCEnabled', POWER] },
  });
  for (const path of ['config.numaInfo', 'config.vPMCEnabled']) rig.server.unknownPaths.add(path);
  const [moid = ''] = rig.server.inventory.add(1, rig.folder);
  void rig.watcher.supervisor.add(rig.folder, 'zone');
  rig.run();
  await rig.live();
  await rig.settled();
  rig.power(moid, true);
  await rig.settled();
  assert.equal(rig.signals.at(-1), `${nameOf(moid)} changed ${POWER}`);
  assert.equal(rig.warnings.filter((text) => /does not know a property/.test(text)).length, 2, rig.warnings.join('\n'));
});

test('types and elements that nobody knows are changes like any other', async () => {
  await using rig = await liveRig(1);
  const [moid = ''] = rig.moids;
  rig.server.inventory.set(
    moid,
    'config.keyId',
    '<val xsi:type="FromTheFuture"><what xsi:type="xsd:duration">P1D</what><!-- & --><more/></val>',
  );
  await rig.settled();
  assert.deepEqual(rig.signals.splice(0), [`${nameOf(moid)} changed config.keyId`]);
  rig.server.inventory.set(moid, 'config.extraConfig', '<val xsi:type="ArrayOfAnyType"><anyType>text</anyType></val>');
  rig.server.inventory.set(moid, 'name', textVal('R&D <1> \u{1f6a2} ]]>'));
  await rig.settled();
  // The list carries no name any more: it belongs to nobody, and is told nobody, which is what became of it.
  assert.deepEqual(rig.signals, []);
  assert.ok(rig.resolved.some(([vm, { kind }]) => vm === moid && kind === 'unresolved'));
  rig.server.inventory.set(moid, 'config.extraConfig', optionsVal({ 'vmservice.namespacedName': nameOf(moid) }));
  await rig.settled();
  assert.equal(rig.signals.length, 1);
  assert.equal(rig.watcher.supervisor.state.name, 'live');
});

test('a folder that does not exist is pending and harms nobody; it is watched once it is there', async () => {
  await using rig = await liveRig(1, { speed: 200 });
  const { inventory } = rig.server;
  const missing = { type: 'Folder', value: 'group-v9' };
  assert.equal(await rig.watcher.supervisor.add(missing, 'zone'), 'pending');
  const [moid = ''] = rig.moids;
  rig.power(moid, true);
  await rig.settled();
  assert.equal(rig.signals.splice(0).length, 1);
  const tried = (): number => rig.server.calls.get('CreateContainerView') ?? 0;
  const before = tried();
  await rig.until('it is tried again and again', () => tried() > before + 2);
  assert.equal(rig.warnings.filter((text) => text.startsWith('A container cannot be watched')).length, 1);
  inventory.container('Folder', 'group-v9');
  await rig.until('it is watched', () => rig.watcher.supervisor.containers.every(({ watched }) => watched));
  const [late = ''] = inventory.add(1, missing);
  await rig.settled();
  assert.deepEqual(rig.signals, [`${nameOf(late)} changed`]);
});
