import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { promisify } from 'node:util';
import { BootImage, BootImagePolicy, Event } from '@drydock/api';
import { generator, seeds } from '@drydock/model';
import { scratchFolder } from '@drydock/sandbox';
import { writeTestOva } from '@drydock/templates/testing';
import type { ApiWrite } from './support/api-gate.ts';
import {
  classVariables,
  classyLabels,
  controlPlaneOf,
  createClassyCluster,
  templateOfPlane,
} from './support/capi-objects.ts';
import { filesOfOva, libraryKeeper } from './support/content-library.ts';
import { wayBackOfDeployment } from './support/rotation-way-back.ts';
import {
  type CapiObject,
  type CatalogueImage,
  capi,
  capiKinds,
  imageFolder,
  infrastructureRef,
  machineTemplate,
  type RotationWorld,
  rollOut,
  startRotationWorld,
  team,
} from './support/rotation-world.ts';
import { eventually } from './support/voyage.ts';

const drydock = join(import.meta.dirname, '../../apps/drydock/bin/drydock.js');
const run = promisify(execFile);

let world: RotationWorld;

before(async () => {
  world = await startRotationWorld();
  world.start();
});

after(async () => {
  await world?.[Symbol.asyncDispose]();
});

/** By the one policy. */
async function allowRollouts({ client }: RotationWorld): Promise<void> {
  await client.mergePatch(BootImagePolicy, { name: 'kubernetes' }, { spec: { clusterAPI: { rollout: 'Allow' } } });
}

/** Templates of ours that were made of a deployment's. */
async function clonesOf(name: string): Promise<readonly string[]> {
  const all = await Array.fromAsync(world.client.list(capi.template, { namespace: team }));
  return all.flatMap(({ metadata }) =>
    metadata.annotations?.['drydock.dev/rotated-from'] === name ? [metadata.name] : [],
  );
}

/** The deployment is made of exactly one copy, which has this image, of what a person wrote. */
async function rotated(name: string, { release }: CatalogueImage, cpus = 2): Promise<void> {
  const { template, numCPUs, datacenter, network } = await world.machineSpec(name);
  const networks = { devices: [{ networkName: 'VM Network', dhcp4: true }] };
  assert.deepEqual({ numCPUs, datacenter, network }, { numCPUs: cpus, datacenter: 'DC0', network: networks });
  const found = (await world.switchboard.vms()).filter((vm) => vm.name === template);
  assert.deepEqual(
    found.map(({ folder, isTemplate }) => [folder, isTemplate]),
    [[imageFolder, true]],
  );
  assert.equal(
    (await world.template(await world.reference(name))).metadata.annotations?.['drydock.dev/boot-image-release'],
    release,
  );
}

test('without OpenShift: the image of the catalogue is published where the machines are made, and the deployment is pointed at a copy of its template', async () => {
  await world.deployment('worker');
  const waits = await world.status('worker', 'no image', ({ phase }) => phase === 'Skipped');
  assert.equal(waits.reason, 'NotInCatalogue');
  const image = await world.image();
  await world.catalogue(image);
  const status = await world.current('worker', image);
  assert.match(await world.reference('worker'), /^worker-[0-9a-f]{8}$/);
  await rotated('worker', image);
  assert.equal(status.platform, 'vsphere');
  assert.equal(status.history?.[0]?.release, image.release);
  assert.match(status.history?.[0]?.place ?? '', /vc\.example .*kubernetes/);
  const { spec, metadata } = await world.client.get(BootImage, { namespace: team, name: 'capi-md-worker' });
  assert.deepEqual(spec?.machineSet, { apiGroup: 'cluster.x-k8s.io', kind: 'MachineDeployment', name: 'worker' });
  assert.equal(metadata.ownerReferences?.[0]?.kind, 'MachineDeployment');
  await eventually('the story is told', async () => {
    const events = await Array.fromAsync(world.client.list(Event, { namespace: team }));
    const reasons = new Set(events.filter(({ regarding }) => regarding?.name === 'worker').map(({ reason }) => reason));
    return (
      ['Planned', 'UploadStarted', 'Imported', 'TemplateCloned', 'Switched'].every((one) => reasons.has(one)) ||
      undefined
    );
  });
  // Another deployment in the same place finds it there.
  const uploads = (await world.switchboard.vms()).length;
  await world.deployment('second', { cpus: 4 });
  await world.current('second', image);
  await rotated('second', image, 4);
  assert.equal((await world.switchboard.vms()).length, uploads);
});

