import assert from 'node:assert/strict';
import { globSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { gunzipSync, gzipSync } from 'node:zlib';
import { ociLayout } from '@drydock/release';
import { scratchFolder } from '@drydock/sandbox';
import { extract } from 'tar-stream';
import { tarOf } from './artefacts/archive.ts';
import { settingsOf } from './artefacts/dockerfile.ts';
import {
  blobPath,
  createLayout,
  type Descriptor,
  digestOf,
  jsonBytes,
  type Manifest,
  MEDIA,
  putBlob,
  readBlob,
} from './artefacts/oci-layout.ts';
import { root } from './command.ts';
import { type ImageOptions, image } from './image.ts';

const dockerfile = readFileSync(join(root, 'deploy/Dockerfile'), 'utf8');
const time = new Date('2026-01-02T03:04:05Z');
const architectures = ['amd64', 'arm64'];

/** A base of one layer for each architecture, and folders as `npm run dist` makes them. */
async function prepared(folder: string, of: readonly string[] = architectures): Promise<ImageOptions> {
  const base = join(folder, 'base');
  createLayout(base);
  const manifests: Descriptor[] = [];
  const trees: Record<string, string> = {};
  for (const architecture of of) {
    const system = join(folder, `system-${architecture}`);
    mkdirSync(join(system, 'etc'), { recursive: true });
    writeFileSync(join(system, 'etc/arch'), architecture);
    const tar = Buffer.concat(await Array.fromAsync(tarOf(system, { prefix: '', modified: time })));
    const layers = [putBlob(base, gzipSync(tar), 'application/vnd.docker.image.rootfs.diff.tar.gzip')];
    const config = putBlob(
      base,
      jsonBytes({
        ...{ os: 'linux', architecture, history: [{ created_by: 'base' }] },
        rootfs: { type: 'layers', diff_ids: [digestOf(tar)] },
        config: { Env: ['PATH=/usr/local/bin', 'NODE_ENV=development'], Cmd: ['node'], Labels: { from: 'base' } },
      }),
      MEDIA.config,
    );
    const manifest = { schemaVersion: 2, mediaType: MEDIA.manifest, config, layers };
    const platform = { os: 'linux', architecture };
    manifests.push({ ...putBlob(base, jsonBytes(manifest), MEDIA.manifest), platform });
    const tree = join(folder, `tree-${architecture}`);
    for (const path of ['bin', 'apps/drydock/bin', 'node_modules']) mkdirSync(join(tree, path), { recursive: true });
    writeFileSync(join(tree, 'bin/node'), 'a Node that the base has');
    writeFileSync(join(tree, 'apps/drydock/bin/drydock.js'), `// ${architecture}`, { mode: 0o700 });
    symlinkSync('../apps', join(tree, 'node_modules/linked'));
    trees[architecture] = tree;
  }
  const { digest } = putBlob(base, jsonBytes({ schemaVersion: 2, mediaType: MEDIA.index, manifests }), MEDIA.index);
  const settings = { ...settingsOf(dockerfile), digest };
  return { to: join(folder, 'image'), base, settings, title: 'drydock', version: '1.2.3', trees, time };
}

const parsed = <T>(bytes: Buffer): T => JSON.parse(bytes.toString()) as T;

/** Names of what layers make of an empty root, and the content of files. */
async function unpacked(folder: string, layers: readonly Descriptor[]): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  for (const { digest } of layers) {
    const tar = extract();
    tar.end(gunzipSync(readBlob(folder, digest)));
    for await (const entry of tar) {
      const chunks = (await Array.fromAsync(entry)) as Buffer[];
      const { type, name, linkname, uid, mode } = entry.header;
      assert.deepEqual([uid, mode & 0o022], [0, 0], `${name} can be changed by nobody`);
      found.set(name, type === 'symlink' ? `→ ${linkname}` : Buffer.concat(chunks).toString());
    }
  }
  return found;
}

test('npm run image: a layout whose parts are what their digests say, for each architecture the base and the programs, started as the Dockerfile says', async () => {
  using scratch = scratchFolder();
  const options = await prepared(scratch.path);
  const digest = await image(options);
  for (const name of globSync('blobs/sha256/*', { cwd: options.to }))
    readBlob(options.to, `sha256:${name.replace('blobs/sha256/', '')}`);
  // By the reader of the product.
  await using layout = ociLayout(options.to, '1.2.3');
  const top = await layout.root({ signal: AbortSignal.timeout(60_000) });
  assert.deepEqual([top.digest, top.mediaType], [digest, MEDIA.index]);
  const { manifests = [] } = parsed<Manifest>(top.bytes);
  assert.deepEqual(
    manifests.map(({ platform }) => platform),
    architectures.map((architecture) => ({ os: 'linux', architecture })),
  );
  for (const [at, one] of manifests.entries()) {
    const { config, layers = [] } = parsed<Manifest>(readBlob(options.to, one.digest));
    assert.ok(config !== undefined);
    for (const { digest: blob, size, mediaType } of [config, ...layers]) {
      assert.equal(size, readBlob(options.to, blob).length);
      assert.match(mediaType, /^application\/vnd\.oci\.image\./);
    }
    const said = parsed<{
      readonly architecture: string;
      readonly rootfs: { readonly diff_ids: readonly string[] };
      readonly history: readonly object[];
      readonly config: Readonly<Record<string, unknown>>;
    }>(readBlob(options.to, config.digest));
    assert.deepEqual(
      said.rootfs.diff_ids,
      layers.map(({ digest: layer }) => digestOf(gunzipSync(readBlob(options.to, layer)))),
    );
    assert.deepEqual([said.architecture, said.history.length], [architectures[at], 2]);
    assert.deepEqual(said.config, {
      Env: ['PATH=/usr/local/bin', 'NODE_ENV=production'],
      User: '65532:0',
      Entrypoint: ['node', '/drydock/apps/drydock/bin/drydock.js'],
      Cmd: ['operator'],
      Labels: {
        from: 'base',
        'org.opencontainers.image.title': 'drydock',
        'org.opencontainers.image.version': '1.2.3',
        'org.opencontainers.image.licenses': 'Apache-2.0',
      },
    });
    const files = await unpacked(options.to, layers);
    assert.equal(files.get('etc/arch'), architectures[at]);
    assert.equal(files.get('drydock/apps/drydock/bin/drydock.js'), `// ${architectures[at]}`);
    assert.equal(files.get('drydock/node_modules/linked'), '→ ../apps');
    assert.equal(files.has('drydock/bin/node'), false);
  }
});

