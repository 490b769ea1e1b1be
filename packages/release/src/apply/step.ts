import type { JsonObject } from '@drydock/crd';

/** A place where live and wanted differ; undefined: absent there. */
export interface Difference {
  /** As `spec.template.spec.containers[0].image`. */
  readonly path: string;
  readonly was: string | undefined;
  readonly is: string | undefined;
}

/** What stands between an object as it is and as a payload wants it. A plan prints it and apply takes it: it is one value. */
export type ApplyStep =
  | { readonly action: 'create'; readonly object: JsonObject }
  | {
      readonly action: 'update';
      /** The live object with what the payload wants; its resourceVersion guards the write. */
      readonly object: JsonObject;
      readonly differences: readonly Difference[];
    }
  | {
      readonly action: 'delete';
      readonly uid: string;
      /** It was asked to go before, and something holds it. */
      readonly pending: boolean;
      /** What it holds is gone with it, and no release brings it back. */
      readonly losesData: boolean;
    }
  /** `why` is a clause. */
  | { readonly action: 'wait'; readonly why: string }
  | { readonly action: 'nothing'; readonly why: string }
  /** It belongs to somebody else. */
  | { readonly action: 'refuse'; readonly why: string };
