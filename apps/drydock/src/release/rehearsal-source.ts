import { existsSync, globSync, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { CrdError, type JsonObject, readManifests } from '@drydock/crd';
import type { ReleaseParts } from '@drydock/release';
import { UsageError } from '../exit.ts';
import { type AudienceFlags, readPayload } from './payload-source.ts';
import { sourceNamed } from './source-name.ts';

/** What the releases of a rehearsal are called that say nothing of themselves. */
export const UNNAMED = { older: '1.0.0', newer: '1.1.0' } as const;

const SET = /^[a-z][a-z-]*-\d[\w.]*$/;

/** Reads a release: a set of the sandbox, a folder of definitions, or a payload, as `drydock release load` reads one. Throws `UsageError`, `CrdError`, `ReleaseError`. */
export async function releaseParts(
  name: string,
  unnamed: string,
  flags: AudienceFlags,
  signal: AbortSignal,
): Promise<ReleaseParts> {
  if (!existsSync(name) && SET.test(name)) {
    const { build, crdFolder } = await import('@drydock/sandbox');
    await build({ servers: [], crds: [name], signal });
    return { version: unnamed, manifests: await definitionsIn(crdFolder(name), { anyFeatureSet: true }) };
  }
  const isFolder = sourceNamed(name, ['folder', 'image']).kind === 'folder';
  const metadata = ['release-metadata', 'release-manifests/release-metadata'];
  if (isFolder && !metadata.some((file) => existsSync(join(name, file))))
    return { version: unnamed, manifests: await definitionsIn(name, { anyFeatureSet: false }) };
  const { payload, included } = await readPayload(name, flags, signal);
  const manifests = new Map<string, readonly JsonObject[]>();
  for (const { file, object } of included)
    manifests.set(basename(file), [...(manifests.get(basename(file)) ?? []), object]);
  return { version: payload.metadata.version, manifests };
}

/** Definitions of a folder, below it, too; whatever else is there is left alone. */
async function definitionsIn(
  folder: string,
  { anyFeatureSet }: { readonly anyFeatureSet: boolean },
): Promise<ReadonlyMap<string, readonly JsonObject[]>> {
  const found = new Map<string, readonly JsonObject[]>();
  for (const [at, file] of filesIn(folder).entries()) {
    const crds = (await objectsIn(join(folder, file))).filter(({ kind }) => kind === 'CustomResourceDefinition');
    if (crds.length === 0) continue;
    const name = `0000_10_definitions_${`${at}`.padStart(4, '0')}-${basename(file)}`;
    found.set(name, anyFeatureSet ? crds.map(forEverybody) : crds);
  }
  if (found.size === 0)
    throw new UsageError(`${folder} has no CustomResourceDefinition, and is no payload: name a folder that has some`);
  return found;
}

/** The set was chosen by its author. */
function forEverybody(object: JsonObject): JsonObject {
  const metadata = object['metadata'] as JsonObject;
  const { 'release.openshift.io/feature-set': _set, ...annotations } = (metadata['annotations'] ?? {}) as JsonObject;
  return { ...object, metadata: { ...metadata, annotations } };
}

/** Objects of a folder, as `kubectl get -o yaml` writes them: what only the server knows is left out. */
export async function storedObjects(folder: string): Promise<readonly JsonObject[]> {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true)
    throw new UsageError(`--objects ${folder}: a folder of YAML or JSON files is expected`);
  const all: JsonObject[] = [];
  for (const file of filesIn(folder)) all.push(...(await objectsIn(join(folder, file))));
  return all.map((object) => {
    const { labels, name, namespace, annotations } = (object['metadata'] ?? {}) as JsonObject;
    const known = Object.entries({ name, namespace, labels, annotations }).filter(([, value]) => value !== undefined);
    return { ...object, metadata: Object.fromEntries(known) as JsonObject };
  });
}

function filesIn(folder: string): readonly string[] {
  return globSync('**/*.{yaml,yml,json}', { cwd: folder }).toSorted();
}

async function objectsIn(file: string): Promise<readonly JsonObject[]> {
  try {
    return readManifests(await readFile(file, 'utf8'), file);
  } catch (error) {
    if (error instanceof CrdError) throw new UsageError(error.message, { cause: error });
    throw error;
  }
}
