import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import { BootImage, bootImageName, Lease } from '@drydock/api';
import { fromJSONSchema } from 'zod';
import { type ApiGate, openApiGate } from './support/api-gate.ts';
import { operatorProgram } from './support/crash-rig.ts';
import { type Process, startProcess } from './support/operator-process.ts';
import { startVoyage, type Voyage } from './support/voyage.ts';
import { machineApi, oldRelease, serverName } from './support/voyage-cluster.ts';

const set = 'way-back';
const key = { namespace: machineApi, name: bootImageName('ms', set) };
const [first, second, third] = ['9.8.20260802-0', '9.9.20260903-0', '9.10.20261004-0'] as const;

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
  const files = { sandbox: directory, log: join(directory, 'operator.log'), compiled: join(directory, 'compiled') };
  const folder = await voyage.folder(set);
  const args = operatorProgram.args({ voyage, kubeconfig, folder });
  start = () => startProcess(operatorProgram.module, args, files);
  await voyage.createSet({ name: set, folder });
  operator = start();
  await voyage.current(set, oldRelease);
  for (const release of [first, second]) {
    await voyage.release(await voyage.image(release));
    await voyage.current(set, release);
  }
});

after(async () => {
  await operator?.[Symbol.asyncDispose]();
  await gate?.[Symbol.asyncDispose]();
  await voyage?.[Symbol.asyncDispose]();
});

interface Ended {
  readonly code: number;
  readonly out: string;
  readonly errors: string;
}

async function image(...args: readonly string[]): Promise<Ended> {
  const { vcenter } = voyage.sandbox;
  return await drydock('image', ...args, '--vcenter-url', `${serverName}=${vcenter.url}`, '--vcenter-ca', vcenter.ca);
}

async function drydock(...args: readonly string[]): Promise<Ended> {
  const { kubeconfig, directory } = voyage.sandbox;
  const led = ['--lease-namespace', machineApi];
  const child = spawn(process.execPath, [operatorProgram.module, ...args, ...led], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, KUBECONFIG: kubeconfig, HOME: directory },
  });
  const [out, errors, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit') as Promise<[number]>,
  ]);
  return { code, out, errors };
}

/** What is wrong with an output by its published schema, in which no other field may be. */
function flaws(name: string, out: string): readonly string[] {
  const file = new URL(`../../docs/schemas/${name}.json`, import.meta.url);
  const schema = JSON.parse(readFileSync(file, 'utf8')) as object;
  const strict = { ...schema, additionalProperties: false } as Parameters<typeof fromJSONSchema>[0];
  return (fromJSONSchema(strict).safeParse(JSON.parse(out)).error?.issues ?? []).map(({ message }) => message);
}

/** Tree and status are one answer: of each set in the same words, and the pin has a line of its own beside what is folded. */
async function tellsTheSame(): Promise<void> {
  const tree = await drydock('tree', '-o', 'json');
  assert.deepEqual([tree.code, flaws('tree', tree.out)], [0, []], tree.errors);
  const { items } = JSON.parse((await drydock('status', '-o', 'json')).out) as { readonly items: readonly BootImage[] };
  const told = new Map<string, unknown>();
  JSON.parse(tree.out, (_key, value: unknown) => {
    const one = value as { readonly fine?: boolean; readonly set: string; readonly status: object } | undefined;
    if (one?.fine !== undefined) told.set(one.set, one.status);
    return value;
  });
  assert.equal(told.size, items.length);
  for (const { status = {} } of items) {
    const { phase, progress, reason, message, nextStep, since, revertTo } = status;
    const said = { phase, progress, reason, message, nextStep, since, revertTo };
    assert.deepEqual(told.get(status.set ?? ''), JSON.parse(JSON.stringify(said)));
  }
  const { out } = await drydock('tree');
  assert.match(out, new RegExp(`leads boot images .*\\n(?:.*\\n)*.*release ${first}\\n`));
  assert.match(out, new RegExp(`• ms/${set}  Current  .*pinned by .* until it is released\\n`));
  assert.match(out, new RegExp(`✔ release ${third}: ms/witness  Current`));
}

const pinned = (release: string) =>
  voyage.status(
    set,
    `pinned at ${release}`,
    ({ current, reason, phase }) => current === release && reason === 'Pinned' && phase === 'Current',
  );

