import { stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ovaCache, type TemplateImage } from '@drydock/templates';
import type { Output } from './output.ts';
import type { PlanFile } from './plan-file.ts';
import { TemplateProblem } from './problem.ts';
import { CACHE_BYTES, openSource, type Source } from './source.ts';

/** Where the image of a plan may be. */
export interface ImageSearch {
  /** The plan's own path. */
  readonly path: string;
  /** A person says where it is: a file or an address. */
  readonly image?: string | undefined;
  readonly cacheDir: string;
  readonly out: Output;
  readonly signal: AbortSignal;
  /** The command with its image left to be given. */
  readonly next: string;
}

/**
 * Finds the image that a plan names by its digest: where somebody says, beside the plan or here under its name, in the cache, or at its address. Whatever is found
 * is read only if it has that digest.
 */
export async function plannedImage(
  { source }: PlanFile,
  { sha256, release }: Omit<TemplateImage, 'location'>,
  search: ImageSearch,
): Promise<Source> {
  const { path, image, cacheDir, out, signal } = search;
  const options = { sha256, release, cacheDir, out, signal };
  if (image !== undefined) return openSource(image, options);
  const isAddress = source !== undefined && /^https?:/i.test(source);
  // A name, and no way out of the folder.
  const name = isAddress || source === undefined || /[\\/]/.test(source) ? undefined : source;
  for (const file of name === undefined ? [] : [join(dirname(path), name), name])
    if (await isFile(file)) return openSource(file, options);
  const cached = join(cacheDir, `${sha256}.ova`);
  if (await isFile(cached)) {
    const location = pathToFileURL(cached).href;
    return { image: { location, sha256, release }, ovas: ovaCache({ dir: cacheDir, bytes: CACHE_BYTES }) };
  }
  if (isAddress && !source.includes('***')) return openSource(source, options);
  throw new TemplateProblem({
    code: 'IMAGE_NEEDED',
    message: `the plan needs the image with sha256 ${sha256}${source === undefined ? '' : ` (${source})`}, which is neither beside it nor in the cache`,
    next: search.next,
  });
}

async function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isFile(),
    () => false,
  );
}
