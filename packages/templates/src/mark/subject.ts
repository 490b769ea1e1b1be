import type { CodeSubject } from './code.ts';

/** What we imported: the code of its birth. */
export function birthSubject(mark: CodeSubject): CodeSubject {
  const { owner, operation, digest, instanceUuid } = mark;
  return { owner, operation, digest, instanceUuid };
}

/** What we did not import has no operation and no digest: what it was taken for stands in their places. No operation is a word. */
export function keptSubject(
  kind: 'adopted' | 'retired',
  claim: {
    readonly owner: string;
    readonly instanceUuid: string;
    readonly publishes?: string | undefined;
    readonly release?: string | undefined;
  },
): CodeSubject {
  const { owner, instanceUuid, publishes = '', release = '' } = claim;
  return { owner, operation: kind, digest: JSON.stringify([publishes, release]), instanceUuid };
}

/** That one template is about to replace another under a stable name. */
export function noteSubject(
  { owner, instanceUuid }: { readonly owner: string; readonly instanceUuid: string },
  replaces: { readonly ref: string; readonly instanceUuid: string; readonly name: string },
): CodeSubject {
  const digest = JSON.stringify([replaces.ref, replaces.instanceUuid, replaces.name]);
  return { owner, operation: 'replaces', digest, instanceUuid };
}
