import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import { Lease, Machine } from '@drydock/api';
import { goldenNamespace } from '@drydock/boot-images';
import { crdFolder, scratchFolder } from '@drydock/sandbox';
import { writeTestOva } from '@drydock/templates/testing';
import { type Block, blocksOf, pages, root, textOf, transcriptsOf } from '../book/blocks.ts';
import { misshapen } from '../book/shape.ts';
import { operatorProgram } from './support/crash-rig.ts';
import { type Process, startProcess } from './support/operator-process.ts';
import { eventually, startVoyage, type Voyage } from './support/voyage.ts';
import { installerTemplate, machineApi, oldRelease, serverName } from './support/voyage-cluster.ts';

const set = 'worker-a';
const [first, second, third] = ['9.8.20260802-0', '9.9.20260903-0', '9.10.20261004-0'] as const;

let voyage: Voyage;
let operator: Process;
let scratch: ReturnType<typeof scratchFolder>;
let env: NodeJS.ProcessEnv;

before(async () => {
  voyage = await startVoyage({ operator: false });
  scratch = scratchFolder();
  const { kubeconfig, directory, vcenter } = voyage.sandbox;
  const reach = ['--vcenter-url', `${serverName}=${vcenter.url}`, '--vcenter-ca', vcenter.ca];
  const logs = { sandbox: directory, log: join(directory, 'operator.log'), compiled: join(directory, 'compiled') };
  const flags = ['--kubeconfig', kubeconfig, '--port', '0', '--cache-dir', voyage.cacheDir, ...reach];
  await voyage.createSet({ name: set, folder: await voyage.folder(set) });
  operator = startProcess(operatorProgram.module, ['operator', ...flags], logs);
  await voyage.current(set, oldRelease);
  for (const release of [first, second]) {
    await voyage.release(await voyage.image(release));
    await voyage.current(set, release);
  }
  await voyage.switchboard.createFolder('/DC0/vm/images');
  await voyage.switchboard.createFolder('/DC0/vm/start');
  for (const [at, template] of [installerTemplate, await voyage.template(set)].entries()) {
    const labels = { 'machine.openshift.io/cluster-api-machineset': set };
    const machine = await voyage.client.create(Machine, {
      metadata: { name: `worker-${at + 1}`, namespace: machineApi, labels },
      spec: { providerSpec: { value: { template } } },
    });
    await voyage.client.replaceStatus(Machine, { ...machine, status: { nodeRef: { name: `node-${at + 1}` } } });
  }

  // What a reader has beside: the program by its name, an authority, and images.
  const bin = join(scratch.path, 'bin');
  await mkdir(bin);
  const where = [process.execPath, operatorProgram.module, '"$@"'].join(' ');
  const reaches = reach.map((word) => `'${word}'`).join(' ');
  const more = `case "$1" in explain|doctor|image|support-bundle|uninstall) set -- "$@" ${reaches};; esac`;
  await writeFile(join(bin, 'drydock'), `#!/bin/sh\n${more}\nexec ${where}\n`, { mode: 0o755 });
  await copyFile(vcenter.ca, join(scratch.path, 'ca.pem'));
  for (const name of ['api', 'deploy']) await symlink(join(root, name), join(scratch.path, name));
  await symlink(crdFolder('openshift-4.17'), join(scratch.path, 'crds-4.17'));
  for (const [at, release] of ['9.6.1', '9.6.2'].entries())
    await writeTestOva(join(scratch.path, `base-${release}.ova`), { version: release, diskBytes: 2 ** 18, seed: at });
  env = {
    ...process.env,
    ...{ PATH: `${bin}:${process.env['PATH'] ?? ''}`, KUBECONFIG: kubeconfig, HOME: scratch.path, NO_COLOR: '1' },
    ...{ GOVC_URL: vcenter.url, GOVC_USERNAME: vcenter.user, GOVC_PASSWORD: vcenter.password },
    ...{ GOVC_TLS_CA_CERTS: vcenter.ca, GOVC_FOLDER: '/DC0/vm/images', GOVC_CLUSTER: 'DC0_C0' },
    ...{ GOVC_NETWORK: 'VM Network', DRYDOCK_MARK_KEY: `k1:${'0123456789abcdef'.repeat(4)}`, XDG_STATE_HOME: '' },
  };
});
after(async () => {
  await operator?.[Symbol.asyncDispose]();
  scratch?.[Symbol.dispose]();
  await voyage?.[Symbol.asyncDispose]();
});

interface Ran {
  readonly code: number;
  readonly printed: readonly string[];
}

