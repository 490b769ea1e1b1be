import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, test } from 'node:test';
import {
  BootImage,
  type BootImageStatus,
  bootImageName,
  ConfigMap,
  Lease,
  MachineConfiguration,
  MachineSet,
} from '@drydock/api';
import { createClient, type KubeClient, loadKubeconfig, statusWriter } from '@drydock/kube';
import { feed, loopbackOnly, pageAssets, startPage } from '@drydock/page';
import { type Sandbox, startSandbox } from '@drydock/sandbox';
import type { Browser, Page } from 'playwright-core';
import {
  createCluster,
  installerTemplate,
  machineApi,
  machineSet,
  oldRelease,
  serverName,
} from '../sandbox/support/voyage-cluster.ts';
import { accessibility, noBrowser, picture, startBrowser, watched } from './support/browser.ts';
import { syntheticWorld, thousandSets } from './support/synthetic-world.ts';

const root = resolve(import.meta.dirname, '../..');
const leases = 'openshift-machine-config-operator';
const skip = { skip: noBrowser };

let browser: Browser;
before(async () => {
  if (noBrowser === false) browser = await startBrowser();
});
after(() => browser?.close());

/** What a cluster says without an operator in it: a set, what was said of it, who leads, and how its vCenter is. */
interface Rig extends AsyncDisposable {
  readonly url: string;
  readonly say: (status: BootImageStatus) => Promise<void>;
  readonly lead: (holder: string) => Promise<void>;
  /** SIGKILL of the page's server. */
  readonly crash: () => Promise<void>;
}

