import type { BootImage } from '@drydock/api';
import type { ClusterRecords } from '@drydock/templates';
import { type ReferenceSources, referenceIndex } from './references.ts';

/** What the cluster knows of templates, read anew at each question: nobody in vCenter can write any of it. */
export function clusterRecords(
  bootImages: () => Iterable<BootImage>,
  references: () => ReferenceSources,
): ClusterRecords {
  const some = (test: (image: BootImage) => boolean): boolean => Iterator.from(bootImages()).some(test);
  return {
    recorded: (operation, instanceUuid) =>
      some(({ status }) => {
        const announced = status?.operation;
        return announced?.id === operation && announced.instanceUuid?.toLowerCase() === instanceUuid.toLowerCase();
      }),
    refers: (name) => ![undefined, 'unknown'].includes(referenceIndex(references())(name)),
    retired: (name) => some(({ status }) => status?.template?.retired === name),
  };
}
