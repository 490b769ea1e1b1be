import type { JsonPatchOp } from '@drydock/kube';
import { BootImageError } from '../errors.ts';

/** A JSON object as the API server sent it. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** One change of one leaf below `providerSpec.value`; `from` undefined means that the leaf is absent today. */
export interface LeafEdit {
  readonly path: readonly (string | number)[];
  readonly from: string | undefined;
  readonly to: string;
}

/** Where `providerSpec.value` stands in a MachineSet. */
export const machineSetSpecPath: readonly string[] = ['spec', 'template', 'spec', 'providerSpec', 'value'];

/** `providerSpec.value` of a set as a raw object. Throws `ProviderSpecInvalid` with upstream's texts (§2.3 rows 8 and 8b). */
export function providerSpecOf(value: unknown): JsonObject {
  if (value === undefined || value === null) {
    throw new BootImageError('ProviderSpecInvalid', 'providerSpec field was empty', {
      retriable: false,
      nextStep: 'fill spec.template.spec.providerSpec.value of the set',
    });
  }
  if (typeof value !== 'object' || Array.isArray(value)) {
    throw new BootImageError('ProviderSpecInvalid', 'unmarshal into providerSpec failed: an object was expected', {
      retriable: false,
      nextStep: 'correct spec.template.spec.providerSpec.value of the set',
    });
  }
  return value as JsonObject;
}

/**
 * The guarded patch: for each edit a `test` on the value that the decision was made from, then the new value. Nothing but the
 * named leaves is sent, so unknown fields survive and nobody's concurrent edit of the image is overwritten (BI-G8, BI-G9).
 */
export function leafPatch(base: readonly string[], edits: readonly LeafEdit[]): readonly JsonPatchOp[] {
  return edits.flatMap((edit): readonly JsonPatchOp[] => {
    const path = pointer([...base, ...edit.path]);
    return edit.from === undefined
      ? // RFC 6902: `test` of null fails on a value and on an absent key alike in evanphx's implementation, so absence cannot be tested; `add` it is.
        [{ op: 'add', path, value: edit.to }]
      : [
          { op: 'test', path, value: edit.from },
          { op: 'replace', path, value: edit.to },
        ];
  });
}

/** RFC 6901 pointer of a path. */
export function pointer(path: readonly (string | number)[]): string {
  return path.map((part) => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}
