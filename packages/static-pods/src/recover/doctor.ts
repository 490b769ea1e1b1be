import { join } from 'node:path';
import { checkTrusted, type FsOps, inspect, probeExchange } from '@drydock/durable';
import { checkNoLink, KINDS } from '../directory.ts';
import { type Environment, looking, textOf } from '../revision/environment.ts';
import { decodePod } from '../revision/pod.ts';
import { revisionOfDirectory } from '../revision/revision.ts';

/** Something that is not as it should be. */
export interface Finding {
  readonly path: string;
  readonly kind: 'fallback' | 'stale' | 'torn' | 'foreign' | 'dangling' | 'missing' | 'untrusted';
  readonly said: string;
  /** What to do about it. */
  readonly next: string;
}

/** Where to look. */
export interface DoctorSpec {
  readonly resourceDir?: string;
  readonly manifestDir?: string;
  readonly certDir?: string;
}

/** Reads the directories of a node and says what is stale, torn or foreign, and where directories could only be replaced by a fallback. Changes nothing but the probes that it removes. */
export async function doctor(spec: DoctorSpec, env: Environment = {}): Promise<readonly Finding[]> {
  const ops = looking(env);
  const findings: Finding[] = [];
  const dirs = [spec.resourceDir, spec.manifestDir, spec.certDir].filter((dir) => dir !== undefined);
  for (const dir of dirs) {
    if ((await ops.lstat(dir)) === undefined) {
      findings.push({
        path: dir,
        kind: 'missing',
        said: 'it does not exist',
        next: 'Correct the flag, or install a revision.',
      });
      continue;
    }
    findings.push(...(await untrusted(dir, env)));
    const { leftovers } = await inspect(dir, env);
    for (const { path, kind } of leftovers)
      findings.push({
        path,
        kind: 'stale',
        said: `left by a crash (${kind})`,
        next: 'The next run of its owner removes it; or run recover.',
      });
    findings.push(...(await foreign(ops, dir)));
  }
  for (const dir of [spec.resourceDir, spec.certDir])
    if (dir !== undefined && (await ops.lstat(dir)) !== undefined) findings.push(...(await fallback(dir, env)));
  if (spec.manifestDir !== undefined) findings.push(...(await manifests(ops, spec.manifestDir)));
  if (spec.resourceDir !== undefined) findings.push(...(await revisions(ops, spec.resourceDir)));
  return findings;
}

/** Who else could change what lies there, and links that lead elsewhere what is written for one object. */
async function untrusted(dir: string, env: Environment): Promise<readonly Finding[]> {
  const findings: Finding[] = [];
  const note = (path: string, error: unknown, next: string): void =>
    void findings.push({ path, kind: 'untrusted', said: textOf(error), next });
  await checkTrusted(dir, env).catch((error: unknown) =>
    note(dir, error, 'Until it is mended nothing is installed, synced or pruned there.'),
  );
  for (const path of KINDS.map((kind) => join(dir, kind)))
    await checkNoLink(path, env).catch((error: unknown) =>
      note(path, error, 'Until it is gone nothing is written there.'),
    );
  return findings;
}

/** What a directory is replaced by where it cannot be exchanged for another. */
async function fallback(dir: string, env: Environment): Promise<readonly Finding[]> {
  try {
    const support = await probeExchange(dir, env);
    if (support.available) return [];
    const said = `directories cannot be exchanged: ${support.reason}`;
    return [{ path: dir, kind: 'fallback', said, next: 'Move it to ext4, xfs, btrfs or tmpfs.' }];
  } catch (error) {
    env.signal?.throwIfAborted();
    const said = `whether directories can be exchanged could not be tried: ${textOf(error)}`;
    return [
      { path: dir, kind: 'fallback', said, next: 'Make it writable; until then nothing can be installed there.' },
    ];
  }
}

/** What library-go's installer and cert syncer stage in; it may hold private keys. */
async function foreign(ops: FsOps, dir: string): Promise<readonly Finding[]> {
  const staging = join(dir, 'staging');
  if ((await ops.lstat(staging))?.kind !== 'directory') return [];
  const next = 'If no other installer or cert syncer runs here, remove it; it may hold private keys.';
  return [{ path: staging, kind: 'foreign', said: 'a staging directory that is not ours', next }];
}

async function manifests(ops: FsOps, dir: string): Promise<readonly Finding[]> {
  if ((await ops.lstat(dir)) === undefined) return [];
  const findings: Finding[] = [];
  for (const { name, kind } of await ops.list(dir)) {
    if (kind !== 'file' || name.startsWith('.') || !/\.(yaml|yml|json)$/.test(name)) continue;
    findings.push(...(await torn(ops, join(dir, name))));
  }
  return findings;
}

async function torn(ops: FsOps, path: string): Promise<readonly Finding[]> {
  try {
    decodePod(await ops.read(path), path);
    return [];
  } catch (error) {
    return [{ path, kind: 'torn', said: textOf(error), next: 'Install the revision again.' }];
  }
}

async function revisions(ops: FsOps, dir: string): Promise<readonly Finding[]> {
  if ((await ops.lstat(dir)) === undefined) return [];
  const findings: Finding[] = [];
  for (const { name, kind } of await ops.list(dir)) {
    const path = join(dir, name);
    if (kind === 'symlink') {
      const to = await ops.readlink(path);
      if ((await ops.lstat(join(dir, to))) === undefined && (await ops.lstat(to)) === undefined)
        findings.push({
          path,
          kind: 'dangling',
          said: `it leads to ${to}, which is not there`,
          next: 'The next revision that is ready replaces it.',
        });
    }
    const pod = /^(.+)-\d+$/.exec(name)?.[1];
    if (kind !== 'directory' || pod === undefined || revisionOfDirectory(name, pod) === undefined) continue;
    const manifest = join(path, `${pod}.yaml`);
    if ((await ops.lstat(manifest)) === undefined)
      findings.push({
        path,
        kind: 'torn',
        said: `it has no ${pod}.yaml`,
        next: 'Install the revision again, or prune it.',
      });
    else findings.push(...(await torn(ops, manifest)));
  }
  return findings;
}
