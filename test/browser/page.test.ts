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
import { accessibility, noBrowser, picture, pictures, startBrowser, watched } from './support/browser.ts';
import { longNames, syntheticWorld, thousandSets } from './support/synthetic-world.ts';

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

const place = (page: Page) => page.locator('#places li');
const answer = (page: Page) => page.getByRole('status');
const rows = (page: Page) => page.locator('#sets tbody tr');

test(
  'the page of a running cluster: each answer with its words as it comes, nothing asked of others, and what is old says so',
  skip,
  async (t) => {
    await using rig = await startRig();
    const { page, faults } = await watched(browser, rig.url);
    await place(page).getByText('Yes', { exact: true }).waitFor();
    const paint = await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0);
    t.diagnostic(`first paint after ${Math.round(paint)} ms`);
    assert.equal(await answer(page).textContent(), 'Yes');
    assert.match(await page.title(), /^Yes for 1 · voyage-4qxl2/);
    await page.getByText('1 machine set in 1 failure domain.').waitFor();
    assert.match((await place(page).textContent()) ?? '', /fd1.*1 machine set.*vCenter vcenter\.voyage\.example/);
    assert.equal(await page.locator('#problems, #operations').count(), 0, 'where all is well');

    const progressDetail = { bytes: 2 ** 30, total: 2 ** 31, rate: 2 ** 26, etaSeconds: 16 };
    const message = 'the image is on its way\n<img src=x onerror=alert(1)>\u202e';
    await rig.say({ phase: 'Uploading', progress: '50% 64MiB/s 16s', progressDetail, message });
    await place(page).getByText('Wait', { exact: true }).waitFor();
    const operations = page.locator('#operations');
    await operations.getByText('1.0 GiB of 2.0 GiB, 64.0 MiB/s, 16s left').waitFor();
    await operations.getByText('<img src=x onerror=alert(1)>').waitFor();
    assert.equal(await page.locator('img').count(), 0, 'what others wrote is text');

    await rig.say({ phase: 'Blocked', reason: 'NoSpace', message: 'no room on ds1', nextStep: 'drydock template gc' });
    const problems = page.locator('#problems');
    await problems.getByText('no room on ds1').waitFor();
    await problems.getByText('1 machine set in fd1: ms/worker').waitFor();
    await problems.getByText('drydock template gc').waitFor();
    assert.equal(await answer(page).textContent(), 'No');

    await rig.say({ phase: 'Current', progress: '-' });
    await place(page).getByText('Yes', { exact: true }).waitFor();
    await rig.lead('');
    await place(page).getByText('Unknown', { exact: true }).waitFor();
    await problems.getByText(/Nobody leads boot images since \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/).waitFor();
    await problems.getByText('drydock operator', { exact: true }).waitFor();
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
  'FIND-23: a thousand machine sets are sorted, searched and reduced to their problems, by keys alone, with few of them in the document',
  skip,
  async (t) => {
    const sets = thousandSets();
    await using synthetic = await servePage(() => syntheticWorld(sets));
    const { page, faults } = await watched(browser, synthetic.url);
    await rows(page).first().waitFor();
    assert.equal(await answer(page).textContent(), 'Yes for 989No for 11');
    assert.match((await place(page).first().textContent()) ?? '', /250 machine sets.*Yes for 24\dNo for \d/);
    const problem = page.locator('#problems li');
    assert.match(
      (await problem.textContent()) ?? '',
      /the upload ended11 machine sets in fd0, fd1, fd2, fd3: .*6 more/,
    );
    const first = () => rows(page).first().getByRole('button').textContent();
    assert.equal(await first(), 'ms/worker-0005', 'problems first');
    await page.evaluate(() => {
      const held: number[] = [];
      Object.assign(globalThis, { held });
      new PerformanceObserver((list) => held.push(...list.getEntries().map(({ duration }) => duration))).observe({
        entryTypes: ['longtask'],
      });
    });

    // By keys alone, from the top of the page on.
    await page.keyboard.press('Tab');
    assert.equal(await focused(page), 'To the machine sets');
    await page.keyboard.press('Enter');
    await tabTo(page, 'Machine set');
    await page.keyboard.press('Enter');
    assert.equal(await first(), 'ms/worker-0000');
    await page.keyboard.press('Enter');
    assert.equal(await first(), 'ms/worker-0999', 'the other way');
    assert.equal(
      await page.getByRole('columnheader', { name: 'Machine set', exact: true }).getAttribute('aria-sort'),
      'descending',
    );
    await tabTo(page, 'ms/worker-0999');
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog');
    await dialog.getByText('drydock explain ms/worker-0999').waitFor();
    assert.deepEqual(await accessibility(page), [], 'the dialog');
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'hidden' });
    assert.equal(await focused(page), 'ms/worker-0999', 'the focus comes back');
    await tabTo(page, 'Next');
    await page.keyboard.press('Enter');
    assert.equal(await first(), 'ms/worker-0974');
    await page.getByText('26 to 50 of 1,000').waitFor();
    assert.ok((await rows(page).count()) < 80, `${await rows(page).count()} rows are in the document`);

    for (const head of ['Scale now?', 'Image', 'Failure domain', 'Since']) {
      await page.getByRole('columnheader', { name: head }).getByRole('button').click();
      await page.locator(`th[aria-sort=ascending]`, { hasText: head }).waitFor();
    }
    await page.getByRole('searchbox').fill('worker-0500');
    await page.getByRole('heading', { name: 'Machine sets 1 of 1,000' }).waitFor();
    await page.getByRole('searchbox').fill('');
    await page.getByRole('switch').click();
    await page.getByRole('heading', { name: 'Machine sets 11 of 1,000' }).waitFor();
    assert.equal(await rows(page).count(), 11);
    const held = await page.evaluate(() => (globalThis as unknown as { readonly held: number[] }).held);
    t.diagnostic(`sorted and searched a thousand machine sets: ${held.length} tasks above 50 ms`);
    assert.deepEqual(faults, []);
  },
);

