import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import { scratchFolder } from '@drydock/sandbox';
import { startProcess } from './support/operator-process.ts';
import { eventually, startVoyage, type Voyage } from './support/voyage.ts';
import { installerTemplate, oldRelease, serverName } from './support/voyage-cluster.ts';

const drydock = resolve(import.meta.dirname, '../../apps/drydock/bin/drydock.js');
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
      compiled: join(files, 'compiled'),
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
  assert.ok(performance.now() - at < 1_500, `${Math.round(performance.now() - at)} ms`);
  await voyage.event('wk-a', 'Switched');
  const repaired = await voyage.template('wk-a');
  assert.notEqual(repaired, installerTemplate);
  const inventory = await voyage.inventory(folder);
  assert.equal(inventory.get(repaired)?.isTemplate, true);
  await voyage.current('wk-a', oldRelease);

  // Its successor is watched as well.
  await voyage.switchboard.renameVm(`${folder}/${repaired}`, 'mislaid');
  await voyage.event('wk-a', 'TemplateChanged', `template ${repaired} was renamed to mislaid on ${serverName}`);
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

test('the role alone says what the cluster lacks, and which CRDs to install', async () => {
  const { sandbox } = voyage;
  const child = spawn(process.execPath, [drydock, 'operator', '--roles', 'watch', '--kubeconfig', sandbox.kubeconfig], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const said = text(child.stderr);
  await once(child, 'exit');
  assert.equal(child.exitCode, 1);
  assert.match(
    await said,
    /does not serve virtualmachines\.vmoperator\.vmware\.com and zones\.topology\.tanzu\.vmware\.com/,
  );
  assert.match(await said, /Install the CRDs of api\/optional/);
});

/** Waits until so many machines and templates are in the watch. */
async function watched(machines: number): Promise<void> {
  const line = `drydock_watch_machines{watch="templates",vcenter="${serverName}"} ${machines}`;
  let seen = '';
  const look = async (): Promise<true | undefined> => {
    const port = /"port":(\d+)/.exec(await readFile(log, 'utf8'))?.[1];
    if (port === undefined) return undefined;
    seen = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    return seen.includes(`${line}\n`) || undefined;
  };
  await eventually(line, look, () => seen.split('\n').filter((one) => one.startsWith('drydock_watch')));
}
