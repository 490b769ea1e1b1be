import type { BootImage } from '@drydock/api';
import type { ClusterRecords } from '@drydock/templates';
import { isOurs } from './clone.ts';
import { imageIn, imageLeafOf, type NamedPath } from './image-leaf.ts';
import type { ClusterApiObject } from './kinds.ts';

/** What the cluster knows of templates, which nobody in vCenter can write: the imports that were announced, and what sets were seen to start from. */
export function recordsOf(images: () => Iterable<BootImage>): ClusterRecords {
  const some = (test: (image: BootImage) => boolean): boolean => Iterator.from(images()).some(test);
  return {
    recorded: (operation, instanceUuid) =>
      some(({ status }) => {
        const announced = status?.operation;
        return announced?.id === operation && announced.instanceUuid?.toLowerCase() === instanceUuid.toLowerCase();
      }),
    refers: (name) => some(({ status }) => status?.history?.some(({ image }) => image === name) === true),
    retired: () => false,
  };
}

/** Images that a set can go back to: the newest of its history besides the one in use, and that of its pin. */
export function wayBackOf({ spec, status }: BootImage, keep: number): readonly string[] {
  const images = [...(status?.history ?? []).slice(0, keep + 1), ...(spec?.pin === undefined ? [] : [spec.pin])];
  return images.flatMap(({ image }) => image ?? []);
}

/** Tells of a template of ours which way back needs it, by what is known when it is asked first, in words; undefined where none does. `paths`: see {@link imageLeafOf}. */
export function waysBackBy(
  images: () => Iterable<BootImage>,
  keep: number,
  paths: readonly NamedPath[],
): (template: ClusterApiObject) => string | undefined {
  let index: ReadonlyMap<string, string> | undefined;
  return (template) => {
    if (!isOurs(template)) return undefined;
    const { apiVersion = '', kind = '', metadata } = template;
    const leaf = imageLeafOf({ group: apiVersion.split('/')[0] ?? '', kind }, paths);
    // Whether a history needs it nobody can tell.
    if (typeof leaf !== 'object') return `whoever says where ${kind} names its image`;
    const named = imageIn(template, leaf);
    if (named === undefined) return undefined;
    index ??= indexOf(images(), keep);
    return index.get(`${metadata.namespace}/${named}`);
  };
}

function indexOf(images: Iterable<BootImage>, keep: number): ReadonlyMap<string, string> {
  const needed = new Map<string, string>();
  for (const image of images)
    for (const name of wayBackOf(image, keep)) {
      const id = `${image.metadata.namespace}/${name}`;
      if (!needed.has(id)) needed.set(id, `the history of bootimage ${image.metadata.name}`);
    }
  return needed;
}
