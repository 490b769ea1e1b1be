import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import { BootImage, type BootImageStatus, bootImageName, ConfigMap, Machine, MachineSet } from '@drydock/api';
import { writeTestOva } from '@drydock/templates/testing';
import {
  clusterId,
  type DemoImage,
  machineApi,
  publishRelease,
  templatesOf,
} from '../../apps/drydock/src/demo/cluster.ts';
import { writeDemoContext } from '../../apps/drydock/src/demo/demo-context.ts';
import { serveImages } from '../../apps/drydock/src/demo/image-server.ts';
import { releases, type Stage, setStage, vcenterName } from '../../apps/drydock/src/demo/stage.ts';
import { operatorProgram } from './support/crash-rig.ts';
import { eventually } from './support/voyage.ts';

/** Sets of the demo, and two that this test adds: one that cannot be kept current, and one that is left out. */
const [set, owned, adrift, apart] = ['worker-a', 'worker-owned', 'adrift', 'apart'] as const;
const [first, second] = [releases.first.release, releases.second.release];
const next = releases.next.release;
/** MiB: more than a socket takes at once, so that a part of the upload counts as not sent. */
const UPLOAD_MIB = 8;

const resources = new AsyncDisposableStack();
let stage: Stage;
let config: string;
let coming: DemoImage;

before(async () => {
  stage = resources.use(
    await setStage({
      ...{ chapters: ['boot-images'], size: 1, rate: 1024, fleet: 1, stay: false },
      signal: new AbortController().signal,
    }),
  );
  await stage.operate();
  for (const name of ['first', 'second'] as const) {
    await publishRelease(stage.client, stage.image(name));
    await said(set, `at ${name}`, ({ phase, current }) => phase === 'Current' && current === releases[name].release);
  }
  const images = resources.use(await serveImages(stage.folder));
  const file = join(stage.folder, `rhcos-${next}-vmware.x86_64.ova`);
  const { sha256 } = await writeTestOva(file, { version: next, diskBytes: UPLOAD_MIB * 2 ** 20, seed: 77 });
  coming = { ...releases.next, location: images.url(file), sha256 };
  config = await writeDemoContext(stage);
});

after(() => resources.disposeAsync());

async function said(name: string, what: string, wanted: (status: BootImageStatus) => boolean): Promise<void> {
  const key = { namespace: machineApi, name: bootImageName('ms', name) };
  await eventually(`${name} is ${what}`, async () => {
    stage.operator?.alive();
    const { status = {} } = await stage.client.get(BootImage, key).catch(() => ({ status: {} }));
    return wanted(status) || undefined;
  });
}

/** A question as `docs/incidents.md` has it. */
interface Row {
  readonly question: string;
  readonly commands: readonly string[];
}