test('history, revert and release, with the operator as a process: no upload, no move by the next release, and back', async () => {
  const history = await image('history', set);
  assert.equal(history.code, 0, history.errors);
  assert.match(history.out, new RegExp(`${second} +release +InUse`));
  const before = await voyage.template(set);
  const { count } = await voyage.switchboard.uploads();

  const asked = await image('revert', set);
  assert.equal(asked.code, 5, 'nobody said yes');
  assert.equal(await voyage.template(set), before);
  const reverted = await image('revert', set, '--reason', 'nodes do not boot', '--yes');
  assert.equal(reverted.code, 0, `${reverted.out}${reverted.errors}`);
  assert.match(reverted.out, new RegExp(`^ms/${set}: ${second} → ${first}\n`));
  assert.match(reverted.out, /upload {4}none\n/);
  const status = await pinned(first);
  assert.equal(status.history?.[0]?.by, 'revert');
  assert.deepEqual([status.history?.[1]?.release, status.history?.[1]?.outcome], [second, 'RevertedFrom']);
  assert.equal((await voyage.switchboard.uploads()).count, count, 'nothing was uploaded');
  const back = await voyage.template(set);
  assert.match(back, new RegExp(first.replaceAll('.', '\\.')));

  await voyage.createSet({ name: 'witness', folder: await voyage.folder('witness') });
  await voyage.release(await voyage.image(third));
  await voyage.current('witness', third);
  assert.equal(await voyage.template(set), back, 'the next release moved a pinned set');
  await pinned(first);

  await tellsTheSame();

  for (const [name, args] of [
    ['image-history', ['history', set]],
    ['image-revert', ['revert', set, '--to', first, '--yes']],
  ] as const)
    assert.deepEqual(flaws(name, (await image(...args, '-o', 'json')).out), [], name);
  const gone = await image('revert', set, '--to', '1.2.3', '--yes', '-o', 'json');
  assert.equal(gone.code, 3, gone.out);
  assert.match(gone.errors, /pinned to 1\.2\.3, which is not in/);
  assert.deepEqual(flaws('image-revert', gone.out), []);
  assert.match(gone.out, /"result": "refused"/);

  const released = await image('release', set, '--yes', '-o', 'json');
  assert.deepEqual([released.code, flaws('image-release', released.out)], [0, []], released.errors);
  await voyage.current(set, third);
  assert.equal((await voyage.client.get(BootImage, key)).spec?.pin, undefined);
});

test('twenty SIGKILLs during reverts, before and after each write of one: exactly one outcome each, no upload, nothing left', async () => {
  const folder = `/DC0/vm/${set}`;
  const names = async (): Promise<readonly string[]> => [...(await voyage.inventory(folder)).keys()].toSorted();
  const before = await names();
  const { count } = await voyage.switchboard.uploads();
  const points = ['bootimages/status', 'machinesets'].flatMap((resource) =>
    (['before', 'after'] as const).map((when) => ({ resource, when })),
  );
  for (let kill = 0; kill < 20; kill += 1) {
    const release = kill % 2 === 0 ? first : second;
    const { resource, when } = points[Math.floor(kill / 2) % points.length] ?? assert.fail('there is a point');
    {
      await using hold = gate.hold((write) => write.resource === resource && fitsRevert(write.body, resource), when);
      await voyage.client.mergePatch(BootImage, key, { spec: { pin: { release, image: null } } });
      await Promise.race([hold.held, operator.died]);
      await operator.crash();
    }
    for await (const lease of voyage.client.list(Lease, { namespace: machineApi }))
      await voyage.client.replace(Lease, { ...lease, spec: { ...lease.spec, holderIdentity: '' } });
    operator = start();
    await Promise.race([pinned(release), operator.died]);
    assert.match(await voyage.template(set), new RegExp(release.replaceAll('.', '\\.')));
  }
  assert.equal((await voyage.switchboard.uploads()).count, count);
  assert.deepEqual(await names(), before);
});

/** Of the set that goes back: what is written of other sets is none of a revert. */
function fitsRevert(body: string, resource: string): boolean {
  return resource === 'machinesets' || (body.includes(`"ms/${set}"`) && body.includes('"Switching"'));
}
