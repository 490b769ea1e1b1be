import { join } from 'node:path';
import { checkTrusted, type FileLock, lockFile, makeDirectoryDurable, recover, syncDirs } from '@drydock/durable';
import type { Client } from '@drydock/kube';
import { checkNoLink, DIRECTORY_MODE, KINDS, LOCK_NAME } from '../directory.ts';
import type { Environment } from '../revision/environment.ts';
import { fetchSources } from '../revision/fetch.ts';
import type { InstallSpec } from '../revision/install-spec.ts';
import { filesOf } from '../revision/object-files.ts';

/**
 * Takes the one lock of a certificate directory. Who writes there asks the API server only after it has it: a read of the API server sees every
 * write before it, so whoever writes later writes what is at least as new, and an installer cannot put back what a syncer replaced.
 */
export async function lockCerts(certDir: string, env: Environment): Promise<FileLock> {
  await checkTrusted(certDir, env);
  await makeDirectoryDurable(certDir, env);
  const held = await lockFile(join(certDir, LOCK_NAME), {
    ...(env.ops && { ops: env.ops }),
    ...(env.signal && { signal: env.signal }),
  });
  try {
    for (const kind of KINDS) await checkNoLink(join(certDir, kind), env);
    return held;
  } catch (error) {
    await held[Symbol.asyncDispose]();
    throw error;
  }
}

/** The installer's part: fetches the certificates, all before any is written, and puts them where the cert syncer keeps them. True where something changed. */
export async function syncSharedCerts(spec: InstallSpec, client: Client, env: Environment): Promise<boolean> {
  const { certDir, certs = {}, namespace } = spec;
  if (certDir === undefined) return false;
  await using _lock = await lockCerts(certDir, env);
  const fetched = await fetchSources(certs, { ...env, client, namespace });
  await recover(certDir, env);
  // No substitution here: they belong to no revision, and the syncer would undo it.
  const specs = fetched.map(({ kind, name, object }) => ({
    target: join(certDir, kind, name),
    mode: DIRECTORY_MODE,
    files: filesOf(kind, object, 'shared'),
  }));
  const { directories } = await syncDirs(specs, env);
  return directories.some(({ changed }) => changed);
}