test('a deployment that would roll its nodes stays until a policy allows it, and waits while its cluster is paused', async () => {
  const cluster = { namespace: team, name: 'c1' };
  await world.client.mergePatch(capi.cluster, cluster, { spec: { paused: true } });
  await world.deployment('rolling', { strategy: 'RollingUpdate', replicas: 12 });
  const refused = await world.status('rolling', 'refused', ({ reason }) => reason === 'RolloutNotAllowed');
  assert.equal(refused.phase, 'Skipped');
  assert.equal(refused.progress, 'skipped: would roll 12 nodes');
  assert.match(refused.nextStep ?? '', /^kubectl patch bootimagepolicy kubernetes --type merge -p /);
  const { stdout } = await run(process.execPath, [
    drydock,
    'status',
    '--kubeconfig',
    world.sandbox.kubeconfig,
    '--lease-namespace',
    'drydock',
  ]);
  assert.match(stdout, /capi-md\/rolling .*would roll 12 nodes/);
  const tree = await run(process.execPath, [
    ...[drydock, 'tree', '--kubeconfig', world.sandbox.kubeconfig, '--lease-namespace', 'drydock'],
  ]);
  assert.match(
    tree.stdout,
    /^team-a\/c1 \(Cluster API\)\n(?:.*\n)*.*• capi-md\/rolling {2}Skipped .*would roll 12 nodes\n/m,
  );
  assert.match(tree.stdout, /✔ .*: 2 sets Current\n/);
  await allowRollouts(world);
  const paused = await world.status('rolling', 'paused', ({ phase }) => phase === 'Pending');
  assert.equal(paused.reason, 'Paused');
  assert.equal(await world.reference('rolling'), 'rolling');
  await world.client.mergePatch(capi.cluster, cluster, { spec: { paused: false } });
  await world.status('rolling', 'current', ({ phase }) => phase === 'Current');
  assert.match(await world.reference('rolling'), /^rolling-[0-9a-f]{8}$/);
});

test('explain and doctor speak of them, and the roles of the component are all that the operator needs', async () => {
  const { kubeconfig } = world.sandbox;
  const common = ['--kubeconfig', kubeconfig, '--lease-namespace', 'drydock', ...world.flags];
  const explained = await run(process.execPath, [drydock, 'explain', 'capi-md/worker', ...common]);
  assert.match(explained.stdout, /team-a\/capi-md\/worker: nothing to do/);
  const room = await eventually('the operator has said how large datastores are', async () => {
    const said = await run(process.execPath, [drydock, 'status', ...common.slice(0, 4), '-o', 'json']);
    const { vcenters = [] } = JSON.parse(said.stdout) as {
      readonly vcenters?: readonly {
        readonly datastores: readonly { readonly path: string; readonly capacity?: number }[];
      }[];
    };
    return vcenters.flatMap(({ datastores }) => datastores)[0];
  });
  assert.deepEqual([room.path, (room.capacity ?? 0) > 0], ['/DC0/datastore/LocalDS_0', true]);
  const doctor = await run(process.execPath, [drydock, 'doctor', '--roles', 'boot-images', ...common]);
  assert.match(doctor.stdout, /ok +vcenters +\S+ \d+s ago: .* of .* free on \/DC0\/datastore\/LocalDS_0/);
  assert.match(doctor.stdout, /ok +cluster api +this is no OpenShift cluster: sets of Cluster API are looked after/);
  assert.match(doctor.stdout, /ok +cluster-api +all \d+ rights of the role are granted/);
  assert.match(doctor.stdout, /ok +team-a\/capi-md\/worker/);
  const { status: { conditions = [], selected } = {} } = await world.client.get(BootImagePolicy, {
    name: 'kubernetes',
  });
  const sets = await Array.fromAsync(world.client.list(capi.deployment));
  assert.deepEqual(
    [selected, conditions.map(({ type, status }) => `${type} ${status}`)],
    [sets.length, ['Accepted True']],
  );
  const refused = (await world.log()).split('\n').filter((line) => line.includes('Forbidden'));
  assert.deepEqual(refused, []);
});

