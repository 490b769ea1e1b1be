import { join } from 'node:path';
import { checkTrusted, lockFile, nodeOps, recover } from '@drydock/durable';
import { lockCerts } from '../certs/certs.ts';
import { type Environment, looking } from '../revision/environment.ts';
import { revisionOfDirectory } from '../revision/revision.ts';

/** What to clean up. */
export interface RecoverSpec {
  /** Name of the static pod, such as `kube-apiserver-pod`. */
  readonly staticPod: string;
  readonly resourceDir?: string;
  readonly manifestDir?: string;
  readonly certDir?: string;
  /** Shared with installer and startup monitor. */
  readonly lockFile?: string;
}

/** Cleans up what crashes left of one static pod, under the locks of those who write there. Returns the paths that were removed or put back. */
export async function recoverNode(spec: RecoverSpec, env: Environment = {}): Promise<readonly string[]> {
  const { staticPod, resourceDir, manifestDir, certDir } = spec;
  const ops = env.ops ?? nodeOps;
  const locks = { ops, ...(env.signal && { signal: env.signal }) };
  const isThere = async (dir: string | undefined): Promise<boolean> =>
    dir !== undefined && (await looking(env).lstat(dir)) !== undefined;
  const done: string[] = [];
  await using held = new AsyncDisposableStack();
  // The installer's order.
  if (resourceDir !== undefined && (await isThere(resourceDir))) {
    held.use(await lockFile(join(resourceDir, `.${staticPod}.lock`), locks));
    const link = `${staticPod.replace(/-pod$/, '')}-last-known-good`;
    const owns = (name: string): boolean => name === link || revisionOfDirectory(name, staticPod) !== undefined;
    const { putBack, removed } = await recover(resourceDir, { ...env, owns });
    done.push(...putBack, ...removed);
  }
  if (certDir !== undefined && (await isThere(certDir))) {
    await using _lock = await lockCerts(certDir, env);
    const { putBack, removed } = await recover(certDir, env);
    done.push(...putBack, ...removed);
  }
  if (manifestDir !== undefined && (await isThere(manifestDir))) {
    await checkTrusted(manifestDir, { ops });
    if (spec.lockFile !== undefined) held.use(await lockFile(spec.lockFile, locks));
    const monitor = `${staticPod.replace(/-pod$/, '')}-startup-monitor-pod.yaml`;
    const owns = (name: string): boolean => name === `${staticPod}.yaml` || name === monitor;
    const { putBack, removed } = await recover(manifestDir, { ...env, owns });
    done.push(...putBack, ...removed);
  }
  return done;
}