async function startRig(): Promise<Rig> {
  await using starting = new AsyncDisposableStack();
  const sandbox: Sandbox = starting.use(await startSandbox({ crds: ['openshift', resolve(root, 'api/crds')] }));
  const client: KubeClient = starting.use(createClient(await loadKubeconfig({ kubeconfig: sandbox.kubeconfig })));
  const image = { release: oldRelease, location: 'https://mirror.invalid/rhcos.ova', sha256: '0'.repeat(64) };
  await createCluster(client, { user: 'u', password: 'p' }, image);
  const machineManagers = [
    { resource: 'machinesets', apiGroup: 'machine.openshift.io', selection: { mode: 'All' } },
  ] as const;
  await statusWriter({ client, resource: MachineConfiguration }).write(
    { name: 'cluster' },
    () => ({ observedGeneration: 1, managedBootImagesStatus: { machineManagers } }) as never,
  );
  await client.create(MachineSet, machineSet({ name: 'worker', folder: '/DC0/vm/harbour' }));
  const key = { namespace: machineApi, name: bootImageName('ms', 'worker') };
  const machineSetOf = { apiGroup: 'machine.openshift.io', kind: 'MachineSet', name: 'worker' };
  await client.create(BootImage, { metadata: key, spec: { machineSet: machineSetOf } });
  const lease = { namespace: leases, name: 'drydock-boot-images' };
  await client.create(Lease, { metadata: lease, spec: {} });
  const health = { server: serverName, asOf: new Date().toISOString(), version: '8.0.3', sessions: 1 };
  const datastore = { path: '/DC0/datastore/LocalDS_0', failureDomains: ['fd1'], accessible: true, free: 2 ** 40 };
  await client.create(ConfigMap, {
    metadata: { namespace: leases, name: 'drydock-vcenters' },
    data: { vc: JSON.stringify({ ...health, datastores: [datastore] }) },
  });
  const lead = async (holderIdentity: string): Promise<void> => {
    const now = new Date().toISOString().replace('Z', '000Z');
    const spec = { holderIdentity, leaseDurationSeconds: 3600, acquireTime: now, renewTime: now };
    await client.mergePatch(Lease, lease, { spec });
  };
  const say = async (status: BootImageStatus): Promise<void> => {
    const template = { server: serverName, name: installerTemplate, release: oldRelease };
    const of = { set: 'ms/worker', platform: 'vsphere', current: oldRelease, target: oldRelease, template };
    await statusWriter({ client, resource: BootImage }).write(key, () => ({ ...of, ...status }));
  };
  await lead('drydock-0');
  await say({ phase: 'Current', progress: '-', since: new Date().toISOString() });

  const bin = resolve(root, 'apps/drydock/bin/drydock.js');
  const child = spawn(process.execPath, [bin, 'page', '--port', '0', '--kubeconfig', sandbox.kubeconfig], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  const crash = async (): Promise<void> => {
    child.kill('SIGKILL');
    await exited;
  };
  starting.defer(async () => {
    if (child.exitCode === null && child.signalCode === null) await crash();
  });
  const [url] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  const resources = starting.move();
  return { url, say, lead, crash, [Symbol.asyncDispose]: () => resources.disposeAsync() };
}

const card = (page: Page) => page.locator('.cards .card');

test(
  'the page of a running cluster: each answer with its words as it comes, nothing asked of others, and what is old says so',
  skip,
  async (t) => {
    await using rig = await startRig();
    const { page, faults } = await watched(browser, rig.url);
    await card(page).getByText('Yes', { exact: true }).waitFor();
    const paint = await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0);
    t.diagnostic(`first paint after ${Math.round(paint)} ms`);
    assert.match((await page.getByRole('status').textContent()) ?? '', /^Yes for 1: 1 machine set in 1 place/);
    assert.match(await page.title(), /^Yes for 1 · voyage-4qxl2/);
    assert.match((await card(page).textContent()) ?? '', /fd1.*vCenter vcenter\.voyage\.example.*1 machine set/);

    const progressDetail = { bytes: 2 ** 30, total: 2 ** 31, rate: 2 ** 26, etaSeconds: 16 };
    const message = 'the image is on its way\n<img src=x onerror=alert(1)>\u202e';
    await rig.say({ phase: 'Uploading', progress: '50% 64MiB/s 16s', progressDetail, message });
    await card(page).getByText('Wait', { exact: true }).waitFor();
    await card(page).getByText('1.0 GiB of 2.0 GiB, 64.0 MiB/s, 16s left').waitFor();
    await card(page).getByText('<img src=x onerror=alert(1)>').waitFor();
    assert.equal(await page.locator('img').count(), 0, 'what others wrote is text');
    await page.locator('#operations').getByText('Uploading').waitFor();

    await rig.say({ phase: 'Blocked', reason: 'NoSpace', message: 'no room on ds1', nextStep: 'drydock template gc' });
    await card(page).getByText('No', { exact: true }).waitFor();
    await card(page).getByText('no room on ds1').waitFor();
    await card(page).getByText('drydock template gc').waitFor();
    assert.match((await page.getByRole('status').textContent()) ?? '', /^No for 1: 1 machine set in 1 place/);

    await rig.say({ phase: 'Current', progress: '-' });
    await card(page).getByText('Yes', { exact: true }).waitFor();
    await rig.lead('');
    await card(page).getByText('Unknown', { exact: true }).waitFor();
    await card(page)
      .getByText(/Nobody leads boot images/)
      .waitFor();
    await card(page).getByText('drydock operator', { exact: true }).waitFor();
    await picture(page, 'cluster-unknown');
    assert.deepEqual(faults, []);

    const state = (await (await fetch(new URL('/state', rig.url))).json()) as {
      readonly head: { readonly answer: string };
    };
    assert.equal(state.head.answer, 'unknown');
    await rig.crash();
    await page
      .getByRole('alert')
      .getByText(/What is shown is old/)
      .waitFor();
  },
);