test('somebody who names another template in between is followed: no word of his is lost', async () => {
  await world.client.create(capi.template, machineTemplate('bigger', 8));
  const image = await world.image();
  const key = { namespace: team, name: 'worker' };
  const path = '/spec/template/spec/infrastructureRef/name';
  {
    await using hold = world.gate.hold((write) => isClone(write, image), 'after');
    await world.catalogue(image);
    await hold.held;
    await world.client.patch(capi.deployment, key, [{ op: 'replace', path, value: 'bigger' }]);
  }
  await eventually('the deployment is rotated once more', async () => {
    const name = await world.reference('worker');
    return (/^bigger-[0-9a-f]{8}$/.test(name) && name) || undefined;
  });
  await world.current('worker', image);
  await rotated('worker', image, 8);
});

/** The copy of the worker's template that has this image. */
function isClone({ verb, resource, body }: ApiWrite, { release }: CatalogueImage): boolean {
  return verb === 'POST' && resource === 'vspheremachinetemplates' && body.includes(release);
}

test('an image is staged before an upgrade names it, and found when it does: nothing is uploaded then', async () => {
  const image = await world.image();
  const version = 'v1.35.0';
  const release = `${version}-${image.sha256.slice(0, 8)}`;
  const entry = { version, url: image.url, sha256: image.sha256 };
  const command = async (...more: readonly string[]): Promise<{ readonly code: number; readonly out: string }> => {
    const args = [
      drydock,
      'image',
      'stage',
      '--kubeconfig',
      world.sandbox.kubeconfig,
      '--version',
      version,
      ...world.flags,
      ...more,
    ];
    const cache = ['--cache-dir', join(world.sandbox.directory, 'staged')];
    const ran = run(process.execPath, [...args, ...cache]).then(
      ({ stdout }) => ({ code: 0, out: stdout }),
      ({ code, stdout, stderr }: { readonly code: number; readonly stdout: string; readonly stderr: string }) => ({
        code,
        out: stdout + stderr,
      }),
    );
    return ran;
  };
  const missing = await command();
  assert.equal(missing.code, 3);
  assert.match(missing.out, /no catalogue of a BootImagePolicy has an OVA of v1\.35\.0/);
  const { spec } = await world.client.get(BootImagePolicy, { name: 'kubernetes' });
  const catalogue = [...(spec?.image?.catalogue ?? []), entry];
  await world.client.mergePatch(BootImagePolicy, { name: 'kubernetes' }, { spec: { image: { catalogue } } });
  assert.equal((await command('--dry-run')).code, 6);
  const staged = await command();
  assert.equal(staged.code, 0, staged.out);
  assert.match(
    staged.out,
    new RegExp(`vc\\.example +${imageFolder} +zone-a +${release} +kube-zone-a-${release}-[0-9a-f]{8} +imported`),
  );
  assert.match((await command()).out, / there\n/);
  const before = new Set((await world.switchboard.vms()).map(({ moref }) => moref));
  const key = { namespace: team, name: 'second' };
  await world.client.patch(capi.deployment, key, [
    { op: 'replace', path: '/spec/template/spec/version', value: version },
  ]);
  await world.status(
    'second',
    `current at ${release}`,
    ({ phase, current }) => phase === 'Current' && current === release,
  );
  const after = (await world.switchboard.vms()).map(({ moref }) => moref);
  assert.deepEqual(
    after.filter((moref) => !before.has(moref)),
    [],
    'nothing was imported once more',
  );
});

test('OWN-18 an item of a content library is published for a deployment of Cluster API by the login of its cluster; one that is missing, or another one, is told with its policy, and nothing is copied', async () => {
  const version = 'v1.36.0';
  const key = { namespace: team, name: 'library' };
  const before = (await world.client.get(BootImagePolicy, { name: 'kubernetes' })).spec?.image?.catalogue ?? [];
  const wanted = async (sha256: string): Promise<void> => {
    const catalogue = [...before, { version, contentLibraryItem: 'Images/ubuntu 24.04', sha256 }];
    await world.client.mergePatch(BootImagePolicy, { name: 'kubernetes' }, { spec: { image: { catalogue } } });
  };
  const path = '/spec/template/spec/version';
  await world.deployment(key.name);
  await world.client.patch(capi.deployment, key, [{ op: 'replace', path, value: version }]);
  await wanted('a'.repeat(64));
  const missing = await world.status(key.name, 'missing', ({ reason }) => reason === 'LibraryItemMissing');
  assert.deepEqual([missing.phase, missing.message?.includes('content libraries Images')], ['Blocked', true]);

  using files = scratchFolder();
  const ova = join(files.path, 'ubuntu.ova');
  await writeTestOva(ova, { version, diskBytes: 100_000, diskFile: 'disk.img' });
  const [datastore] = await world.switchboard.objects('Datastore');
  await using keeper = await libraryKeeper(world.sandbox.vcenter, datastore?.moref ?? '');
  await keeper.add('Images', 'ubuntu 24.04', await filesOfOva(ova));
  await wanted('b'.repeat(64));
  const another = await world.status(key.name, 'another one', ({ reason }) => reason === 'DigestMismatch');
  assert.match(another.nextStep ?? '', /spec\.image\.catalogue: kubectl edit bootimagepolicy kubernetes/);
  assert.deepEqual(
    (await world.switchboard.vms()).filter(({ name }) => name.includes(version)),
    [],
    'nothing was imported',
  );
  const [, sha256 = ''] = /has sha256 ([0-9a-f]{64})/.exec(another.message ?? '') ?? [];

  await wanted(sha256);
  const image = { version, url: '', sha256, release: `${version}-${sha256.slice(0, 8)}` };
  await world.current(key.name, image);
  assert.match(await world.reference(key.name), /^library-[0-9a-f]{8}$/);
  await rotated(key.name, image);
});

