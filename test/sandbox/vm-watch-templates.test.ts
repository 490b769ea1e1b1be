import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { after, before, test } from 'node:test';
import { CustomResourceDefinition, Namespace, VirtualMachine, Zone } from '@drydock/api';
import { scratchFolder } from '@drydock/sandbox';
import { parse } from 'yaml';
import { startProcess } from './support/operator-process.ts';
import { eventually, startVoyage, type Voyage } from './support/voyage.ts';
import { installerTemplate, oldRelease, serverName } from './support/voyage-cluster.ts';

const drydock = resolve(import.meta.dirname, '../../apps/drydock/bin/drydock.js');
const optional = resolve(import.meta.dirname, '../../api/optional');
const running = new AsyncDisposableStack();

let voyage: Voyage;
let log: string;

before(async () => {
  voyage = running.use(await startVoyage({ operator: false }));
  await voyage.release(await voyage.image(oldRelease));
  const { sandbox, cacheDir } = voyage;
  const files = running.use(scratchFolder()).path;
  log = join(files, 'log');
  const args = [
    ...['operator', '--roles', 'boot-images,watch', '--kubeconfig', sandbox.kubeconfig, '--port', '0'],
    ...[
      '--cache-dir',
      cacheDir,
      '--vcenter-url',
      `${serverName}=${sandbox.vcenter.url}`,
      '--vcenter-ca',
      sandbox.vcenter.ca,
    ],
  ];
  running.use(
    startProcess(drydock, args, {
      sandbox: sandbox.directory,
      log,
    }),
  );
});

after(() => running.disposeAsync());

test('a template that is destroyed by hand is told within a second and made again without a resync', async () => {
  const folder = await voyage.folder('destroyed');
  await voyage.createSet({ name: 'wk-a', folder });
  await voyage.current('wk-a', oldRelease);
  await watched(2);
  const at = performance.now();
  await voyage.switchboard.destroyVm(`${folder}/${installerTemplate}`);
  await voyage.event('wk-a', 'TemplateChanged', `template ${installerTemplate} was destroyed on ${serverName}`);
  const took = [performance.now() - at];
  await voyage.event('wk-a', 'Switched');
  const repaired = await voyage.template('wk-a');
  assert.notEqual(repaired, installerTemplate);
  const inventory = await voyage.inventory(folder);
  assert.equal(inventory.get(repaired)?.isTemplate, true);
  await voyage.current('wk-a', oldRelease);

  // Its successor is watched as well.
  const renamed = performance.now();
  await voyage.switchboard.renameVm(`${folder}/${repaired}`, 'mislaid');
  await voyage.event('wk-a', 'TemplateChanged', `template ${repaired} was renamed to mislaid on ${serverName}`);
  took.push(performance.now() - renamed);
  // A busy machine can make one of them late.
  assert.ok(Math.min(...took) < 1_500, `${took.map(Math.round).join(', ')} ms`);
});

test('a template that is turned back into a machine is told; what happens to the other machines of the folder is not', async () => {
  const folder = await voyage.folder('converted');
  await voyage.createSet({ name: 'wk-b', folder });
  await voyage.current('wk-b', oldRelease);
  // The mislaid one and its neighbour of the first test are among them.
  await watched(4);
  await voyage.switchboard.renameVm(`${folder}/converted-database`, 'converted-archive');
  await voyage.switchboard.editVm(`${folder}/${installerTemplate}`, { template: false });
  const event = await voyage.event('wk-b', 'TemplateChanged');
  assert.match(event.note ?? '', /was turned into a machine/);
});

test('the kinds of virtual machines come after the start: they were waited for, and are served without a restart', async () => {
  const { client, switchboard } = voyage;
  assert.match(
    await served('readyz?verbose'),
    /watch-vms ok: waits for virtualmachines\.vmoperator\.vmware\.com and zones\./,
  );
  assert.match(await readFile(log, 'utf8'), /does not serve .*Install the CRDs of api\/optional; the process notices/);
  const folder = await switchboard.createFolder('/DC0/vm/late');
  const name = { namespace: 'late', name: 'vm' };
  await client.create(Namespace, { metadata: { name: 'late' } });
  for (const file of globSync(join(optional, '*.yaml')))
    await client.create(CustomResourceDefinition, parse(await readFile(file, 'utf8')) as CustomResourceDefinition);
  await eventually('the kinds are served', () =>
    client.create(VirtualMachine, { metadata: name }).catch(() => undefined),
  );
  await client.create(Zone, {
    metadata: { ...name, name: 'zone' },
    spec: { managedVMs: { folderMoID: folder.moref } },
  });
  await switchboard.createVm({
    name: 'vm',
    folder: '/DC0/vm/late',
    extraConfig: { 'vmservice.namespacedName': 'late/vm' },
  });
  const shows = (power: string): Promise<true> =>
    eventually(power, async () => (await client.get(VirtualMachine, name)).status?.powerState === power || undefined);
  await shows('PoweredOff');
  await switchboard.powerVm('/DC0/vm/late/vm', true);
  await shows('PoweredOn');
  assert.match(await served('readyz?verbose'), /watch-vms ok: vcenter\S* live, 0 to hand over/);
  assert.match(await served('metrics'), /controller_runtime_reconcile_total\{controller="virtual-machines"/);
});

/** Waits until so many machines and templates are in the watch. */
async function watched(machines: number): Promise<void> {
  const line = `drydock_watch_machines{watch="templates",vcenter="${serverName}"} ${machines}`;
  let seen = '';
  const look = async (): Promise<true | undefined> => {
    seen = await served('metrics');
    return seen.includes(`${line}\n`) || undefined;
  };
  await eventually(line, look, () => seen.split('\n').filter((one) => one.startsWith('drydock_watch')));
}

/** What the operator answers at a path; '' while it does not. */
async function served(path: string): Promise<string> {
  const port = /"port":(\d+)/.exec(await readFile(log, 'utf8'))?.[1];
  return port === undefined ? '' : (await fetch(`http://127.0.0.1:${port}/${path}`)).text();
}
