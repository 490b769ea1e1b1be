import { open } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { jsonText } from '@drydock/api/text';
import type { Command } from 'commander';
// Where it is imported when it is asked for, a bundle has no names of it.
import { pack } from 'tar-stream';
import { type ClusterFlags, clusterFlags, connect } from '../connect.ts';
import { exitCode, UsageError } from '../exit.ts';
import { untilInterrupted } from '../interruption.ts';
import { type MarkKeyFlags, markKeyFlags } from '../mark-keys.ts';
import { LEASE_NAMESPACE } from '../status-notes.ts';
import { say } from '../terminal.ts';
import { type VCenterFlags, vcenterFlags } from '../vcenter-flags.ts';
import { VERSION } from '../version.ts';
import { type BundledFile, createBundle, type Manifest } from './bundle.ts';
import { pick } from './fields.ts';
import { redacted } from './secret-redaction.ts';

interface BundleFlags extends ClusterFlags, VCenterFlags, MarkKeyFlags {
  readonly outputFile?: string;
  readonly leaseNamespace: string;
  readonly doctor: boolean;
}

/** Adds `drydock support-bundle`: what a maintainer needs, without what is secret. It only reads. */
export function addSupportBundle(program: Command): void {
  const command = program
    .command('support-bundle')
    .description(
      'write what a maintainer needs to a file: versions, flags, objects, Events, findings, metrics and logs, no secrets',
    )
    .option('-o, --output-file <file>', 'a file that is not there yet (default: drydock-support-DATE.tar.gz)')
    .option('--lease-namespace <name>', 'namespace of the Leases of the operator', LEASE_NAMESPACE)
    .option('--no-doctor', 'leave out what doctor finds: it logs in to vCenters')
    .addHelpText(
      'after',
      `
Example: drydock support-bundle -o case-1234.tar.gz --vcenter-ca ca.pem
Of objects, logs and flags the fields that are named in the program are kept, and nothing else; nothing of a Secret is. manifest.json has what is in it, what was left out and what could not be read. Look at it before you give it away.
Exit codes: 0 written, also where something could not be read; 1 failed, 2 usage, 130 and 143 interrupted.`,
    );
  markKeyFlags(vcenterFlags(clusterFlags(command))).action((flags: BundleFlags) =>
    untilInterrupted((signal) => supportBundle(flags, signal), 'nothing was written'),
  );
}

async function supportBundle(flags: BundleFlags, signal: AbortSignal): Promise<number> {
  const made = new Date();
  const stem = `drydock-support-${made.toISOString().slice(0, 19).replaceAll(/[-:]/g, '').replace('T', '-')}`;
  const path = flags.outputFile ?? `${stem}.tar.gz`;
  if (!/\.(?:tar\.gz|tgz)$/.test(path)) throw new UsageError(`${path} is no name of a bundle: use FILE.tar.gz`);
  const { gather } = await import('./gather.ts');
  await using client = await connect(flags);
  // Where nobody answers there is nothing to put into a file.
  await client.raw({ path: '/version' }, { signal });
  const bundle = createBundle(signal);
  await gather({ client, bundle, leaseNamespace: flags.leaseNamespace });
  if (flags.doctor)
    await bundle.add('doctor.json', 'what drydock doctor finds', async (deadline) => {
      const { examine } = await import('../doctor/examination.ts');
      const { diagnosisOf } = await import('../doctor/finding.ts');
      const examined = {
        flags,
        roles: new Set(['boot-images', 'watch']),
        leaseNamespace: flags.leaseNamespace,
        signal: deadline,
      };
      return pick(diagnosisOf(await examine(client, examined)), DIAGNOSIS, bundle.left, 'doctor');
    });
  const { files, manifest } = bundle.finished(made, VERSION);
  const bytes = await write(path, stem, files, manifest, signal);
  say(manifestText(path, bytes, manifest));
  return exitCode.done;
}

const DIAGNOSIS = {
  verdict: 'kept',
  failed: 'kept',
  warned: 'kept',
  undecided: 'kept',
  checks: [{ area: 'kept', name: 'kept', state: 'kept', detail: 'kept', next: 'kept', undecided: 'kept' }],
} as const;

/** A new file that its owner alone can read; resolves to its size. */
async function write(
  path: string,
  folder: string,
  files: readonly BundledFile[],
  manifest: Manifest,
  signal: AbortSignal,
): Promise<number> {
  const tar = pack();
  const mtime = new Date(manifest.made);
  const entry = (name: string, content: string): void => {
    tar.entry({ name: `${folder}/${name}`, mode: 0o600, mtime }, content);
  };
  entry('manifest.json', `${jsonText(manifest, 2)}\n`);
  for (const { name, content } of files) entry(name, content);
  tar.finalize();
  const bytes = await promisify(gzip)(await buffer(tar));
  signal.throwIfAborted();
  const file = await opened(path);
  try {
    await file.writeFile(bytes);
    await file.sync();
  } finally {
    await file.close();
  }
  return bytes.length;
}

async function opened(path: string): ReturnType<typeof open> {
  try {
    return await open(path, 'wx', 0o600);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') throw new UsageError(`${path} is there already: name another file with -o`);
    throw new Error(`${path} cannot be written: ${(error as Error).message}. Name another file with -o`, {
      cause: error,
    });
  }
}

function manifestText(path: string, bytes: number, { files, leftOut, unread }: Manifest): string {
  const fields = Object.values(leftOut).reduce((sum, one) => sum + one, 0);
  const most = Object.entries(leftOut)
    .toSorted(([, a], [, b]) => b - a)
    .slice(0, 5)
    .map(([where, count]) => `${where} (${count})`);
  const lines = [
    `${path} has ${files.length + 1} files in ${bytes} bytes:`,
    ...files.map(({ name, about }) => `  ${name}: ${about}`),
    `Left out: all Secrets, and ${fields} fields, values and lines${most.length === 0 ? '' : `, most of them in ${most.join(', ')}`}.`,
    ...(unread.length === 0
      ? []
      : ['Could not be read:', ...unread.map(({ what, why }) => `  ${redacted(what)}: ${redacted(why)}`)]),
    `Look at it before you give it away: tar -xzOf ${path} --wildcards '*/manifest.json'`,
  ];
  return lines.map((line) => `${line.replaceAll('\n', ' ')}\n`).join('');
}
