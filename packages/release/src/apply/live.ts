import type { Key, KubeObject, Resource } from '@drydock/kube';

/** What is known of an object without a request. */
export type LiveLook =
  | {
      readonly known: true;
      readonly object: KubeObject | undefined;
      /** Only type, metadata and status were kept. */
      readonly partial?: boolean;
    }
  /** Its kind is not watched, or not read yet: ask the server. */
  | { readonly known: false };

/** Live objects of watched caches. What it says may be old: every write is guarded, and a conflict reads anew. */
export interface LiveObjects {
  look(resource: Resource<KubeObject>, key: Key): LiveLook;
}
