import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { BootImage, ConfigMap, Infrastructure, MachineSet, Secret } from '@drydock/api';
import { createClient, type KubeClient, loadKubeconfig } from '@drydock/kube';
import { startSandbox } from '@drydock/sandbox';
import { type OperatorProcess, startOperator } from '../process/operator-process.ts';
import { table } from '../table.ts';
import { routingProxy } from './cloud-route.ts';
import { type CloudScene, scenes } from './cloud-scenes.ts';
import { configOperator, createNamespaces, createVersion, machineApi, standOn, userData } from './cluster.ts';
import { awaited } from './patience.ts';
import { ownCrds, releases, type Stage } from './stage.ts';

/** The same release on several clouds: a set is moved only to an image that was seen to start there, and everything else says why not. */
export async function cloudsChapter({ folder, signal, tell }: Stage): Promise<void> {
  tell.chapter('CLOUDS: one release, and no set is pointed at an image that is known not to start there');
  tell.step('A cluster of its own, and a small server with TLS in the place of each cloud');
  await using cast = new AsyncDisposableStack();
  const sandbox = cast.use(await startSandbox({ crds: ['openshift', ownCrds], signal }));
  const client = cast.use(createClient(await loadKubeconfig({ kubeconfig: sandbox.kubeconfig })));
  const played: CloudScene[] = [];
  for (const start of scenes) {
    const scene = await start();
    cast.use(scene.server);
    played.push(scene);
  }
  await createCluster(client, played);

  const routes = played.map(({ hosts, server }) => ({ hosts, proxy: server.proxy }));
  const proxy = cast.use(await routingProxy(routes));
  const authorities = join(folder, 'clouds.pem');
  writeFileSync(authorities, played.map(({ server }) => server.ca).join('\n'));
  const args = ['--kubeconfig', sandbox.kubeconfig, '--port', '0', '--cache-dir', join(folder, 'cache-of-clouds')];
  const operator = cast.use(
    startOperator([...args, '--lease-namespace', machineApi], join(sandbox.directory, 'operator.log'), {
      HTTPS_PROXY: proxy.address,
      NODE_EXTRA_CA_CERTS: authorities,
    }),
  );
  for (const scene of played) {
    tell.step(`Infrastructure says ${scene.title}`);
    await play(client, operator, scene, signal);
    tell.say(await report(client, scene));
  }
}

/** Creates what a cluster has on any cloud, at a release whose stream has images for all of these. */
async function createCluster(client: KubeClient, played: readonly CloudScene[]): Promise<void> {
  await createNamespaces(client);
  const [first] = played;
  await client.create(Infrastructure, {
    metadata: { name: 'cluster' },
    spec: { platformSpec: first?.infrastructure.spec?.platformSpec },
  } as Infrastructure);
  await createVersion(client, releases.first.version);
  await client.create(Secret, userData('worker-user-data', '3.4.0'));
  await client.create(Secret, { metadata: credentials });
  await client.create(ConfigMap, {
    metadata: { namespace: configOperator, name: 'coreos-bootimages' },
    data: { releaseVersion: releases.first.version, stream: streamOf(played) },
  });
}

const credentials = { namespace: 'drydock', name: 'drydock-cloud-credentials' } as const;

type Part = Readonly<Record<string, object>>;

/** One stream with what all of theirs have for x86_64. */
function streamOf(played: readonly CloudScene[]): string {
  const merged: Record<string, object> = {};
  for (const { stream } of played) {
    const { architectures } = JSON.parse(stream) as { readonly architectures: { readonly x86_64: Part } };
    for (const [key, part] of Object.entries(architectures.x86_64)) merged[key] = { ...merged[key], ...part };
  }
  return JSON.stringify({ stream: 'rhcos-demo', architectures: { x86_64: merged } });
}

async function play(
  client: KubeClient,
  operator: OperatorProcess,
  { credentials: data, infrastructure, sets }: CloudScene,
  signal: AbortSignal,
): Promise<void> {
  // Of the cloud before.
  for await (const { metadata } of client.list(MachineSet, { namespace: machineApi }))
    await client.delete(MachineSet, { namespace: machineApi, name: metadata.name });
  const encoded = Object.entries(data).map(([key, text]) => [key, Buffer.from(text).toString('base64')] as const);
  await client.mergePatch(Secret, credentials, { data: Object.fromEntries(encoded) });
  const { infrastructureName = '', platformStatus = {} } = infrastructure.status ?? {};
  await standOn(client, infrastructureName, platformStatus);
  for (const { set } of sets) await client.create(MachineSet, selected(set));
  await awaited(
    async () => {
      operator.alive();
      const images = await imagesOf(client);
      const settled = sets.every(({ set, phase }) => images.get(set.metadata.name)?.status?.phase === phase);
      return settled || undefined;
    },
    { deadline: 60_000, signal, sentence: () => `not every set of ${platformStatus.type} came where it belongs` },
  );
}

/** A set as the API server takes it. */
function selected({ metadata, spec }: MachineSet): MachineSet {
  const { name, annotations = {} } = metadata;
  const labels = { 'machine.openshift.io/cluster-api-machineset': name };
  const template = { metadata: { labels }, spec: spec?.template?.spec ?? {} };
  return {
    metadata: { namespace: machineApi, name, annotations },
    spec: { replicas: 3, selector: { matchLabels: labels }, template },
  };
}

async function imagesOf(client: KubeClient): Promise<ReadonlyMap<string, BootImage>> {
  const images = await Array.fromAsync(client.list(BootImage, { namespace: machineApi }));
  return new Map(images.map((image) => [image.spec?.machineSet?.name ?? '', image]));
}

interface Row {
  readonly name: string;
  readonly patched: boolean;
  readonly status: NonNullable<BootImage['status']>;
}

/** What became of the sets. Rejects where one was changed that may not be, or the other way round. */
async function report(client: KubeClient, { sets }: CloudScene): Promise<string> {
  const images = await imagesOf(client);
  const rows: Row[] = [];
  for (const { set, phase } of sets) {
    const { name } = set.metadata;
    const live = await client.get(MachineSet, { namespace: machineApi, name });
    const patched = !isDeepStrictEqual(providerSpecOf(live), providerSpecOf(set));
    const { status = {} } = images.get(name) ?? {};
    const seen = status.conditions?.some(({ type, status: said }) => type === 'Verified' && said === 'True') === true;
    const wanted = phase === 'Current' ? seen && status.current === status.target : true;
    if (patched !== (phase === 'Current') || !wanted)
      throw new Error(`${name} is ${phase}, and was ${patched ? '' : 'not '}patched: it starts from ${status.current}`);
    rows.push({ name, patched, status });
  }
  const shown = table(
    [
      { header: 'MACHINESET', cell: ({ name }: Row) => name },
      { header: 'PHASE', cell: ({ status }) => status.phase ?? '' },
      { header: 'NEW MACHINES START FROM', cell: ({ status }) => status.current ?? '' },
      { header: 'BY', cell: ({ patched }) => (patched ? 'one patch, after a look' : '(unchanged)') },
    ],
    rows,
  );
  const reasons = rows
    .filter(({ patched }) => !patched)
    .map(({ status }) => `${status.message}\n  next: ${status.nextStep}\n`);
  return [shown, ...reasons].join('');
}

function providerSpecOf({ spec }: MachineSet): unknown {
  return spec?.template?.spec?.providerSpec?.value;
}
