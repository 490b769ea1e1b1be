import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Crd, readCrds } from '@drydock/crd';
import { createClient, type KubeObject, loadKubeconfig, type Resource } from '@drydock/kube';
import { crdFolder, type Sandbox } from '@drydock/sandbox';
import { stringify } from 'yaml';
import { OBJECTS } from './objects.ts';

/** How many definitions there are, and how many objects of all of them together. */
export const DEFINITIONS = 60;
export const COUNT = 10_000;
const WRITERS = 16;

/** Folders with definitions of one benchmark. */
export interface Folders {
  /** Of the newer release, without a status subresource: an object is stored with its status in one write. */
  readonly loading: string;
  readonly now: string;
  readonly target: string;
}

/** Writes the definitions of two releases, each of them many times under groups of its own. */
export function writeDefinitions(directory: string): Folders {
  const folders = {
    loading: join(directory, 'loading'),
    now: join(directory, 'now'),
    target: join(directory, 'target'),
  };
  for (const folder of Object.values(folders)) mkdirSync(folder);
  const write = (folder: string, release: string, loading: boolean): void => {
    const copies = DEFINITIONS / Object.keys(OBJECTS).length;
    for (const crd of definitionsOf(release))
      for (let copy = 0; copy < copies; copy += 1)
        writeFileSync(
          join(folder, `${crd.plural}-${copy}.yaml`),
          stringify(copied(crd, copy, loading), { aliasDuplicateObjects: false }),
        );
  };
  write(folders.loading, 'openshift-4.21', true);
  write(folders.now, 'openshift-4.21', false);
  write(folders.target, 'openshift-4.17', false);
  return folders;
}

function definitionsOf(release: string): readonly Crd[] {
  const folder = crdFolder(release);
  const all = readdirSync(folder).flatMap((file) => readCrds(readFileSync(join(folder, file), 'utf8'), file));
  return all.filter(({ plural }) => Object.hasOwn(OBJECTS, plural));
}

function copied({ manifest, plural, group }: Crd, copy: number, loading: boolean): object {
  const spec = structuredClone(manifest['spec']) as {
    group: string;
    scope: string;
    versions: { subresources?: object }[];
  };
  spec.group = `copy${copy}.${group}`;
  spec.scope = 'Cluster';
  if (loading) for (const version of spec.versions) delete version.subresources;
  const annotations = { 'api-approved.kubernetes.io': 'unapproved, a benchmark' };
  const { apiVersion, kind } = manifest;
  return { apiVersion, kind, metadata: { name: `${plural}.${spec.group}`, annotations }, spec };
}

/** Stores the objects. */
export async function fill(sandbox: Sandbox, folders: Folders, signal: AbortSignal): Promise<void> {
  await sandbox.installCrds([folders.loading], { signal });
  await using client = createClient(await loadKubeconfig({ kubeconfig: sandbox.kubeconfig }));
  const kinds = readdirSync(folders.loading).flatMap((file) =>
    readCrds(readFileSync(join(folders.loading, file), 'utf8'), file),
  );
  const jobs = Array.from({ length: COUNT }, (_, index) => index).values();
  await Promise.all(
    Array.from({ length: WRITERS }, async () => {
      for (const index of jobs) {
        const crd = kinds[index % kinds.length];
        if (crd === undefined) return;
        await client.create(resourceOf(crd), objectOf(crd, index), { signal });
      }
    }),
  );
  await sandbox.installCrds([folders.now], { signal });
}

/** The stored version of a definition. */
export function resourceOf(crd: Crd): Resource<KubeObject> {
  const version = crd.versions.find(({ storage }) => storage)?.name ?? '';
  return { group: crd.group, version, kind: crd.kind, plural: crd.plural, scope: crd.scope };
}

function objectOf(crd: Crd, index: number): KubeObject {
  const make = OBJECTS[crd.plural];
  if (make === undefined) throw new Error(`bench: no object of ${crd.plural}`);
  const { group, version } = resourceOf(crd);
  return make(`${group}/${version}`, index);
}
