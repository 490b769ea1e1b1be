import { stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ovaCache } from '@drydock/templates';
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
 * Finds the image that a plan uploads by its digest: where somebody says, beside the plan or here under its name, in the cache, or at its address. Whatever is found
 * is read only if it has that digest. Undefined for a plan that uploads nothing.
 */
export async function plannedImage(
  { source, plan }: PlanFile,
  { path, image, next, ...options }: ImageSearch,
): Promise<Source | undefined> {
  if (plan.kind !== 'publish' || !plan.steps.some(({ step }) => step === 'import')) return undefined;
  const { sha256, release } = plan.wish.image;
  const open = (place: string): Promise<Source> => openSource(place, { ...options, sha256, release });
  if (image !== undefined) return open(image);
  const isAddress = source !== undefined && /^https?:/i.test(source);
  // A name, and no way out of the folder.
  const name = isAddress || source === undefined || /[\\/]/.test(source) ? undefined : source;
  for (const file of name === undefined ? [] : [join(dirname(path), name), name])
    if (await isFile(file)) return open(file);
  const { cacheDir: dir } = options;
  const cached = join(dir, `${sha256}.ova`);
  if (await isFile(cached)) {
    const location = pathToFileURL(cached).href;
    return { image: { location, sha256, release }, ovas: ovaCache({ dir, bytes: CACHE_BYTES }) };
  }
  if (isAddress && !source.includes('***')) return open(source);
  throw new TemplateProblem({
    code: 'IMAGE_NEEDED',
    message: `the plan needs the image with sha256 ${sha256}${source === undefined ? '' : ` (${source})`}, which is neither beside it nor in the cache`,
    next,
  });
}

async function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isFile(),
    () => false,
  );
}
