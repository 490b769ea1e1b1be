import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type BootImageStatus, Lease } from '@drydock/api';
import type { ClusterPlan } from '@drydock/boot-images';
import { flaws } from './image-cli.ts';
import { capi, imageFolder, type RotationWorld, team } from './rotation-world.ts';

const drydock = join(import.meta.dirname, '../../../apps/drydock/bin/drydock.js');
const run = promisify(execFile);

/** `drydock image` as a person runs it. */
async function runImage(
  world: RotationWorld,
  ...args: readonly string[]
): Promise<{ readonly code: number; readonly out: string; readonly errors: string }> {
  const { kubeconfig, directory } = world.sandbox;
  const led = ['--kubeconfig', kubeconfig, '--lease-namespace', 'drydock', ...world.flags];
  const env = { ...process.env, HOME: directory };
  return await run(process.execPath, [drydock, 'image', ...args, ...led], { env }).then(
    ({ stdout: out, stderr: errors }) => ({ code: 0, out, errors }),
    ({ code, stdout: out, stderr: errors }: { code: number; stdout: string; stderr: string }) => ({
      code,
      out,
      errors,
    }),
  );
}

/** A deployment is planned, rotated by that plan and by nothing else, gone back with and released again by the operator, which runs before and after. Throws what is not so. */
export async function wayBackOfDeployment(world: RotationWorld): Promise<void> {
  const image = (...args: readonly string[]): ReturnType<typeof runImage> => runImage(world, ...args);
  await world.deployment('back');
  const first = await world.image();
  await world.catalogue(first);
  await world.current('back', first);
  const made = await world.reference('back');
  await world.kill();
  const second = await world.image();
  await world.catalogue(second);
  const before = (await world.switchboard.vms()).length;

  const planned = await image('plan', 'capi-md/back', '-n', team, '-o', 'json');
  assert.equal(planned.code, 6, planned.errors);
  assert.deepEqual(flaws('image-plan', planned.out), []);
  const { steps } = JSON.parse(planned.out) as ClusterPlan;
  const [made2, copy, point] = steps;
  assert.ok(made2?.kind === 'image' && copy?.kind === 'clone' && point?.kind === 'point', planned.out);
  assert.deepEqual([made2.release, made2.folder, copy.image.to], [second.release, imageFolder, made2.name]);
  assert.deepEqual(point.edits[0], {
    ...{ path: ['spec', 'template', 'spec', 'infrastructureRef', 'name'], from: made, to: copy.name },
  });
  const text = await image('plan', 'capi-md/back', '-n', team);
  assert.match(
    text.out,
    /\n {2}2\. team-a\/capi-md\/back: vspheremachinetemplate team-a\/back-\S+ is copied as back-\S+, with another image\n/,
  );
  assert.deepEqual(
    [await world.reference('back'), (await world.switchboard.vms()).length],
    [made, before],
    'nothing was written',
  );

  const file = join(world.sandbox.directory, 'plan.json');
  await writeFile(file, planned.out);
  await world.catalogue(await world.image());
  // What 15 s without a renewal do.
  for await (const lease of world.client.list(Lease, { namespace: 'drydock' }))
    await world.client.replace(Lease, { ...lease, spec: { ...lease.spec, holderIdentity: '' } });
  const moved = await image('apply', file, '--yes');
  assert.equal(moved.code, 4, moved.errors);
  assert.match(moved.errors, /nothing was changed: .*\. Next: drydock image plan team-a\/capi-md\/back --out /);
  assert.deepEqual([await world.reference('back'), (await world.switchboard.vms()).length], [made, before]);
  await world.catalogue(second);
  const applied = await image('apply', file, '--yes', '-o', 'json');
  assert.equal(applied.code, 0, `${applied.out}${applied.errors}`);
  assert.deepEqual(flaws('image-apply', applied.out), []);
  assert.equal((JSON.parse(applied.out) as { readonly result: string }).result, 'done');
  assert.equal(await world.reference('back'), copy.name);
  assert.equal((await image('apply', file, '--yes')).out, 'Nothing of the plan is left to do.\n');
  assert.equal((await world.switchboard.vms()).length, before + 1);

  world.start();
  await world.current('back', second);
  assert.equal(await world.reference('back'), copy.name);
  assert.equal((await world.machineSpec('back'))['template'], made2.name);
  const uploads = (await world.switchboard.vms()).length;

  const history = await image('history', 'capi-md/back', '-n', team, '-o', 'json');
  assert.deepEqual([history.code, flaws('image-history', history.out)], [0, []], history.errors);
  assert.match(history.out, new RegExp(`"set": "${team}/capi-md/back"`));
  const { history: had } = JSON.parse(history.out) as { readonly history: BootImageStatus['history'] };
  const [, entry] = had ?? [];
  assert.deepEqual([entry?.release, entry?.revertable], [first.release, true], history.out);
  const refused = await image('revert', 'capi-md/back', '-n', team, '--to', 'v1.2.3', '--yes');
  assert.equal(refused.code, 3, refused.errors);
  assert.match(refused.errors, /its history has no image v1\.2\.3, and a pin of a set of Cluster API names an image/);
  await createMachine(world);
  const reverted = await image('revert', `${team}/capi-md/back`, '--yes', '-o', 'json');
  const { all, made: since, unread } = (JSON.parse(reverted.out) as RevertOutput).machines;
  assert.deepEqual({ all, since, unread }, { all: 1, since: ['back-new'], unread: [] });
  assert.deepEqual([reverted.code, flaws('image-revert', reverted.out)], [0, []], `${reverted.out}${reverted.errors}`);
  const status = await world.status(
    'back',
    'pinned',
    ({ reason, phase }) => reason === 'Pinned' && phase === 'Current',
  );
  assert.deepEqual([status.current, status.history?.[0]?.by], [first.release, 'revert']);
  assert.equal(await world.reference('back'), made, 'the copy of then is the copy of now');
  const released = await image('release', 'capi-md/back', '-n', team, '--yes', '-o', 'json');
  assert.deepEqual([released.code, flaws('image-release', released.out)], [0, []], released.errors);
  await world.current('back', second);
  assert.equal(await world.reference('back'), copy.name);
  assert.equal((await world.switchboard.vms()).length, uploads, 'nothing was uploaded');
}

interface RevertOutput {
  readonly machines: { readonly all: number; readonly made: readonly string[]; readonly unread: readonly string[] };
}

/** A machine as Cluster API makes one of the deployment. */
async function createMachine({ client }: RotationWorld): Promise<void> {
  const labels = { 'cluster.x-k8s.io/cluster-name': 'c1', 'cluster.x-k8s.io/deployment-name': 'back' };
  const { group: apiGroup, kind } = capi.machine;
  const infrastructureRef = { apiGroup, kind, name: 'back-new' };
  const spec = { clusterName: 'c1', bootstrap: { dataSecretName: 'none' }, infrastructureRef };
  const machine = { ...capi.cluster, kind: 'Machine', plural: 'machines' };
  await client.create(machine, { metadata: { namespace: team, name: 'back-new', labels }, spec });
}
