import { execFile } from 'node:child_process';
import { copyFileSync, globSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** All definitions of two releases of OpenShift's API, a folder each. */
export interface Releases {
  readonly old: string;
  readonly now: string;
  /** Files in both. */
  readonly files: number;
}

/** Takes them out of the Go module cache, where `go` has verified them against the checksums that the sandbox pins. */
export async function writeReleases(directory: string, signal: AbortSignal): Promise<Releases> {
  const [old, now] = [join(directory, '4.17'), join(directory, '4.21')];
  const files = [await copyRelease('crds-4.17', old, signal), await copyRelease('crds-4.21', now, signal)];
  return { old, now, files: files.reduce((sum, count) => sum + count, 0) };
}

async function copyRelease(pin: string, to: string, signal: AbortSignal): Promise<number> {
  const cwd = join(import.meta.dirname, '../../packages/sandbox/go', pin);
  const env = { ...process.env, GOWORK: 'off', GOFLAGS: '-mod=mod' };
  const { stdout } = await promisify(execFile)('go', ['mod', 'download', '-json', 'github.com/openshift/api'], {
    ...{ cwd, env, signal },
  });
  const { Dir } = JSON.parse(stdout) as { readonly Dir: string };
  mkdirSync(to);
  // The versions of one definition have folders of their own, and may have files of one name.
  const files = globSync('*/v*/zz_generated.crd-manifests/*.crd.yaml', { cwd: Dir });
  for (const file of files) copyFileSync(join(Dir, file), join(to, file.replaceAll('/', '_')));
  return files.length;
}
