import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import { gzipSync } from 'node:zlib';
import { tarOf, tarOfLinks } from './artefacts/archive.ts';
import { type ImageSettings, settingsOf } from './artefacts/dockerfile.ts';
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
  takeBlob,
} from './artefacts/oci-layout.ts';
import { PLATFORMS } from './artefacts/platforms.ts';
import { root } from './command.ts';
import { modified } from './dist.ts';

/** What an image is made of. */
export interface ImageOptions {
  /** Folder of the OCI image layout; what is there is replaced. */
  readonly to: string;
  /** Folder of the OCI image layout that has the base, with all architectures. */
  readonly base: string;
  readonly settings: ImageSettings;
  /** Its name, for a label. */
  readonly title: string;
  readonly version: string;
  /** The folder that `npm run dist` made, by architecture as Go calls it. */
  readonly trees: Readonly<Record<string, string>>;
  readonly time: Date;
}

/** The parts of an image's configuration that are looked at; what else a base says stays. */
interface Configuration {
  readonly rootfs: { readonly type: 'layers'; readonly diff_ids: readonly string[] };
  readonly history?: readonly object[];
  readonly config?: { readonly Env?: readonly string[]; readonly Labels?: Readonly<Record<string, string>> };
}

/** Of a folder of `npm run dist`: the base has a Node, and nobody links anything into a container. */
const NOT_IN_IMAGE = new Set(['bin', 'LICENSE-node']);

/**
 * Makes an image for several architectures without an engine: the layers of a pinned base, and one more with the programs under `/drydock`. The same input gives the same bytes. Resolves with the
 * digest by which it is deployed.
 */
export async function image({ to, base, settings, title, version, trees, time }: ImageOptions): Promise<string> {
  const bases = basesOf(base, settings);
  rmSync(to, { recursive: true, force: true });
  createLayout(to);
  const manifests: Descriptor[] = [];
  for (const [architecture, tree] of Object.entries(trees)) {
    const found = bases.find(({ platform }) => platform?.os === 'linux' && platform.architecture === architecture);
    if (found === undefined) throw new Error(`image: the base in ${base} has nothing for linux/${architecture}.`);
    const { config, layers = [] } = parsed<Manifest>(readBlob(base, found.digest));
    if (config === undefined) throw new Error(`image: the base for linux/${architecture} has no configuration.`);
    // Links are a layer of their own, so that images of the same programs share the large one.
    const tars = [await layerOf(tree, time)];
    if (Object.keys(settings.links).length > 0) tars.push(await tarOfLinks(settings.links, time));
    const own = tars.map((tar) => putBlob(to, gzipSync(tar, { level: 9 }), MEDIA.layer));
    for (const one of layers) takeBlob(base, to, one);
    const was = parsed<Configuration>(readBlob(base, config.digest));
    const is = configured(was, { settings, title, version, time }, tars.map(digestOf));
    const manifest = {
      ...{ schemaVersion: 2, mediaType: MEDIA.manifest },
      config: putBlob(to, jsonBytes(is), MEDIA.config),
      layers: [...layers.map(asOci), ...own],
    };
    const { platform } = found;
    manifests.push({ ...putBlob(to, jsonBytes(manifest), MEDIA.manifest), ...(platform && { platform }) });
  }
  const index = putBlob(to, jsonBytes({ schemaVersion: 2, mediaType: MEDIA.index, manifests }), MEDIA.index);
  const named = { ...index, annotations: { 'org.opencontainers.image.ref.name': version } };
  writeFileSync(join(to, 'index.json'), jsonBytes({ schemaVersion: 2, mediaType: MEDIA.index, manifests: [named] }));
  return index.digest;
}

function parsed<T>(bytes: Buffer): T {
  return JSON.parse(bytes.toString()) as T;
}

/** The manifests of the pinned base; it is refused where it is another one. */
function basesOf(folder: string, { base, digest }: ImageSettings): readonly Descriptor[] {
  if (!existsSync(blobPath(folder, digest)))
    throw new Error(
      `image: ${folder} does not have ${base}. Where there is a network: skopeo copy --all docker://${base.replace(/:[^@]*@/, '@')} oci:${folder}`,
    );
  const { manifests } = parsed<Manifest>(readBlob(folder, digest));
  if (manifests === undefined) throw new Error(`image: ${digest} in ${folder} is no index: copy all architectures.`);
  return manifests;
}

async function layerOf(tree: string, modifiedAt: Date): Promise<Buffer> {
  const leave = (path: string): boolean => NOT_IN_IMAGE.has(path);
  return Buffer.concat(await Array.fromAsync(tarOf(tree, { prefix: 'drydock/', modified: modifiedAt, leave })));
}

/** Layers that an engine of Docker's pushed, which are the same bytes under another name. */
function asOci(layer: Descriptor): Descriptor {
  return layer.mediaType === 'application/vnd.docker.image.rootfs.diff.tar.gzip'
    ? { ...layer, mediaType: MEDIA.layer }
    : layer;
}

function configured(
  base: Configuration,
  { settings, title, version, time }: Pick<ImageOptions, 'settings' | 'title' | 'version' | 'time'>,
  diffs: readonly string[],
): object {
  const { env, user, entrypoint, command } = settings;
  const created = time.toISOString();
  const names = new Set(env.map((one) => one.split('=')[0]));
  const kept = (base.config?.Env ?? []).filter((one) => !names.has(one.split('=')[0]));
  const labels = {
    'org.opencontainers.image.title': title,
    'org.opencontainers.image.version': version,
    'org.opencontainers.image.licenses': 'Apache-2.0',
  };
  return {
    ...base,
    created,
    config: {
      ...base.config,
      ...{ Env: [...kept, ...env], User: user, Entrypoint: entrypoint, Cmd: command },
      Labels: { ...base.config?.Labels, ...labels },
    },
    rootfs: { type: 'layers', diff_ids: [...base.rootfs.diff_ids, ...diffs] },
    history: [...(base.history ?? []), ...diffs.map(() => ({ created, created_by: 'npm run image' }))],
  };
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { base: { type: 'string', default: 'dist/base' } } });
  const { version } = parsed<{ readonly version: string }>(readFileSync(join(root, 'package.json')));
  const trees = PLATFORMS.filter(({ os }) => os === 'linux').map(({ name, arch }) => {
    const tree = join(root, 'dist', `drydock-${version}-${name}`);
    if (!existsSync(tree)) throw new Error(`image: there is no ${relative(root, tree)}: run "npm run dist" first.`);
    return [arch, tree] as const;
  });
  const dockerfile = readFileSync(join(root, 'deploy', 'Dockerfile'), 'utf8');
  const common = { base: values.base, version, trees: Object.fromEntries(trees), time: modified() };
  for (const [title, folder, stage] of [
    ['drydock', 'image', undefined],
    ['drydock-node', 'node-image', 'node'],
  ] as const) {
    const to = join(root, 'dist', folder);
    const digest = await image({ ...common, to, title, settings: settingsOf(dockerfile, stage) });
    console.log(`${digest}  oci:${relative(process.cwd(), to)}:${version}`);
  }
}
