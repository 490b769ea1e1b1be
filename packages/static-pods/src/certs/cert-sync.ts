import { join } from 'node:path';
import { compareDirectory, type FileSpec, recover, removeTreeDurable, syncDir } from '@drydock/durable';
import type { Client } from '@drydock/kube';
import { DIRECTORY_MODE } from '../directory.ts';
import { StaticPodError } from '../errors.ts';
import { type Environment, textOf } from '../revision/environment.ts';
import { fetchSource } from '../revision/fetch.ts';
import { checkObjectName } from '../revision/install-spec.ts';
import { filesOf, type Source, type SourceKind, sourceText } from '../revision/object-files.ts';
import { type CertView, decideCert, type Found } from './cert-step.ts';
import { lockCerts } from './certs.ts';

/** One object that becomes a directory. */
export interface CertSource {
  readonly name: string;
  readonly optional?: boolean;
}

/** What a cert syncer keeps on the disk. */
export interface CertSyncSpec {
  readonly namespace: string;
  /** Holds `secrets/<name>` and `configmaps/<name>`. */
  readonly dir: string;
  readonly secrets: readonly CertSource[];
  readonly configmaps: readonly CertSource[];
}

/** What a cert syncer acts through. */
export interface CertSyncEnvironment extends Environment {
  readonly client: Client;
  /** The object as the cache has it. */
  readonly cached: (kind: SourceKind, name: string) => Source | undefined;
}

/** What one pass changed, as `secrets/<name>`. */
export interface CertSyncResult {
  readonly updated: readonly string[];
  readonly removed: readonly string[];
}

/** How long one question to the server may take (ms); the next pass asks again. */
const ASK_MS = 14_000;

/** Throws `USAGE` unless a syncer can run with this. */
export function validateCertSync({ namespace, dir, secrets, configmaps }: CertSyncSpec): void {
  if (dir === '') throw new StaticPodError('USAGE', 'options', '--destination-dir is required');
  if (namespace === '')
    throw new StaticPodError('USAGE', 'options', '--namespace or env var POD_NAMESPACE is required');
  checkObjectName('--namespace', namespace);
  if (secrets.length + configmaps.length === 0)
    throw new StaticPodError(
      'USAGE',
      'options',
      'no object is listed: give --secrets, --optional-secrets, --configmaps or --optional-configmaps, or --lists FILE',
    );
  for (const { name } of [...secrets, ...configmaps]) checkObjectName('--secrets or --configmaps', name);
}

/**
 * One pass over all objects, configmaps first: each directory is compared with the cache, and where it differs with the server, under the lock that
 * installers of the same directory take. Each object is independent of the others; all failures come together as `INCOMPLETE`.
 */
export async function syncCerts(spec: CertSyncSpec, env: CertSyncEnvironment): Promise<CertSyncResult> {
  const { notify } = env;
  const updated: string[] = [];
  const removed: string[] = [];
  const failures: unknown[] = [];
  await using _lock = await lockCerts(spec.dir, env);
  try {
    await recover(spec.dir, env);
  } catch (error) {
    notify?.(failed(`Cleaning ${spec.dir}: ${textOf(error)}`));
    throw error;
  }
  for (const kind of ['configmaps', 'secrets'] as const)
    for (const source of spec[kind]) {
      env.signal?.throwIfAborted();
      const path = `${kind}/${source.name}`;
      try {
        const done = await syncOne(spec, kind, source, env);
        if (done === 'write') updated.push(path);
        if (done === 'remove') removed.push(path);
      } catch (error) {
        failures.push(error);
      }
    }
  if (failures.length > 0) {
    const said = `${failures.length} of ${spec.configmaps.length + spec.secrets.length} objects failed: ${failures.map(textOf).join(' ')}`;
    throw new StaticPodError('INCOMPLETE', spec.dir, said, new AggregateError(failures));
  }
  return { updated, removed };
}

function failed(note: string): Parameters<NonNullable<Environment['notify']>>[0] {
  return { type: 'Warning', reason: 'CertificateUpdateFailed', action: 'SyncCertificates', note };
}

/** Observe, decide, act for one object until nothing is left to do. Returns what it changed. */
async function syncOne(
  spec: CertSyncSpec,
  kind: SourceKind,
  { name, optional = false }: CertSource,
  env: CertSyncEnvironment,
): Promise<'write' | 'remove' | undefined> {
  const target = join(spec.dir, kind, name);
  const what = sourceText(kind, spec.namespace, name);
  const note = { action: 'SyncCertificates', note: `${what} in ${target}` };
  const known = env.cached(kind, name);
  const cached: Found = known === undefined ? 'missing' : filesOf(kind, known, 'shared');
  const directory = (files: ReadonlyMap<string, FileSpec>) => ({ target, mode: DIRECTORY_MODE, files });
  const match = (files: Found) => compareDirectory(directory(files === 'missing' ? new Map() : files), env);
  let view: CertView = { optional, cached, disk: await match(cached) };
  for (;;) {
    const step = decideCert(view);
    switch (step.do) {
      case 'nothing':
        return undefined;
      case 'fail':
        throw new StaticPodError('MISSING', what, step.reason);
      case 'ask-server': {
        const live = await reporting(env, note.note, () => ask(spec, kind, name, env));
        view = { ...view, live, diskToLive: await match(live) };
        break;
      }
      case 'write':
        await reporting(env, note.note, () => syncDir({ ...env, ...directory(step.files) }));
        env.notify?.({ type: 'Normal', reason: 'CertificateUpdated', ...note });
        env.log?.(`${what}: written to ${target}`);
        return 'write';
      case 'remove':
        await reporting(env, note.note, () => removeTreeDurable(target, join(spec.dir, kind), env));
        env.notify?.({ type: kind === 'secrets' ? 'Warning' : 'Normal', reason: 'CertificateRemoved', ...note });
        env.log?.(`${what}: gone, ${target} removed`);
        return 'remove';
    }
  }
}

async function ask(spec: CertSyncSpec, kind: SourceKind, name: string, env: CertSyncEnvironment): Promise<Found> {
  const end = AbortSignal.timeout(ASK_MS);
  const signal = env.signal === undefined ? end : AbortSignal.any([env.signal, end]);
  // One question only: the lock is held meanwhile, and the next pass asks again.
  const { client } = env;
  const object = await fetchSource(kind, name, true, { client, namespace: spec.namespace, signal, attempts: 1 });
  return object === undefined ? 'missing' : filesOf(kind, object, 'shared');
}

async function reporting<T>(env: CertSyncEnvironment, what: string, action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    env.notify?.(failed(`${what}: ${textOf(error)}`));
    throw error;
  }
}