/** What a designer would see at once: a sentence each. */
function flaws(): readonly string[] {
  const found: string[] = [];
  const of = ({ tagName, className, textContent }: Element): string =>
    `${tagName}.${className} ${textContent.slice(0, 80)}`;
  const { scrollWidth } = document.documentElement;
  if (scrollWidth > window.innerWidth) found.push(`${scrollWidth - window.innerWidth} pixels are beyond the edge`);
  const shown = [...document.querySelectorAll<HTMLElement>('body *')].filter(
    (element) => element.checkVisibility() && !element.matches('.skip, svg *'),
  );
  for (const element of shown) {
    if (element.clientWidth > 0 && element.scrollWidth > element.clientWidth) found.push(`cut: ${of(element)}`);
    const { right } = element.getBoundingClientRect();
    if (right > window.innerWidth + 1) found.push(`outside: ${of(element)}`);
    for (const node of element.childNodes) {
      if (!(node instanceof Text)) continue;
      for (const { 0: word, index } of node.data.matchAll(/\S+/g)) {
        const range = document.createRange();
        range.setStart(node, index);
        range.setEnd(node, index + word.length);
        const lines = new Set([...range.getClientRects()].map(({ top }) => Math.round(top)));
        // A word that is wider than a phone has no other place to break.
        if (lines.size > 1 && word.length < 32)
          found.push(`broken: ${word} in ${of(element.parentElement ?? element)}`);
      }
    }
  }
  // On the narrowest phones a long text goes on below.
  const first = document.querySelector(window.innerWidth < 390 ? '#problems li' : '#problems li p');
  const place = first?.getBoundingClientRect();
  const end = window.innerWidth < 390 ? place?.top : place?.bottom;
  if (end !== undefined && end + window.scrollY > 600) found.push(`the first problem ends at ${end}`);
  for (const list of document.querySelectorAll('.list, .cards, .wide, .halves, .conditions')) {
    const lines = Map.groupBy([...list.children], (child) => Math.round(child.getBoundingClientRect().top));
    for (const children of lines.values())
      if (
        Math.max(...children.map((child) => child.getBoundingClientRect().right)) <
        list.getBoundingClientRect().right - 1
      )
        found.push(`a row of ${of(list)} is not full`);
  }
  return found;
}