async function rows(): Promise<readonly Row[]> {
  const page = await readFile(new URL('../../docs/incidents.md', import.meta.url), 'utf8');
  return [...page.matchAll(/^\| ([A-Z][^|]*\?) +\| ([^|]*) \|/gm)].map(([, question = '', commands = '']) => ({
    question,
    commands: [...commands.matchAll(/`([^`]+)`/g)].map(([, command = '']) => command),
  }));
}

/** How a question is played: what its placeholders stand for, the exit codes of its commands, and the answer in all that they print. */
interface Play {
  readonly names?: Readonly<Record<string, string>>;
  readonly codes?: readonly number[];
  readonly answer: RegExp;
}

// A pod is named after its host, before the underscore.
const led = new RegExp(`^${hostname()}_\\S+ leads boot images since \\d+[smh]\\n`);
const login = 'takes the password in Secret kube-system/vsphere-creds';
const definitions = join(import.meta.dirname, '../../api/crds');
const asIs: Readonly<Record<string, Play>> = {
  'Why does ms/a not update?': {
    names: { SET: adrift },
    codes: [3],
    answer:
      /\nms\/adrift: blocked\n[\s\S]* NO +image +failed to find folder: \/DC0\/vm\/not-yet does not exist [\s\S]* next +Correct the folder of /,
  },
  'Who changed the template?': {
    names: { SET: set },
    answer: new RegExp(`ms/${set} +release +4\\.21\\.4 +was moved by the release to ${second} \\(\\S+-${second}-`),
  },
  'Is it safe to scale now?': {
    codes: [3],
    answer: new RegExp(
      `\\nms/${adrift} .* (?:Blocked|Failed) .*FolderNotFound[\\s\\S]*\\nms/${set} +${second} +Current [\\s\\S]*\\nOne set is stuck\\. Why: drydock status -o wide, or drydock explain ${adrift}\\n[\\s\\S]*\\nCan I scale now\\? .*[Nn]o for 1, 1 not managed\\n`,
    ),
  },
  'Which machines run an old image?': {
    answer: new RegExp(`^MACHINE .*\nmade-before +ms/${set} +${first} +old +node-1 .*\n$`),
  },
  'Why is it degraded?': {
    answer:
      /\nms-adrift .* (?:Blocked|Failed) .*: \/DC0\/vm\/not-yet does not exist .* Correct the folder of the failure domain/,
  },
  'Who owns this VM?': {
    codes: [0, 0],
    answer: new RegExp(
      `\\nmade-since +ms/${set} +${second} +current +node-2 [\\s\\S]*\\nNAME +ROLE +RELEASE +AGE +OWNER\\n[\\s\\S]*-${second}-\\S+ +foreign +${second} +\\S+ +${clusterId}\\n`,
    ),
  },
  'How do I go back to the previous image?': {
    names: { SET: set },
    codes: [0, 5],
    answer: new RegExp(
      ` ${first} +release +\\S+Z +Replaced +yes\\n[\\s\\S]*\\nTo go back: drydock image revert ms/${set} --to \\w+\\nms/${set}: ${second} → ${first}\\n`,
    ),
  },
  'Is the vCenter password about to lock out?': {
    codes: [3],
    answer: new RegExp(`\\nvcenter ${vcenterName}\\nok +login +VMware vCenter Server \\S+ \\S+ ${login}\\n`),
  },
  'Which release brought this image?': {
    names: { SET: set },
    answer: new RegExp(` 4\\.21\\.4 +was moved by the release to ${second} `),
  },
  'Can the CRDs be rolled back?': {
    names: { SOURCE: definitions },
    answer: /^You can go to .*: no stored object stands in the way\./,
  },
  'What if I delete the template?': {
    answer: new RegExp(`─ \\S+-${second}-\\S+ \\(${second}\\)\\n(?:[│ ]*├─ ✔ .*\\n)*[│ ]*[├└]─ ✔ ms/${set}  Current`),
  },
  'Where are the logs?': { names: { POD: 'pod' }, answer: led },
  'Who leads, since when?': { answer: led },
  'What did it do yesterday?': {
    answer: new RegExp(
      `^WHEN +SUBJECT (?![\\s\\S]*Switched)[\\s\\S]*\\n\\S+Z +ms/${set} +release +4\\.21\\.4 +was moved by the release to ${second} `,
    ),
  },
  'Which credentials and privileges does it need?': {
    codes: [3, 0],
    answer: new RegExp(
      `ok +boot-images +all \\d+ rights of the role are granted\\n[\\s\\S]* ${login}\\n[\\s\\S]*ok +privileges +all \\d+ are granted\\n[\\s\\S]*\\nfolder +VirtualMachine\\.Inventory\\.Create +the import of an image\\n[\\s\\S]*\\ngovc role\\.create drydock VirtualMachine\\.`,
    ),
  },
  // Last, because it changes a machine set.
  'How do I leave one set out?': { names: { SET: apart }, answer: /ms\/apart: left alone\n/ },
};
/** While the operator is paused, and another release has come. */
const waiting: Readonly<Record<string, Play>> = {
  'What happens next?': {
    codes: [3],
    answer: new RegExp(`1\\. image \\S+ [\\s\\S]*\\n +\\d+\\. ms/${set}: ${second} → ${next}\\n`),
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
    answer: new RegExp(`\\nms/\\S+ +${second} +Uploading +\\d+s +to ${next}: \\d{1,2}% [\\d.]+[kMG]?B/s \\d+[smh]\\n`),
  },
};

interface Ended {
  readonly code: number;
  readonly printed: string;
}

/** What the demo's shell inherits: where programs are, and where the sandbox keeps what it built. */
const inherited = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => /^(?:PATH$|DRYDOCK_SANDBOX_)/.test(name)),
);

/** Runs a command of the page as it stands there, in a shell that has nothing but what the demo prints. */
async function run(line: string): Promise<Ended> {
  const [program, ...words] = line.split(' ');
  if (program === 'kubectl') return await kubectl(words);
  const { sandbox } = stage;
  const env = { KUBECONFIG: sandbox.kubeconfig, DRYDOCK_CONFIG: config, HOME: sandbox.directory };
  const child = spawn(process.execPath, [operatorProgram.module, ...words], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...inherited, ...env },
  });
  const [out, errors, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit') as Promise<[number]>,
  ]);
  return { code, printed: `${out}${errors}` };
}

/** The two things that the page asks of kubectl: the demo has no pods, and an annotation is written as kubectl writes it. */
async function kubectl(words: readonly string[]): Promise<Ended> {
  const [, namespace = '', verb, kind, name = '', pair = ''] = words;
  if (verb === 'annotate') {
    assert.equal(kind, 'machineset', words.join(' '));
    const [key = '', value] = pair.split('=');
    await stage.client.mergePatch(MachineSet, { namespace, name }, { metadata: { annotations: { [key]: value } } });
  } else assert.equal(verb, 'logs', words.join(' '));
  return { code: 0, printed: '' };
}

/** Plays questions with the commands of the page, and looks for the answer in what they print. */
async function play(page: readonly Row[], plays: Readonly<Record<string, Play>>): Promise<void> {
  for (const [question, { names = {}, codes = [], answer }] of Object.entries(plays)) {
    const row = page.find((one) => one.question === question);
    assert.ok(row, `docs/incidents.md has the question: ${question}`);
    let printed = '';
    for (const [at, command] of row.commands.entries()) {
      const line = Object.entries(names).reduce((to, [name, value]) => to.replaceAll(name, value), command);
      const ended = await run(line);
      assert.equal(ended.code, codes[at] ?? 0, `${line}: ${ended.code}\n${ended.printed}`);
      printed += ended.printed;
    }
    assert.match(printed, answer, question);
  }
}

/** A machine set like that of the demo, in another folder. */
async function addSet(name: string, folder: string | undefined): Promise<void> {
  const like = await stage.client.get(MachineSet, { namespace: machineApi, name: set });
  // Its selector and its labels have the name.
  const spec = JSON.parse(JSON.stringify(like.spec).replaceAll(`"${set}"`, `"${name}"`)) as typeof like.spec;
  const value = spec?.template?.spec?.providerSpec?.value as { workspace?: { folder?: string } } | undefined;
  if (folder !== undefined && value?.workspace !== undefined) value.workspace.folder = folder;
  await stage.client.create(MachineSet, { metadata: { namespace: machineApi, name }, ...(spec && { spec }) });
}

async function addMachine(name: string, template: string | undefined, node: string): Promise<void> {
  const labels = { 'machine.openshift.io/cluster-api-machineset': set };
  const made = await stage.client.create(Machine, {
    metadata: { name, namespace: machineApi, labels },
    spec: { providerSpec: { value: { template } } },
  });
  await stage.client.replaceStatus(Machine, { ...made, status: { phase: 'Running', nodeRef: { name: node } } });
}

test('FIND-20 each of the twenty questions of docs/incidents.md is answered on the demo’s cluster by its commands as they stand there, at most two each', async () => {
  const page = await rows();
  assert.deepEqual([page.length, page.filter(({ commands }) => commands.length < 1 || commands.length > 2)], [20, []]);
  const played = [asIs, waiting, moving].flatMap((plays) => Object.keys(plays));
  assert.deepEqual(played.toSorted(), page.map(({ question }) => question).toSorted());

  const { client, switchboard } = stage;
  const templates = (await switchboard.templates()).filter(({ productVersion }) => productVersion === first);
  await addMachine('made-before', templates.find(({ name }) => name.includes('-fd1-'))?.name, 'node-1');
  await addMachine('made-since', (await templatesOf(client)).get(set), 'node-2');
  await addSet(adrift, '/DC0/vm/not-yet');
  await addSet(apart, undefined);
  await said(adrift, 'stuck', ({ phase }) => phase === 'Blocked' || phase === 'Failed');
  await said(apart, 'current', ({ phase }) => phase === 'Current');
  await said(owned, 'skipped', ({ phase }) => phase === 'Skipped');
  await eventually('the operator said how the vCenter is', async () => {
    const key = { namespace: machineApi, name: 'drydock-vcenters' };
    const { data = {} } = await client.get(ConfigMap, key).catch(() => ({ data: {} }));
    return Object.keys(data).length > 0 || undefined;
  });
  await play(page, asIs);

  const paused = await run('drydock pause --role boot-images');
  assert.equal(paused.code, 0, paused.printed);
  await eventually('the operator has paused', async () => {
    const { printed } = await run('drydock status');
    return /^Nobody leads boot images, which are paused /.test(printed) || undefined;
  });
  await publishRelease(client, coming);
  await using _slow = await switchboard.rule({ on: 'upload', do: 'hold', afterBytes: 600_000, bytesPerSecond: 60_000 });
  await play(page, waiting);
  await eventually('an upload knows how long it takes', async () => {
    const images = await Array.fromAsync(client.list(BootImage, { namespace: machineApi }));
    const known = images.some(
      ({ status }) => status?.phase === 'Uploading' && status.progressDetail?.etaSeconds !== undefined,
    );
    return known || undefined;
  });
  await play(page, moving);
});
