import { createHash } from 'node:crypto';
import { oneLine } from '@drydock/api/text';
import { cleanInventoryPath } from './paths.ts';
import type { TemplateWish } from './wish.ts';

/** vCenter's limit for the name of an inventory object. */
export const NAME_LIMIT = 80;

/** How many names one wish may use: the next one serves when something that is not ours bears the one before. */
export const ATTEMPTS = 8;

/** One name that a wish may use, and the operation that stands in the mark. Both follow from the wish alone. */
export interface Attempt {
  readonly name: string;
  readonly operation: string;
}

/**
 * The names of a wish, in the order in which they are tried. They are the same in every process, so that the folder itself lets only one of two
 * publishers import: a name exists once per folder.
 */
export function attemptsOf(wish: TemplateWish): readonly Attempt[] {
  return Array.from({ length: ATTEMPTS }, (_, round) => {
    const operation = operationOf(wish, round);
    return { operation, name: uniqueName(wish.base, wish.image.release, wish.image.sha256, operation) };
  });
}

/** 16 hex digits of what makes two wishes the same template: owner, place, image and the round. */
function operationOf(wish: TemplateWish, round: number): string {
  const { placement, image } = wish;
  const parts = [
    wish.cluster,
    wish.base,
    image.release,
    image.sha256,
    placement.server,
    placement.datacenter,
    cleanInventoryPath(placement.folder),
    placement.computeCluster,
    placement.datastore,
    cleanInventoryPath(placement.resourcePool),
    placement.networks,
    round,
    ...(wish.publication?.kind === 'swap' ? ['swap', wish.publication.name] : []),
  ];
  return hex(JSON.stringify(parts)).slice(0, 16);
}

/** `<base>-<release>-<8 hex of digest and operation>`, at most 80 characters: the base is cut, and the release where that is not enough. */
export function uniqueName(base: string, release: string, digest: string, operation: string): string {
  const suffix = hex(`${digest}:${operation}`).slice(0, 8);
  // An OVA says what its release is called.
  const shortRelease = oneLine(release).slice(0, NAME_LIMIT - suffix.length - 3);
  const tail = `-${shortRelease}-${suffix}`;
  return `${trimEnd(base.slice(0, NAME_LIMIT - tail.length))}${tail}`;
}

/**
 * The name under which a swap keeps the template that bore `name`: `<name>-retired-<8 hex of its identity>`, at most 80 characters. It follows from the
 * template alone, so that whoever meets it after a crash knows what it is.
 */
export function retiredName(name: string, identity: string): string {
  const tail = `-retired-${hex(identity.toLowerCase()).slice(0, 8)}`;
  return `${trimEnd(name.slice(0, NAME_LIMIT - tail.length))}${tail}`;
}

/** The base of a name that {@link uniqueName} made of these parts; undefined where it did not. */
export function baseOf(name: string, release: string, digest: string, operation: string): string | undefined {
  const tail = uniqueName('', release, digest, operation);
  return name.endsWith(tail) ? name.slice(0, -tail.length) : undefined;
}

/** Names that upstream's swap leaves behind for a template name: `mco-tmp-` and `mco-old-` with 8 hex digits of its SHA-256 (BI-V159). */
export function upstreamNames(name: string): { readonly temp: string; readonly old: string } {
  const digits = hex(name).slice(0, 8);
  return { temp: `mco-tmp-${digits}`, old: `mco-old-${digits}` };
}

/** Whether upstream's swap may have left this name. */
export function isUpstreamName(name: string): boolean {
  return /^mco-(?:tmp|old)-[0-9a-f]{8}$/.test(name);
}

function hex(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** A cut may end in a hyphen or inside a surrogate pair. */
function trimEnd(text: string): string {
  return text.replace(/[-\uD800-\uDBFF]+$/u, '').replace(/[\uD800-\uDBFF]$/, '');
}
