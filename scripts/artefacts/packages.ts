import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { root } from '../command.ts';

const run = promisify(execFile);

interface Locked {
  readonly version?: string;
  readonly integrity?: string;
}

const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
  readonly packages: Readonly<Record<string, Locked>>;
};

/** What the lock file says of a package. */
export function locked(name: string): Required<Locked> {
  const { version, integrity } = packages[`node_modules/${name}`] ?? {};
  if (version === undefined || integrity === undefined)
    throw new Error(`dist: package-lock.json has no version with a digest of ${name}; install it first.`);
  return { version, integrity };
}

/**
 * The folder of a package as the lock file names it: that of the checkout, or where it is for another platform, what npm has of it, checked against the lock file's digest. It is
 * unpacked below `scratch`.
 */
export async function packageFolder(name: string, scratch: string): Promise<string> {
  const { version, integrity } = locked(name);
  const here = join(root, 'node_modules', name);
  if (existsSync(join(here, 'package.json'))) {
    const found = JSON.parse(await readFile(join(here, 'package.json'), 'utf8')) as Locked;
    if (found.version === version) return here;
  }
  const to = join(scratch, name);
  await mkdir(to, { recursive: true });
  const archive = await fetched(`${name}@${version}`, to);
  const [algorithm = '', digest] = integrity.split(/-(.*)/s);
  const actual = createHash(algorithm)
    .update(await readFile(archive))
    .digest('base64');
  if (actual !== digest)
    throw new Error(
      `dist: ${name}@${version} has the digest ${algorithm}-${actual}, where package-lock.json wants ${integrity}.`,
    );
  await run('tar', ['-xzf', archive, '-C', to]);
  return join(to, 'package');
}

async function fetched(what: string, to: string): Promise<string> {
  try {
    const { stdout } = await run('npm', ['pack', '--silent', '--pack-destination', to, what], { cwd: root });
    return join(to, stdout.trim().split('\n').at(-1) ?? '');
  } catch (cause) {
    const { stderr = '' } = cause as { readonly stderr?: string };
    throw new Error(
      `dist: npm cannot have ${what}: ${stderr.trim().split('\n')[0] ?? ''}. With a network it is fetched; without one leave that platform out: npm run dist -- --platforms linux-x64.`,
      { cause },
    );
  }
}
