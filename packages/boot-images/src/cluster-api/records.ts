import type { BootImage } from '@drydock/api';
import type { ClusterRecords } from '@drydock/templates';
import { isOurs } from './clone.ts';
import { imageIn, imageLeafOf } from './image-leaf.ts';
import { type ClusterApiObject, INFRASTRUCTURE } from './kinds.ts';

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

/** Which way back needs a template of ours, in words; undefined where none does. */
export function wayBackBy(template: ClusterApiObject, images: Iterable<BootImage>, keep: number): string | undefined {
  const leaf = imageLeafOf({ group: INFRASTRUCTURE, kind: template.kind ?? '' }, []);
  if (typeof leaf !== 'object' || !isOurs(template)) return undefined;
  const named = imageIn(template, leaf);
  if (named === undefined) return undefined;
  for (const image of images) {
    if (image.metadata.namespace !== template.metadata.namespace) continue;
    if (wayBackOf(image, keep).includes(named)) return `the history of bootimage ${image.metadata.name}`;
  }
  return undefined;
}
