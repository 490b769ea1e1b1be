import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import { BootImage, bootImageName, ConfigMap, Lease, Machine, MachineSet } from '@drydock/api';
import { type ApiGate, openApiGate } from './support/api-gate.ts';
import { operatorProgram } from './support/crash-rig.ts';
import { type Ended, flaws, imageReach, runDrydock, runImage } from './support/image-cli.ts';
import { type Process, startProcess } from './support/operator-process.ts';
import { eventually, startVoyage, type Voyage } from './support/voyage.ts';
import { clusterID, installerTemplate, machineApi, oldRelease, serverName } from './support/voyage-cluster.ts';

const set = 'quay';
const key = { namespace: machineApi, name: bootImageName('ms', set) };
const leaseKey = { namespace: machineApi, name: 'drydock-boot-images' };
const [first, second, third, fourth] = [
  '9.8.20260802-0',
  '9.9.20260903-0',
  '9.10.20261004-0',
  '9.11.20261105-0',
] as const;

let voyage: Voyage;
let gate: ApiGate;
let operator: Process;
let start: () => Process;

before(async () => {
  voyage = await startVoyage({ operator: false });
  gate = await openApiGate(voyage.sandbox);
  const { directory } = voyage.sandbox;
  const kubeconfig = join(directory, 'operator.kubeconfig');
  await writeFile(kubeconfig, gate.kubeconfig, { mode: 0o600 });
  const logs = { sandbox: directory, log: join(directory, 'operator.log'), compiled: join(directory, 'compiled') };
  const folder = await voyage.folder(set);
  const args = operatorProgram.args({ voyage, kubeconfig, folder });
  start = () => startProcess(operatorProgram.module, args, logs);
  await voyage.createSet({ name: set, folder });
  operator = start();
  await voyage.current(set, oldRelease);
  await voyage.release(await voyage.image(first));
  await voyage.current(set, first);
});

after(async () => {
  await operator?.[Symbol.asyncDispose]();
  await gate?.[Symbol.asyncDispose]();
  await voyage?.[Symbol.asyncDispose]();
});

const drydock = (...args: readonly string[]): Promise<Ended> => runDrydock(voyage.sandbox, ...args);
/** What it printed, of a verb that was to end so. */
async function said(code: number, ...args: readonly string[]): Promise<string> {
  const ended = await drydock(...args);
  assert.equal(ended.code, code, `${args.join(' ')}: ${ended.out}${ended.errors}`);
  return `${ended.out}${ended.errors}`;
}
const holder = async (): Promise<string | undefined> => (await voyage.client.get(Lease, leaseKey)).spec?.holderIdentity;
const paused = async () =>
  (await voyage.client.get(BootImage, key)).status?.conditions?.find(({ type }) => type === 'Paused');

test('a pause outlives whoever led: nothing is begun, all say so and lose nothing, a plan may be applied; resume goes on, and one with an end lapses', async () => {
  const { history, template, revertTo } = (await voyage.client.get(BootImage, key)).status ?? {};
  const pause = await drydock('pause', '--role', 'boot-images', '--reason', 'the storage is moved', '-o', 'json');
  assert.deepEqual([pause.code, flaws('pause', pause.out)], [0, []], pause.errors);
  await eventually('the lease was given back', async () => (await holder()) === '' || undefined);
  await eventually('the image says so', async () => ((await paused())?.status === 'True' ? true : undefined));
  assert.match((await paused())?.message ?? '', /^boot images are paused by .*: the storage is moved; drydock resume/);

  // Whoever comes after one that was killed is as paused.
  await operator.crash();
  const image = await voyage.image(second);
  await voyage.release(image);
  operator = start();
  const words =
    /Nobody leads boot images, which are paused since \d+[smh] by .*: the storage is moved\. To go on: drydock resume --role boot-images/;
  assert.match(await said(0, 'status'), words);
  assert.match(await said(0, 'status', '-o', 'wide'), /Pending +paused .*drydock resume --role boot-images/);
  assert.match(await said(0, 'tree'), words);
  const doctor = await drydock('doctor', '--roles', 'boot-images');
  assert.match(doctor.out, /warn +boot-images +nobody leads it, which is paused since .*: the storage is moved/);
  const is = (await voyage.client.get(BootImage, key)).status;
  assert.deepEqual([is?.history, is?.template, is?.revertTo], [history, template, revertTo]);

  const plan = join(voyage.sandbox.directory, 'paused.plan');
  assert.equal((await runImage(voyage.sandbox, 'plan', '--out', plan)).code, 6);
  const applied = await runImage(voyage.sandbox, 'apply', plan, '--yes', '--cache-dir', voyage.cacheDir);
  assert.equal(applied.code, 0, applied.errors);
  await voyage.current(set, second);
  await eventually('it is paused still', async () => ((await paused())?.status === 'True' ? true : undefined));

  await voyage.release(await voyage.image(third));
  assert.match(await said(0, 'resume'), /^boot-images may go on\n/);
  await voyage.current(set, third);
  assert.equal(await paused(), undefined);
  assert.match(await said(0, 'resume'), /^boot-images was not paused\n/);

  let until = '';
  for (let ms = 5_000, given = false; !given; ms *= 3) {
    until = `${new Date(Date.now() + ms).toISOString().slice(0, 19)}Z`;
    const annotations = { 'drydock.dev/pause': JSON.stringify({ until }) };
    await voyage.client.mergePatch(Lease, leaseKey, { metadata: { annotations } });
    // A slow machine may look after it has lapsed: then it is asked for longer.
    const over = Date.parse(until);
    given = await eventually('the lease was given back', async () => {
      if ((await holder()) === '') return true;
      return Date.now() > over ? false : undefined;
    });
  }
  await eventually('it is led again', async () => (await holder()) !== '' || undefined);
  assert.ok(Date.now() >= Date.parse(until), 'not before it lapsed');
});