const thousand = thousandSets();
const worlds = {
  4: async () => (await import('./support/demonstration.ts')).demonstration(),
  1000: async () => syntheticWorld(thousand),
  // Three machine sets, for rows that two columns leave half empty, and names as long as they get.
  3: async () => longNames(),
};

for (const [sets, world] of Object.entries(worlds))
  test(
    `FIND-23: ${sets} machine sets at 390 to 1,920 pixels, light and dark: nothing is cut, problems come first, and an accessibility checker finds nothing`,
    skip,
    async (t) => {
      const shown = await world();
      await using synthetic = await servePage(() => shown);
      const { page, faults } = await watched(browser, synthetic.url);
      await rows(page).first().waitFor();
      for (const theme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' });
        for (const width of [360, 390, 800, 1400, 1920, 2560]) {
          await page.setViewportSize({ width, height: 900 });
          assert.deepEqual(await page.evaluate(flaws), [], `${width} ${theme}`);
          const display = await rows(page)
            .first()
            .evaluate((row) => getComputedStyle(row).display);
          assert.equal(display, width < 640 ? 'block' : 'table-row', `${width}`);
          if (width >= 390 && width <= 1400) assert.deepEqual(await accessibility(page), [], `${width} ${theme}`);
          if (sets !== '3' && [390, 800, 1400].includes(width))
            await picture(page, `page-${sets}-${width}-${theme}`, width === 390 ? 1600 : 1200);
        }
      }
      t.diagnostic(`pictures are in ${pictures}`);
      assert.deepEqual(faults, []);
      await page.context().close();
    },
  );

test(
  'FIND-23: times are ISO times, commands have a button that copies them, prose has none, and ages are counted',
  skip,
  async () => {
    const { demonstration } = await import('./support/demonstration.ts');
    const world = demonstration();
    await using synthetic = await servePage(() => world);
    const { page, faults } = await watched(browser, synthetic.url);
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await rows(page).first().waitFor();
    const times = await page.locator('time').allTextContents();
    assert.ok(times.length > 10);
    for (const time of times) assert.match(time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    assert.doesNotMatch((await page.locator('#page').textContent()) ?? '', /since \d+[smhd]|\d[smhd] ago/);

    const steps = page.locator('#problems .next');
    assert.deepEqual(
      await steps.evaluateAll((all) => all.map((one) => one.querySelectorAll('button').length)),
      [1, 1, 0],
    );
    await steps.nth(1).getByRole('button', { name: 'Copy drydock status -o wide' }).click();
    await steps.nth(1).getByText('Copied').waitFor();
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), 'drydock status -o wide');
    assert.match((await steps.nth(1).textContent()) ?? '', /Copied for the sets whose images are too old or fail$/);

    assert.deepEqual(await page.locator('.ages > div').allTextContents(), [
      'Up to 30 days1 (25 %)',
      '91 to 180 days3 (75 %)',
    ]);
    await page.getByText('New machines of 3 of 4 machine sets start from an image').waitFor();

    // The other theme, by the button, for a reader who does not take the system's.
    const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const before = await ground();
    await page.getByRole('button', { name: /^Theme/ }).click();
    assert.notEqual(await ground(), before);
    assert.deepEqual(await page.context().cookies(), []);
    assert.deepEqual(faults, []);
  },
);

test(
  'control: an accessibility checker that finds nothing would find this, and a foreign request is seen',
  skip,
  async () => {
    await using synthetic = await servePage(() => syntheticWorld([]));
    const { page, faults } = await watched(browser, synthetic.url);
    await page.getByText('There are no machine sets here, so there is nothing to scale.').waitFor();
    await page.evaluate(() => {
      const broken = document.createElement('button');
      document.body.append(broken);
      void fetch('http://127.0.0.1:9/elsewhere').catch(() => undefined);
    });
    assert.match((await accessibility(page)).join(), /button-name/);
    assert.match(faults.join(), /connect-src/);
  },
);

function focused(page: Page): Promise<string> {
  return page.evaluate(() => document.activeElement?.textContent ?? '');
}

async function tabTo(page: Page, text: string): Promise<void> {
  for (let at = 0; at < 60 && (await focused(page)) !== text; at += 1) await page.keyboard.press('Tab');
  assert.equal(await focused(page), text);
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