test('OWN-18 a control plane is pointed at a copy that is complete in all zones of its cluster', async () => {
  const cluster = { namespace: team, name: 'c1' };
  const live = await world.client.get(capi.cluster, cluster);
  const failureDomains = [{ name: 'zone-a', controlPlane: true }];
  await world.client.replaceStatus(capi.cluster, { ...live, status: { failureDomains } } as CapiObject);
  const image = await world.image();
  await world.catalogue(image);
  await allowRollouts(world);
  await world.client.create(capi.template, machineTemplate('plane', 6));
  await world.client.create(capi.controlPlane, controlPlaneOf('v1beta2', 'plane'));
  await world.current('plane', image, 'capi-kcp');
  const name = templateOfPlane(await world.client.get(capi.controlPlane, { namespace: team, name: 'plane' }));
  assert.match(name, /^plane-[0-9a-f]{8}$/);
  const copy = await world.template(name);
  assert.equal(copy.metadata.annotations?.['drydock.dev/boot-image-release'], image.release);
  await world.client.delete(capi.controlPlane, { namespace: team, name: 'plane' });
});

test('OWN-18 what a ClusterClass makes gets its image by the one variable that the policy names, and is told which one before', async () => {
  const image = await world.image();
  await world.catalogue(image);
  await createClassyCluster(world.client);
  await world.deployment('classy', { cluster: 'c2', labels: classyLabels });
  const told = await world.status('classy', 'told', ({ reason }) => reason === 'ManagedByClusterClass');
  assert.match(told.message ?? '', /variable imageName of cluster team-a\/c2/);
  const policy = { name: 'kubernetes' };
  const name = (classVariable: string | null): Promise<unknown> =>
    world.client.mergePatch(BootImagePolicy, policy, { spec: { clusterAPI: { classVariable } } } as object);
  await name('replicas');
  const wrong = await world.status('classy', 'refused', ({ reason }) => reason === 'ClassVariableInvalid');
  assert.match(wrong.message ?? '', /is of type integer, and an image is a string/);
  const [before] = await classVariables(world.client);
  assert.deepEqual(before, { name: 'imageName', value: 'by-hand' });
  await name('imageName');
  await world.status('classy', 'pending', ({ reason }) => reason === 'TopologyPending');
  const [after, replicas] = await classVariables(world.client);
  assert.match(String(after?.value), new RegExp(image.release));
  assert.deepEqual(replicas, { name: 'replicas', value: 3 });
  assert.equal(await world.reference('classy'), 'classy', 'the set itself is left to its topology');
  await name(null);
  await world.client.delete(capi.deployment, { namespace: team, name: 'classy' });
});

