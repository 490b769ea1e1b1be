import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname, join, matchesGlob, relative, resolve } from 'node:path';
import { settingsOf } from '../../../scripts/artefacts/dockerfile.ts';
import { build } from '../../../scripts/build.ts';

/** What a container of the image is started as. */
export interface ImageConfig {
  readonly entrypoint: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** `uid:gid`. */
  readonly user: string;
  /** Symbolic links besides the programs, by their path from the root. */
  readonly links: Readonly<Record<string, string>>;
}

const root = resolve(import.meta.dirname, '../../..');

/** What the build needs of a checkout beside the programs. */
const BUILT_BY =
  'npm ci && node scripts/build.ts dist/drydock && npm prune --omit=dev && rm -rf node_modules/node-linux-* node_modules/.bin/node';

/**
 * Lays out what `deploy/Dockerfile` puts under `/drydock`, without an engine: the build of this checkout, whose sources its COPY lines and the ignore file let
 * through, and in place of `npm ci` the packages that the lock file does not call for development. Any line that is not understood here throws. `stage` is the target of the build, the operator's by default.
 */
export async function layImage(target: string, stage?: string): Promise<ImageConfig> {
  const ignored = ignoreRules(readFileSync(join(root, 'deploy/Dockerfile.dockerignore'), 'utf8'));
  const dockerfile = readFileSync(join(root, 'deploy/Dockerfile'), 'utf8');
  const { env, user, entrypoint, links } = settingsOf(dockerfile, stage);
  let stages = 0;
  for (const line of dockerfile.split('\n')) {
    const [word = '', ...rest] = line.split(' ');
    if (line === '' || word.startsWith('#') || line === 'WORKDIR /drydock') continue;
    // What `settingsOf` reads.
    if (['CMD', 'ENV', 'USER', 'ENTRYPOINT'].includes(word) || line.startsWith('RUN ln -s ')) continue;
    if (word === 'FROM') stages += 1;
    else if (word === 'COPY' && stages === 1) {
      for (const source of rest.slice(0, -1)) {
        if (ignored(source.replace(/\/$/, '')) || !existsSync(join(root, source)))
          throw new Error(`the image lacks ${source}`);
      }
    } else if (line === `RUN ${BUILT_BY}`) {
      await build(target);
      layPackages(target);
    } else if (!/^COPY --from=install \/drydock\/(\S+) \/drydock(\/\1)?$/.test(line))
      throw new Error(`deploy/Dockerfile: what is ${line}?`);
  }
  chmodSync(target, 0o755);
  return { entrypoint, env: Object.fromEntries(env.map((one) => one.split('=') as [string, string])), user, links };
}

/** The rules of an ignore file: the last that matches a path, or a folder above it, decides. */
function ignoreRules(text: string): (path: string) => boolean {
  const rules = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return (path) => {
    const parts = path.split('/');
    const ways = parts.map((_, at) => parts.slice(0, at + 1).join('/'));
    const rule = rules.findLast((one) => ways.some((way) => matchesGlob(way, one.replace(/^!/, ''))));
    return path !== '' && rule !== undefined && !rule.startsWith('!');
  };
}

interface Locked {
  readonly dev?: boolean;
  readonly devOptional?: boolean;
  readonly link?: boolean;
  readonly resolved?: string;
}

function layPackages(target: string): void {
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    readonly packages: Readonly<Record<string, Locked>>;
  };
  for (const [path, { dev, devOptional, link, resolved }] of Object.entries(lock.packages)) {
    const unwanted = dev === true || devOptional === true || path.startsWith('node_modules/node-');
    if (!path.startsWith('node_modules/') || unwanted || !existsSync(join(root, path))) continue;
    // A workspace that the image lacks.
    if (link === true && !existsSync(join(target, resolved ?? ''))) continue;
    mkdirSync(dirname(join(target, path)), { recursive: true });
    if (link === true) symlinkSync(relative(dirname(path), resolved ?? ''), join(target, path));
    else cpSync(join(root, path), join(target, path), { recursive: true });
  }
}