/** A question as `docs/incidents.md` has it. */
interface Row {
  readonly question: string;
  readonly commands: readonly string[];
}

async function rows(): Promise<readonly Row[]> {
  const book = await readFile(new URL('../../docs/incidents.md', import.meta.url), 'utf8');
  return [...book.matchAll(/^\| ([A-Z][^|]*\?) +\| ([^|]*) \|/gm)].map(([, question = '', commands = '']) => ({
    question,
    commands: [...commands.matchAll(/`([^`]+)`/g)].map(([, command = '']) => command),
  }));
}

/** How a question is played: what its placeholders stand for, which codes its commands end with, and the answer in all that they print. */
interface Play {
  readonly names?: Readonly<Record<string, string>>;
  readonly codes?: readonly number[];
  readonly answer: RegExp;
}

const adrift = 'adrift';
const apart = 'apart';
const definitions = join(import.meta.dirname, '../../api/crds');
// A pod has its name for the name of its host, before the underscore.
const led = new RegExp(`^${hostname()}_\\S+ leads boot images since \\d+[smh]\\n`);
const secret = 'takes the password in Secret kube-system/vsphere-creds';
const asIs: Readonly<Record<string, Play>> = {
  'Why does ms/a not update?': {
    names: { SET: adrift },
    codes: [3],
    answer:
      /\nms\/adrift: blocked\n[\s\S]* NO +image +failed to find folder: \/DC0\/vm\/not-yet does not exist [\s\S]* next +Correct the folder of /,
  },
  'Who changed the template?': {
    names: { SET: set },
    answer: new RegExp(`ms/${set} +release +4\\.21\\.0 +was moved by the release to ${third} \\(\\S+-${third}-`),
  },
  'Is it safe to scale now?': {
    codes: [3],
    answer: new RegExp(
      `\\nms-${adrift} .* (?:Blocked|Failed) +\\w+: FolderNotFound [\\s\\S]*\\nms-${set} .* Current [\\s\\S]*\\nOne set is stuck\\. Why: drydock status -o wide, or drydock explain ${adrift}\\n[\\s\\S]*\\nCan I scale now\\? .*[Nn]o for \\d+, 1 not managed\\n`,
    ),
  },
  'Which machines run an old image?': {
    answer: new RegExp(`^MACHINE .*\nquay-old +ms/${set} +${oldRelease} +old +node-1 .*\n$`),
  },
  'Why is it degraded?': {
    answer:
      /\nms-adrift .* (?:Blocked|Failed) .*: \/DC0\/vm\/not-yet does not exist .* Correct the folder of the failure domain/,
  },
  'Who owns this VM?': {
    codes: [0, 0],
    answer: new RegExp(
      `\\nquay-new +ms/${set} +${third} +current +node-2 [\\s\\S]*\\nNAME +ROLE +RELEASE +AGE +OWNER\\n[\\s\\S]*-${third}-\\S+ +foreign +${third} +\\S+ +${clusterID}\\n`,
    ),
  },
  'How do I go back to the previous image?': {
    names: { SET: set },
    codes: [0, 5],
    answer: new RegExp(
      `${second} +release +Replaced[\\s\\S]*\\nTo go back: drydock image revert ms/${set} --to \\w+\\nms/${set}: ${third} → ${second}\\n`,
    ),
  },
  'Is the vCenter password about to lock out?': {
    codes: [3],
    answer: new RegExp(`\\nvcenter ${serverName}\\nok +login +VMware vCenter Server \\S+ \\S+ ${secret}\\n`),
  },
  'Which release brought this image?': {
    names: { SET: set },
    answer: new RegExp(` 4\\.21\\.0 +was moved by the release to ${third} `),
  },
  'Can the CRDs be rolled back?': {
    names: { FOLDER: definitions },
    answer: /^You can go to .*: no stored object stands in the way\./,
  },
  'What if I delete the template?': {
    answer: new RegExp(`─ \\S+-${third}-\\S+ \\(${third}\\)\\n[│ ]*└─ ✔ ms/${set}  Current`),
  },
  'Where are the logs?': { names: { POD: 'pod' }, answer: led },
  'How do I leave one set out?': { names: { SET: apart }, answer: /ms\/apart: left alone\n/ },
  'Who leads, since when?': { answer: led },
  'What did it do yesterday?': {
    answer: new RegExp(
      `^WHEN +SUBJECT (?![\\s\\S]*Switched)[\\s\\S]*\\n\\S+Z +ms/${set} +release +4\\.21\\.0 +was moved by the release to ${third} `,
    ),
  },
  'Which credentials and privileges does it need?': {
    codes: [3, 0],
    answer: new RegExp(
      `ok +boot-images +all \\d+ rights of the role are granted\\n[\\s\\S]* ${secret}\\n[\\s\\S]*ok +privileges +all 13 are granted\\n[\\s\\S]*\\nfolder +VirtualMachine\\.Inventory\\.Create +the import of an image\\n[\\s\\S]*\\ngovc role\\.create drydock VirtualMachine\\.`,
    ),
  },
};
/** While the operator is paused before a release. */
const waiting: Readonly<Record<string, Play>> = {
  'What happens next?': {
    codes: [3],
    answer: new RegExp(`1\\. image \\S+ [\\s\\S]*\\n  2\\. ms/${set}: ${third} → ${fourth}\\n`),
  },
  'How much space does the next import need?': {
    codes: [3],
    answer:
      /upload \d\S* \S+ to datastore \S+, which has \d\S* \S+ free; \d\S* \S+ are needed, \d\S* \S+ must stay free\n/,
  },
  'How do I pause it?': {
    names: { TEXT: 'maintenance' },
    answer: /boot-images is paused since \d+s by .*: maintenance\..* drydock resume [\s\S]*boot-images may go on/,
  },
};
const moving: Readonly<Record<string, Play>> = {
  'How long will the upload take?': {
    answer: new RegExp(`\\nms-${set} .* ${fourth} +Uploading +\\d{1,2}% [\\d.]+[kMG]?B/s \\d+[smh] `),
  },
};

/** What a command printed, and its code; each is run once while nothing changes. */
type Runs = Map<string, Ended>;

async function run(line: string, runs: Runs): Promise<Ended> {
  const known = runs.get(line);
  if (known !== undefined) return known;
  const [program, verb = '', ...rest] = line.split(' ');
  // No cluster of pods here: what kubectl does is done by the test.
  if (program !== 'drydock') return { code: 0, out: '', errors: '' };
  const { kubeconfig, directory, vcenter } = voyage.sandbox;
  const reach = ['--vcenter-url', `${serverName}=${vcenter.url}`, '--vcenter-ca', vcenter.ca];
  const flags: Readonly<Record<string, readonly string[]>> = {
    explain: [...reach, '--lease-namespace', machineApi],
    doctor: [...reach, '--lease-namespace', machineApi],
    image: imageReach(voyage.sandbox),
    template: ['--folder', `/DC0/vm/${set}`],
    crd: [],
  };
  const more = flags[verb] ?? ['--lease-namespace', machineApi];
  const child = spawn(process.execPath, [operatorProgram.module, verb, ...rest, ...more], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...process.env,
      ...{ KUBECONFIG: kubeconfig, HOME: directory, GOVC_URL: vcenter.url, GOVC_TLS_CA_CERTS: vcenter.ca },
      ...{ GOVC_USERNAME: vcenter.user, GOVC_PASSWORD: vcenter.password },
    },
  });
  const [out, errors, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit') as Promise<[number]>,
  ]);
  const ended = { code, out, errors };
  runs.set(line, ended);
  return ended;
}

/** Runs the commands of these questions as the page has them, and looks for the answer in what they print. */
async function play(book: readonly Row[], plays: Readonly<Record<string, Play>>): Promise<void> {
  const runs: Runs = new Map();
  for (const [question, { names = {}, codes = [], answer }] of Object.entries(plays)) {
    const row = book.find((one) => one.question === question);
    assert.ok(row, `docs/incidents.md has the question: ${question}`);
    let printed = '';
    for (const [at, command] of row.commands.entries()) {
      const line = Object.entries(names).reduce((said, [name, value]) => said.replaceAll(name, value), command);
      const ended = await run(line, runs);
      const shown = `${line}: ${ended.code}\n${ended.out}${ended.errors}`;
      if (line.startsWith('drydock')) assert.equal(ended.code, codes[at] ?? 0, shown);
      printed += `${ended.out}${ended.errors}`;
    }
    assert.match(printed, answer, question);
  }
}

test('each of the twenty questions of an incident is answered by what the page says, with at most two commands', async () => {
  const book = await rows();
  assert.deepEqual([book.length, book.filter(({ commands }) => commands.length < 1 || commands.length > 2)], [20, []]);
  const played = [asIs, waiting, moving].flatMap((plays) => Object.keys(plays));
  assert.deepEqual(played.toSorted(), book.map(({ question }) => question).toSorted());

  const machine = (name: string, template: string, node: string): Promise<unknown> =>
    voyage.client
      .create(Machine, {
        metadata: { name, namespace: machineApi, labels: { 'machine.openshift.io/cluster-api-machineset': set } },
        spec: { providerSpec: { value: { template } } },
      })
      .then((made) =>
        voyage.client.replaceStatus(Machine, { ...made, status: { phase: 'Running', nodeRef: { name: node } } }),
      );
  await machine('quay-old', installerTemplate, 'node-1');
  await machine('quay-new', await voyage.template(set), 'node-2');
  await voyage.createSet({ name: adrift, folder: '/DC0/vm/not-yet' });
  await voyage.createSet({ name: apart, folder: await voyage.folder(apart) });
  await voyage.client.mergePatch(
    MachineSet,
    { namespace: machineApi, name: apart },
    {
      metadata: { annotations: { 'drydock.dev/boot-image': 'Disabled' } },
    },
  );
  await voyage.status(adrift, 'stuck', ({ phase }) => phase === 'Blocked' || phase === 'Failed');
  await voyage.status(apart, 'left alone', ({ phase }) => phase === 'Skipped');
  const health = { namespace: leaseKey.namespace, name: 'drydock-vcenters' };
  await eventually('the operator said how the vCenter is', async () => {
    const { data = {} } = await voyage.client.get(ConfigMap, health).catch(() => ({ data: {} }));
    return Object.keys(data).length > 0 || undefined;
  });
  await play(book, asIs);
  // Of one set, as the page says.
  assert.match(await said(0, 'status', set, '--check'), new RegExp(`\\nms-${set} .* Current `));
  assert.match(await said(3, 'status', adrift, '--check'), /One set is stuck/);
  for (const [schema, args] of [
    ['machines', ['machines']],
    ['history', ['history']],
    ['wait', ['wait', set, '--timeout', '1s']],
  ] as const) {
    const { code, out, errors } = await drydock(...args, '-o', 'json');
    assert.deepEqual([code, flaws(schema, out)], [0, []], errors);
  }
  assert.match(await said(3, 'wait', set, adrift), /drydock: ms\/adrift is /);
  assert.match(
    await said(5, 'wait', set, '--for', 'release=9.99.20300101-0', '--timeout', '1s'),
    /not within the time/,
  );

  // The server knows as whom.
  assert.match(
    await said(0, 'pause', '--role', 'boot-images', '--as', 'night-shift', '--as-group', 'system:masters'),
    /is paused since \d+s by night-shift\. /,
  );
  await eventually('the lease was given back', async () => (await holder()) === '' || undefined);
  // More than a socket takes at once: what was given to one counts as sent.
  await voyage.release(await voyage.image(fourth, { diskBytes: 8 << 20 }));
  const rule = await voyage.switchboard.rule({ on: 'upload', do: 'hold', afterBytes: 600_000, bytesPerSecond: 60_000 });
  await play(book, waiting);
  await voyage.status(
    set,
    'how long it takes',
    ({ phase, progressDetail }) =>
      phase === 'Uploading' && (progressDetail?.bytes ?? 0) > 0 && progressDetail?.etaSeconds !== undefined,
  );
  await play(book, moving);
  await rule.remove();
  await voyage.current(set, fourth);
});
