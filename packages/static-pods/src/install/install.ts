import { join } from 'node:path';
import {
  checkTrusted,
  commitTree,
  type FileLock,
  type FileSpec,
  lockFile,
  makeDirectoryDurable,
  nodeOps,
  recover,
  removeTreeDurable,
  replaceFileDurable,
  syncDirs,
} from '@drydock/durable';
import type { Client } from '@drydock/kube';
import { syncSharedCerts } from '../certs/certs.ts';
import { checkNoLink, DIRECTORY_MODE, KINDS } from '../directory.ts';
import { StaticPodError } from '../errors.ts';
import { patiently } from '../patience.ts';
import { type Environment, looking, textOf } from '../revision/environment.ts';
import { type InstallSpec, validateInstall } from '../revision/install-spec.ts';
import { Node, type PodMutation } from '../revision/pod.ts';
import { fetchRevision, MANIFEST_MODE, type Revision, revisionOfDirectory } from '../revision/revision.ts';
import { decideInstall, type InstallStep, type InstallView, type PartState } from './install-step.ts';
import { assertNotSuperseded, type InstallersSpec, waitForInstallers } from './installers.ts';

/** What an installer acts through. */
export interface InstallEnvironment extends Environment {
  readonly client: Client;
  readonly mutations?: readonly PodMutation[];
  /** How other installers on the node are waited for; `false` where this is none of several installer pods. */
  readonly installers?: Pick<InstallersSpec, 'pollMs' | 'waitMs' | 'settleMs'> | false;
}

const TIMEOUT_MS = 120_000;

/** A timer beyond this (ms) would fire at once. */
const LONGEST_TIMER = 2 ** 31 - 1;

/** What an installation did. */
export interface InstallResult {
  readonly revisionDir: string;
  /** Steps that changed something. Empty where everything was there already. */
  readonly changed: readonly string[];
}

/**
 * Installs one revision of a static pod: waits for other installers, fetches and checks everything, then makes the revision, the shared
 * certificates and the manifests durable, in this order. Running it again after a crash at any point goes on where it stopped; a run that has
 * nothing to do changes nothing. Fails with `StaticPodError`, `DurableError` or `ApiError`.
 */
export async function install(spec: InstallSpec, env: InstallEnvironment): Promise<InstallResult> {
  validateInstall(spec);
  const { client, notify, signal, installers = {} } = env;
  const others: InstallersSpec = { ...(installers || {}), ...spec, client };
  const end = new AbortController();
  try {
    if (installers !== false) await waitForInstallers(others, env);
    const kubeletVersion = await kubeletVersionOf(spec, env);
    // The wait for others has a limit of its own; it must not eat up the time for the work.
    const timeoutMs = Math.min(spec.timeoutMs ?? TIMEOUT_MS, LONGEST_TIMER);
    const timer = setTimeout(() => {
      end.abort(
        new StaticPodError('TIMED_OUT', `revision ${spec.revision}`, `it was not installed within ${timeoutMs} ms`),
      );
    }, timeoutMs);
    try {
      const bounded = { ...env, signal: signal === undefined ? end.signal : AbortSignal.any([signal, end.signal]) };
      const revision = await fetchRevision(spec, client, {
        ...bounded,
        kubeletVersion,
        mutations: env.mutations ?? [],
      });
      const guard = installers === false ? undefined : () => assertNotSuperseded(others, bounded);
      const result = await layDown(spec, revision, bounded, guard);
      notify?.({
        type: 'Normal',
        reason: 'StaticPodInstallerCompleted',
        action: 'InstallStaticPod',
        note: `Successfully installed revision ${spec.revision}`,
      });
      return result;
    } finally {
      clearTimeout(timer);
    }
  } catch (thrown) {
    // What waits is only told to stop: why is in the signal.
    const stopped = end.signal.aborted && thrown instanceof Error && thrown.name === 'AbortError';
    const error: unknown = stopped ? end.signal.reason : thrown;
    notify?.({
      type: 'Warning',
      reason: 'StaticPodInstallerFailed',
      action: 'InstallStaticPod',
      note: `Installing revision ${spec.revision}: ${textOf(error)}`,
    });
    throw error;
  }
}

async function kubeletVersionOf({ nodeName }: InstallSpec, env: InstallEnvironment): Promise<string> {
  // The version only decides about a detail for old kubelets: not worth the time for the work.
  const end = AbortSignal.timeout(5_000);
  const signal = env.signal === undefined ? end : AbortSignal.any([env.signal, end]);
  try {
    const node = await patiently(
      (one) => env.client.get(Node, { name: nodeName }, one === undefined ? {} : { signal: one }),
      { ...env, signal },
    );
    return node.status?.nodeInfo?.kubeletVersion ?? '';
  } catch (error) {
    env.signal?.throwIfAborted();
    env.log?.(`the kubelet's version is not known, a recent one is assumed: ${textOf(error)}`);
    return '';
  }
}