async function ran(line: string): Promise<Ran> {
  const child = spawn('bash', ['-c', `exec 2>&1; ${line}`], {
    cwd: scratch.path,
    env,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const [printed, [code]] = await Promise.all([text(child.stdout), once(child, 'exit') as Promise<[number]>]);
  return { code, printed: printed.split('\n') };
}

/** What placeholders stand for here, without what is said behind the command. */
const filled = (line: string): string =>
  line
    .replace(/ +# .*$/, '')
    .replaceAll(/\bSET\b/g, set)
    .replaceAll(/\bNAME\b/g, 'legacy');

/** Codes of commands that do not end with 0 here, one after the other. */
const CODES: Readonly<Record<string, readonly number[]>> = {
  // What 4.17 does not know is told.
  'drydock crd preflight --to crds-4.17': [3],
  'drydock doctor --as system:serviceaccount:drydock:drydock-boot-images': [3],
  'drydock image plan --vcenter-ca ca.pem --out plan.json': [6],
  'drydock template plan publish base-9.6.1.ova --name start': [6],
  'drydock template plan publish base-9.6.2.ova --name legacy --swap --out swap.plan': [6],
  'drydock template publish base-9.6.1.ova --name legacy --swap': [3, 0],
  'drydock uninstall --vcenter-ca ca.pem': [3],
  // Nobody listens where it looks.
  'drydock watch status': [1],
};

const executed = pages()
  .flatMap((file) => blocksOf(file, textOf(file)))
  .filter(({ language, words }) => (language === 'sh' || language === 'console') && words.length === 0);
const seen = new Map<string, number>();
const known = new Map<string, Ran>();

/** What only reads says the same with the authority that all have here. */
const reading = (line: string): string => line.replace(' --vcenter-ca ca.pem', '');

/** Plays the blocks of pages; what only reads is run once, unless `fresh`. What is wrong. */
async function play(blocks: readonly Block[], fresh: boolean = false): Promise<readonly string[]> {
  const wrong: string[] = [];
  for (const block of blocks)
    for (const { command, output } of transcriptsOf(block)) {
      const line = filled(command);
      // There are no pods here; what it names is looked at by test/book.
      if (line.startsWith('kubectl ')) continue;
      const was = fresh || / (?:template|cat) /.test(` ${line} `) ? undefined : known.get(reading(line));
      const times = seen.get(line) ?? 0;
      const { code, printed } = was ?? (await ran(line));
      const codes = CODES[line] ?? [0];
      const wanted = codes[was === undefined ? times : 0] ?? codes.at(-1);
      if (was === undefined) seen.set(line, times + 1);
      known.set(reading(line), { code, printed });
      const at = `${block.file}:${block.line}: ${line}`;
      if (code !== wanted) wrong.push(`${at}: ended with ${code}, not with ${wanted}: ${printed.join('\n')}`);
      const said = output === undefined ? undefined : misshapen(output, printed);
      if (said !== undefined) wrong.push(`${at}: ${said}; all of it:\n${printed.join('\n')}`);
    }
  return wrong;
}

const of = (file: string): readonly Block[] => executed.filter((block) => block.file === file);
const [templates, start, wayBack, incidents, plan] = ['templates', 'start', 'way-back', 'incidents', 'plan'].map(
  (name) => `docs/${name}.md`,
) as [string, string, string, string, string];
const acting = new Set([templates, start, wayBack, incidents, plan]);

test('a pipeline: what the page on templates shows is what happens', async () => {
  const at = { folder: '/DC0/vm/images', cluster: '/DC0/host/DC0_C0' };
  await voyage.switchboard.createVm({ ...at, name: 'legacy', productVersion: '8.10', template: true });
  assert.deepEqual(await play(of(templates)), []);
});

test('the first ten minutes with a vCenter and with a cluster', async () => {
  env = { ...env, GOVC_FOLDER: '/DC0/vm/start' };
  assert.deepEqual(await play(of(start)), []);
  env = { ...env, GOVC_FOLDER: '/DC0/vm/images' };
});

test('each command of the other pages that can be executed ends as it should, and prints what the page shows', async () => {
  const others = executed.filter(({ file }) => !acting.has(file));
  assert.ok(others.length >= 20, `only ${others.length} blocks were seen`);
  assert.deepEqual(await play(others), []);
});

test('a set goes back, is held, and is released', async () => {
  assert.deepEqual(await play(of(wayBack)), []);
  await voyage.current(set, second);
});

test('a pause, a plan that is applied during it, and what incidents ask', async () => {
  const [table, ...pause] = of(incidents);
  assert.deepEqual(await play(table === undefined ? [] : [table]), []);
  assert.deepEqual(await play(pause), []);
  await voyage.current(set, second);
  await ran('drydock pause --role boot-images');
  await eventually('the lease was given back', async () => ((await leads()) === '' ? true : undefined));
  await voyage.release(await voyage.image(third));
  assert.deepEqual(await play(of(plan), true), []);
  await voyage.current(set, third);
});

const leads = async (): Promise<string | undefined> => {
  const lease = { namespace: goldenNamespace, name: 'drydock-boot-images' };
  return (await voyage.client.get(Lease, lease)).spec?.holderIdentity;
};

test('negative control: another word, a line more and a line less are found', () => {
  const shown = ['NAME   SINCE', 'a-1    3s', '…', 'next: see b'];
  assert.equal(misshapen(shown, ['NAME SINCE', 'a-2 4m', 'whatever', 'next: see b', '']), undefined);
  assert.equal(
    misshapen(shown, ['NAME SINCE', 'b-2 ago', 'next: see b']),
    'the book shows "a-1 3s", where "b-2 ago" was printed',
  );
  assert.match(misshapen(shown, ['NAME SINCE', 'a-2 4m', 'next: see c']) ?? '', /the book shows "next: see b"/);
  assert.equal(misshapen(['a'], ['a', 'b']), 'the book does not show "b"');
  assert.equal(misshapen(['1 MiB/s, then 5 s'], ['20.5 KiB/s, then 300 ms']), undefined);
});