test('FIND-24 npm run image: the node image is root, has drydock-node in its PATH, and shares the layer of the programs', async () => {
  using scratch = scratchFolder();
  const options = await prepared(scratch.path, ['amd64']);
  const stage = { ...settingsOf(dockerfile, 'node'), digest: options.settings.digest };
  const node = { ...options, settings: stage, title: 'drydock-node', to: join(scratch.path, 'node-image') };
  await image(options);
  await image(node);
  const partsOf = (to: string) => {
    const [index] = parsed<Manifest>(readFileSync(join(to, 'index.json'))).manifests ?? [];
    const [one] = parsed<Manifest>(readBlob(to, index?.digest ?? '')).manifests ?? [];
    const { config, layers = [] } = parsed<Manifest>(readBlob(to, one?.digest ?? ''));
    const said = parsed<{
      readonly rootfs: { readonly diff_ids: readonly string[] };
      readonly history: readonly object[];
      readonly config: Readonly<Record<string, unknown>>;
    }>(readBlob(to, config?.digest ?? ''));
    return { layers, said };
  };
  const [operators, nodes] = [partsOf(options.to), partsOf(node.to)];
  assert.deepEqual(nodes.layers.slice(0, -1), operators.layers);
  assert.deepEqual(
    nodes.said.rootfs.diff_ids,
    nodes.layers.map(({ digest }) => digestOf(gunzipSync(readBlob(node.to, digest)))),
  );
  assert.equal(nodes.said.history.length, nodes.layers.length);
  const files = await unpacked(node.to, nodes.layers);
  assert.equal(files.get('usr/local/bin/drydock-node'), '→ /drydock/apps/node/bin/drydock-node.js');
  const { User, Entrypoint, Cmd, Env, Labels } = nodes.said.config;
  assert.deepEqual([User, Entrypoint, Cmd], ['0:0', ['drydock-node'], ['cert-sync']]);
  assert.deepEqual(Env, ['PATH=/usr/local/bin', 'NODE_ENV=production']);
  assert.equal((Labels as Readonly<Record<string, string>>)['org.opencontainers.image.title'], 'drydock-node');
});

test('FIND-24 a stage of the Dockerfile that does more than a link, or does not exist, is refused', () => {
  const more = dockerfile.replace('RUN ln -s', 'RUN apt-get install curl && ln -s');
  assert.throws(() => settingsOf(more, 'node'), /only links are made without an engine/);
  assert.throws(() => settingsOf(dockerfile, 'nodes'), /has no stage nodes/);
});

test('npm run image: the same input gives the same bytes, another one another digest', async () => {
  using first = scratchFolder();
  using second = scratchFolder();
  const [one, other] = [await prepared(first.path), await prepared(second.path)];
  assert.equal(await image(one), await image(other));
  const content = ({ to }: ImageOptions) =>
    globSync('**/*', { cwd: to, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => `${entry.name} ${digestOf(readFileSync(join(entry.parentPath, entry.name)))}`)
      .sort();
  assert.deepEqual(content(one), content(other));
  const was = digestOf(readFileSync(join(one.to, 'index.json')));
  writeFileSync(join(one.trees['amd64'] ?? '', 'apps/drydock/bin/drydock.js'), '// changed');
  await image(one);
  assert.notEqual(digestOf(readFileSync(join(one.to, 'index.json'))), was);
});

test('npm run image: a base that is not there, that is another one, or that lacks an architecture is refused in words', async () => {
  using scratch = scratchFolder();
  const options = await prepared(scratch.path);
  const pinned = settingsOf(dockerfile);
  await assert.rejects(
    image({ ...options, settings: pinned }),
    new RegExp(
      `does not have node:.*${pinned.digest}\\. Where there is a network: skopeo copy --all docker://node@${pinned.digest} oci:`,
    ),
  );
  using small = scratchFolder();
  const few = await prepared(small.path, ['amd64']);
  await assert.rejects(image({ ...few, trees: options.trees }), /has nothing for linux\/arm64/);
  const [layer] = parsed<Manifest>(
    readBlob(few.base, parsed<Manifest>(readBlob(few.base, few.settings.digest)).manifests?.[0]?.digest ?? ''),
  ).layers ?? [assert.fail()];
  rmSync(blobPath(few.base, layer?.digest ?? ''));
  writeFileSync(blobPath(few.base, layer?.digest ?? ''), 'something else');
  await assert.rejects(image(few), /is not what its name says; copy the base anew/);
});