/** Brings the disk to what a revision wants: observe, decide, act, until nothing is left to do. `guard` runs before the first manifest is written. */
export async function layDown(
  spec: InstallSpec,
  revision: Revision,
  env: InstallEnvironment,
  guard?: () => Promise<void>,
): Promise<InstallResult> {
  const { ops = nodeOps } = env;
  const look = looking(env);
  await using held = new AsyncDisposableStack();
  for (const dir of [spec.resourceDir, spec.manifestDir]) await checkTrusted(dir, { ops });
  await makeDirectoryDurable(spec.resourceDir, env);
  await makeDirectoryDurable(spec.manifestDir, env);
  // Whoever holds one may take as long as there is time for the whole.
  const locks = { ops, deadlineMs: spec.timeoutMs ?? TIMEOUT_MS, ...(env.signal && { signal: env.signal }) };
  held.use(await lockFile(join(spec.resourceDir, `.${spec.pod}.lock`), locks));
  const own = `${spec.pod}-${spec.revision}`;
  const names = new Set(revision.manifests.map(({ name }) => name));
  // Of other revisions only what a prune left: it may hold private keys.
  const owns = (name: string, leftover: boolean): boolean =>
    name === own || (leftover && revisionOfDirectory(name, spec.pod) !== undefined);
  await recover(spec.resourceDir, { ...env, owns });
  const durable = new Set<string>();
  const changed: string[] = [];
  let manifestLock: FileLock | undefined;
  let publishing = false;

  const observe = async (): Promise<InstallView> => {
    const state = async (part: string, path: string): Promise<PartState> =>
      durable.has(part) ? 'durable' : (await look.lstat(path)) === undefined ? 'absent' : 'present';
    const manifests = [];
    for (const { name } of revision.manifests)
      manifests.push({ name, state: await state(name, join(spec.manifestDir, name)) });
    const certs = spec.certDir === undefined ? 'durable' : await state('certs', spec.certDir);
    return { revision: await state('revision', revision.dir), certs, manifests };
  };

  const act = async (step: Exclude<InstallStep, { do: 'done' }>): Promise<void> => {
    switch (step.do) {
      case 'commit-revision':
        await commitTree({ dir: revision.dir, ...treeOf(revision), ...env });
        durable.add('revision');
        changed.push(step.do);
        return;
      case 'reconcile-revision':
        if (await reconcile(revision, env)) changed.push(step.do);
        durable.add('revision');
        return;
      case 'sync-certs':
        if (await syncSharedCerts(spec, env.client, env)) changed.push(step.do);
        durable.add('certs');
        return;
      case 'write-manifest': {
        if (manifestLock === undefined && spec.lockFile !== undefined) {
          manifestLock = await lockFile(spec.lockFile, locks);
          held.use(manifestLock);
        }
        if (!publishing) {
          publishing = true;
          await recover(spec.manifestDir, { ...env, owns: (name) => names.has(name) });
          await guard?.();
        }
        const manifest = revision.manifests.find(({ name }) => name === step.name);
        if (manifest === undefined) return;
        const options = { ...env, mode: MANIFEST_MODE, unlessEqual: true };
        const result = await replaceFileDurable(join(spec.manifestDir, step.name), manifest.content, options);
        if (result.changed) changed.push(`${step.do} ${step.name}`);
        durable.add(step.name);
      }
    }
  };

  for (let step = decideInstall(await observe()); step.do !== 'done'; step = decideInstall(await observe())) {
    env.signal?.throwIfAborted();
    env.log?.(step.do === 'write-manifest' ? `${step.do} ${step.name}` : step.do);
    await act(step);
  }
  return { revisionDir: revision.dir, changed };
}

/** A revision as one tree. */
function treeOf({ objects, manifests }: Revision): {
  readonly files: Map<string, FileSpec>;
  readonly dirs: Map<string, number>;
} {
  const files = new Map<string, FileSpec>();
  const dirs = new Map<string, number>();
  for (const [path, content] of objects) {
    dirs.set(path, DIRECTORY_MODE);
    for (const [name, file] of content) files.set(`${path}/${name}`, file);
  }
  for (const { name, content } of manifests) files.set(name, { content, mode: MANIFEST_MODE });
  return { files, dirs };
}

/** Makes the objects of a revision that is there what they shall be, removes those that are gone, and leaves what it does not know. */
async function reconcile(revision: Revision, env: InstallEnvironment): Promise<boolean> {
  const look = looking(env);
  for (const path of [revision.dir, ...KINDS.map((kind) => join(revision.dir, kind))]) await checkNoLink(path, env);
  const specs = [...revision.objects].map(([path, files]) => ({
    target: join(revision.dir, path),
    mode: DIRECTORY_MODE,
    files,
  }));
  const { directories } = await syncDirs(specs, env);
  let changed = directories.some((one) => one.changed);
  for (const kind of KINDS) {
    const dir = join(revision.dir, kind);
    if ((await look.lstat(dir)) === undefined) continue;
    for (const { name } of await look.list(dir)) {
      if (revision.objects.has(`${kind}/${name}`)) continue;
      env.log?.(`${kind}/${name} is no longer part of the revision: removed`);
      await removeTreeDurable(join(dir, name), dir, env);
      changed = true;
    }
  }
  for (const { name, content } of revision.manifests) {
    const options = { ...env, mode: MANIFEST_MODE, unlessEqual: true };
    if ((await replaceFileDurable(join(revision.dir, name), content, options)).changed) changed = true;
  }
  return changed;
}