test(
  'a thousand sets: found by name, by phase and by keys alone, with few of them in the document',
  skip,
  async (t) => {
    const sets = thousandSets();
    await using synthetic = await servePage(() => syntheticWorld(sets, new Date()));
    const { page, faults } = await watched(browser, synthetic.url);
    const grid = page.getByRole('grid');
    await grid.waitFor();
    assert.equal(
      await page.getByRole('heading', { level: 1 }).textContent(),
      'Can I scale now? ✔Yes for 989✖No for 11',
    );
    assert.match((await card(page).first().textContent()) ?? '', /Yes for 24\d✖No for \d.*250 machine sets/);
    const rows = grid.locator('.space > [role=row]');
    assert.equal(await grid.getAttribute('aria-rowcount'), '1001');

    // By keys alone, from the top of the page on.
    await page.keyboard.press('Tab');
    assert.equal(await page.evaluate(() => document.activeElement?.textContent), 'To the machine sets');
    await page.keyboard.press('Enter');
    for (let at = 0; at < 30 && !(await isFocused(page, 'grid')); at += 1) await page.keyboard.press('Tab');
    assert.ok(await isFocused(page, 'grid'), 'Tab reaches the list');
    await page.keyboard.press('End');
    await rows.getByText('ms/worker-0999').waitFor();
    const active = await grid.getAttribute('aria-activedescendant');
    assert.equal(await page.locator(`[id="${active}"] .name`).textContent(), 'ms/worker-0999');
    assert.ok((await rows.count()) < 80, `${await rows.count()} rows are in the document`);
    await page.keyboard.press('PageUp');
    await page.keyboard.press('End');
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog');
    await dialog.getByText('drydock explain ms/worker-0999').waitFor();
    assert.deepEqual(await accessibility(page), [], 'the dialog');
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'hidden' });
    assert.ok(await isFocused(page, 'grid'), 'the focus comes back');

    await page.evaluate(() => {
      const held: number[] = [];
      Object.assign(globalThis, { held });
      new PerformanceObserver((list) => held.push(...list.getEntries().map(({ duration }) => duration))).observe({
        entryTypes: ['longtask'],
      });
    });
    for (let top = 0; top <= 44_000; top += 4400)
      await grid.evaluate((element, to) => {
        element.scrollTop = to;
        return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
      }, top);
    const held = await page.evaluate(() => (globalThis as unknown as { readonly held: number[] }).held);
    t.diagnostic(`scrolled through a thousand sets: ${held.length} tasks above 50 ms`);

    await page.getByRole('searchbox').fill('worker-0500');
    await page.getByRole('heading', { name: 'Machine sets 1 of 1000' }).waitFor();
    await page.getByRole('searchbox').fill('');
    await page.getByRole('combobox').selectOption('Failed');
    await page.getByRole('heading', { name: /Machine sets 11 of 1000/ }).waitFor();
    assert.equal(await rows.count(), 11);
    assert.deepEqual(faults, []);
  },
);

test(
  'it reads on a phone and on a wall, light and dark, and an accessibility checker finds nothing',
  skip,
  async () => {
    const { demonstration } = await import('./support/demonstration.ts');
    await using synthetic = await servePage(demonstration);
    const { page, faults } = await watched(browser, synthetic.url);
    await card(page).first().waitFor();
    for (const theme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' });
      for (const [width, height] of [
        [360, 740],
        [1280, 900],
        [2560, 1440],
      ] as const) {
        await page.setViewportSize({ width, height });
        const wide = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
        assert.ok(wide <= 0, `${width}: ${wide} pixels are beyond the edge`);
        // A phone has the other layout; colours are the same for all.
        if (width === 1280 || (width === 360 && theme === 'light'))
          assert.deepEqual(await accessibility(page), [], `${width} ${theme}`);
        await picture(page, `${width}-${theme}`);
      }
    }
    // The other theme, by the button, for whoever does not take the system's.
    const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const before = await ground();
    const button = page.getByRole('button', { name: /^Colours/ });
    await button.click();
    await button.click();
    assert.notEqual(await ground(), before);
    assert.deepEqual(await page.context().cookies(), []);
    assert.deepEqual(faults, []);
    await page.context().close();
  },
);

test(
  'control: an accessibility checker that finds nothing would find this, and a foreign request is seen',
  skip,
  async () => {
    await using synthetic = await servePage(() => syntheticWorld([], new Date()));
    const { page, faults } = await watched(browser, synthetic.url);
    await page.getByText('There are no machine sets here').waitFor();
    await page.evaluate(() => {
      const broken = document.createElement('button');
      document.body.append(broken);
      void fetch('http://127.0.0.1:9/elsewhere').catch(() => undefined);
    });
    assert.match((await accessibility(page)).join(), /button-name/);
    assert.match(faults.join(), /connect-src/);
  },
);

function isFocused(page: Page, role: string): Promise<boolean> {
  return page.evaluate((of) => document.activeElement?.getAttribute('role') === of, role);
}

async function servePage(
  world: () => ReturnType<typeof syntheticWorld>,
): Promise<AsyncDisposable & { readonly url: string }> {
  const state = feed({
    read: () => Promise.resolve(world()),
    triggers: () => ({ [Symbol.asyncDispose]: () => Promise.resolve() }),
  });
  const server = await startPage({
    feed: state,
    assets: await pageAssets(),
    admit: loopbackOnly,
    host: '127.0.0.1',
    port: 0,
  });
  return {
    url: server.url,
    [Symbol.asyncDispose]: async () => {
      await server[Symbol.asyncDispose]();
      await state[Symbol.asyncDispose]();
    },
  };
}
