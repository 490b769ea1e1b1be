import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { parseArgs } from 'node:util';
import { archive } from './artefacts/archive.ts';
import { billOfMaterials } from './artefacts/bom.ts';
import { type Archive, krewManifest } from './artefacts/krew.ts';
import { PLATFORMS, type Platform, platformsOf } from './artefacts/platforms.ts';
import { layOut, layOutCommon } from './artefacts/tree.ts';
import { root } from './command.ts';

/** What is made, and where. */
export interface DistOptions {
  readonly to: string;
  readonly platforms: readonly Platform[];
  /** Where the archives will be fetched from, for krew. */
  readonly url?: string;
  /** Of gzip. */
  readonly level?: number;
}

/** What was made: names of files in the folder. */
export interface Dist {
  readonly version: string;
  readonly archives: readonly Archive[];
  readonly files: readonly string[];
}

/** The time that everything in an artefact bears: SOURCE_DATE_EPOCH, or that of the commit. */
export function modified(): Date {
  const said = process.env['SOURCE_DATE_EPOCH'];
  if (said !== undefined) return new Date(Number(said) * 1000);
  try {
    const git = ['-C', root, 'log', '-1', '--format=%ct'];
    return new Date(Number(execFileSync('git', git, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })) * 1000);
  } catch {
    return new Date(0);
  }
}

/**
 * Makes the archives of all platforms, each a folder `drydock-VERSION-PLATFORM` with Node and the programs, a bill of materials of each (CycloneDX), `SHA256SUMS`, and krew's manifest. The folders stay
 * beside the archives, for the image. The same checkout gives the same bytes.
 */
export async function dist({ to, platforms, url, level }: DistOptions): Promise<Dist> {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { readonly version: string };
  const time = modified();
  mkdirSync(to, { recursive: true });
  const scratch = mkdtempSync(join(tmpdir(), 'drydock-dist-'));
  try {
    const common = await layOutCommon(join(scratch, 'common'));
    const archives: Archive[] = [];
    const files: string[] = [];
    for (const platform of platforms) {
      const name = `drydock-${version}-${platform.name}`;
      const folder = join(to, name);
      const shipped = await layOut(folder, common, platform, scratch);
      const file = `${name}.tar.gz`;
      const options = { prefix: `${name}/`, modified: time };
      await archive(folder, join(to, file), level === undefined ? options : { ...options, level });
      archives.push({ platform, file, sha256: await sha256(join(to, file)) });
      const bill = billOfMaterials({ name: 'drydock', version, platform: platform.name, shipped, modified: time });
      writeFileSync(join(to, `${name}.cdx.json`), bill);
      files.push(file, `${name}.cdx.json`);
    }
    writeFileSync(join(to, 'drydock.yaml'), krewManifest(version, archives, url));
    files.push('drydock.yaml');
    const sums = await Promise.all(files.map(async (file) => `${await sha256(join(to, file))}  ${file}\n`));
    writeFileSync(join(to, 'SHA256SUMS'), sums.join(''));
    return { version, archives, files: [...files, 'SHA256SUMS'] };
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

async function sha256(file: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  return hash.digest('hex');
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { platforms: { type: 'string' }, url: { type: 'string' } } });
  const platforms = values.platforms === undefined ? PLATFORMS : platformsOf(values.platforms);
  const to = join(root, 'dist');
  const { files } = await dist({ to, platforms, ...(values.url === undefined ? {} : { url: values.url }) });
  for (const file of files) console.log(relative(process.cwd(), join(to, file)));
  if (values.url === undefined)
    console.error('drydock.yaml names its archives by their files alone: give --url before you publish it.');
}