test('OWN-18 where nothing newer than v1beta1 is served: a deployment and a control plane are pointed at copies, by references as that version has them', async () => {
  await using old = await startRotationWorld('v1beta1');
  const { deployment, controlPlane, cluster } = capiKinds('v1beta1');
  const key = { namespace: team, name: 'c1' };
  const status = { failureDomains: { 'zone-a': { controlPlane: true } } };
  await old.client.replaceStatus(cluster, { ...(await old.client.get(cluster, key)), status } as CapiObject);
  await allowRollouts(old);
  const image = await old.image();
  await old.catalogue(image);
  await old.deployment('worker');
  await old.client.create(capi.template, machineTemplate('plane', 6));
  await old.client.create(controlPlane, controlPlaneOf('v1beta1', 'plane'));
  old.start();
  await old.current('worker', image);
  await old.current('plane', image, 'capi-kcp');
  const { spec = {} } = await old.client.get(deployment, { namespace: team, name: 'worker' });
  const machine = (spec['template'] as { readonly spec: { readonly infrastructureRef: object } }).spec;
  const name = await old.reference('worker');
  assert.match(name, /^worker-[0-9a-f]{8}$/);
  assert.deepEqual(machine.infrastructureRef, infrastructureRef('v1beta1', capi.template, name));
  const plane = templateOfPlane(await old.client.get(controlPlane, { namespace: team, name: 'plane' }));
  assert.match(plane, /^plane-[0-9a-f]{8}$/);
  for (const copy of [name, plane])
    assert.equal((await old.template(copy)).metadata.annotations?.['drydock.dev/boot-image-release'], image.release);
});

test('OWN-18 drydock image of a deployment: what is planned is what apply then does, and not where the world moved; history, revert without an upload, release', () =>
  wayBackOfDeployment(world));

suite('OWN-18 the operator is killed at its writes, one after the other, and started once more: exactly one outcome, and nothing is left', {
  timeout: 900_000,
}, () => {
  // In the order in which they come.
  const points: readonly (readonly [what: string, fits: (write: ApiWrite, image: CatalogueImage) => boolean])[] = [
    [
      'the announcement of the import',
      ({ verb, resource, body }, { release }) =>
        verb === 'PUT' && resource === 'bootimages/status' && body.includes('"operation":{') && body.includes(release),
    ],
    ['the copy of the template', (write, image) => isClone(write, image) && write.body.includes('victim')],
    [
      'the patch of the reference',
      ({ verb, resource, body }) => verb === 'PATCH' && resource === 'machinedeployments' && body.includes('victim-'),
    ],
    [
      'the status in the end',
      ({ verb, resource, body }, { release }) =>
        verb === 'PUT' &&
        resource === 'bootimages/status' &&
        body.includes('"phase":"Current"') &&
        body.includes(`"current":"${release}"`),
    ],
  ];
  before(async () => {
    await world.deployment('victim');
  });
  const moments = points.flatMap(([what, fits]) =>
    (['before', 'after'] as const).map((when) => ({ what, fits, when })),
  );
  test('on the way of each image at one of them after the other: all for the first, some for the others', async () => {
    const kills = seeds(20, 10_000, 'kills during a rotation');
    let kill = kills.next();
    for (let images = 1; kill.done !== true; images += 1) {
      const image = await world.image();
      const random = generator(kill.value);
      const some = images === 1 ? moments : moments.filter(() => random() < 0.5);
      const chain: string[] = [];
      let come = (): Promise<void> => world.catalogue(image);
      for (const { what, fits, when } of some.length === 0 ? moments : some) {
        if (kill.done === true) break;
        chain.push(`${when} ${what}`);
        await using hold = world.gate.hold((write) => fits(write, image), when);
        await come();
        await hold.held;
        await world.kill();
        come = async () => world.start();
        kill = kills.next();
      }
      await come();
      await world.current('victim', image);
      await rotated('victim', image);
      await rollOut(world.client, 'victim');
      // Of this content there is one copy, under whatever name, and one template in the vCenter.
      const copies = [];
      for (const name of await clonesOf('victim'))
        if ((await world.template(name)).metadata.annotations?.['drydock.dev/boot-image-release'] === image.release)
          copies.push(name);
      assert.deepEqual(copies, [await world.reference('victim')], chain.join(', '));
      const made = (await world.switchboard.vms({ folder: imageFolder })).filter(({ name }) =>
        name.includes(image.release),
      );
      assert.equal(made.length, 1, `${chain.join(', ')}: ${made.map(({ name }) => name).join()}`);
    }
  });

  test('templates that a revision or a machine names stay, those of persons too', async () => {
    const all = await Array.fromAsync(world.client.list(capi.set, { namespace: team }));
    const { metadata } = await world.template('victim');
    assert.equal(metadata.name, 'victim');
    for (const { spec = {} } of all) {
      const { infrastructureRef } = (
        spec['template'] as { readonly spec: { readonly infrastructureRef: { readonly name: string } } }
      ).spec;
      await world.template(infrastructureRef.name);
    }
  });
});
