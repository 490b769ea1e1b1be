import type { BootImage } from '@drydock/api';
import type { ClusterRecords } from '@drydock/templates';
import { untilNextTurn } from '../remembered.ts';
import { wayBackOf } from '../way-back/needed.ts';
import { isOurs } from './clone.ts';
import { imageIn, imageLeafOf, type NamedPath } from './image-leaf.ts';
import type { ClusterApiObject } from './kinds.ts';
import { firstBy } from './needs.ts';

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

/** Images that a set has or can go back to, by the rule of machine sets, and that of its pin. Here a name is of one image: no other one ever gets it. */
function imagesNeededBy({ spec, status }: BootImage, keep: number): readonly string[] {
  const before = wayBackOf(status, keep, (a, b) => a.image === b.image);
  const pinned = spec?.pin === undefined ? [] : [spec.pin];
  return [...(status?.history ?? []).slice(0, 1), ...before, ...pinned].flatMap(({ image }) => image ?? []);
}

/** Tells of an image by its name which BootImage needs it, by what is known when it is asked; undefined where none does. */
export function imageNeeds(bootImages: () => Iterable<BootImage>, keep: number): (name: string) => string | undefined {
  const known = untilNextTurn(() => usersOf(bootImages(), keep));
  return (name) => {
    const { metadata } = known().get(name) ?? {};
    return metadata && `bootimage ${metadata.namespace}/${metadata.name}`;
  };
}

function usersOf(bootImages: Iterable<BootImage>, keep: number): ReadonlyMap<string, BootImage> {
  return firstBy(bootImages, (image) => {
    const { operation, canary } = image.status ?? {};
    // An image that failed would be made again, and fail again.
    const tried = canary?.verdict === 'Passed' ? undefined : canary?.image;
    return [operation?.name, tried, ...imagesNeededBy(image, keep)].filter((name) => name !== undefined);
  });
}

/** Tells of a template of ours which way back needs it, by what is known when it is asked first, in words; undefined where none does. `paths`: see {@link imageLeafOf}. */
export function waysBackBy(
  images: () => Iterable<BootImage>,
  keep: number,
  paths: readonly NamedPath[],
): (template: ClusterApiObject) => string | undefined {
  let index: ReadonlyMap<string, BootImage> | undefined;
  return (template) => {
    if (!isOurs(template)) return undefined;
    const { apiVersion = '', kind = '', metadata } = template;
    const leaf = imageLeafOf({ group: apiVersion.split('/')[0] ?? '', kind }, paths);
    // Whether a history needs it nobody can tell.
    if (typeof leaf !== 'object') return `whoever says where ${kind} names its image`;
    const named = imageIn(template, leaf);
    if (named === undefined) return undefined;
    index ??= firstBy(images(), (image) =>
      imagesNeededBy(image, keep).map((name) => `${image.metadata.namespace}/${name}`),
    );
    const holder = index.get(`${metadata.namespace}/${named}`);
    return holder && `the history of bootimage ${holder.metadata.name}`;
  };
}
