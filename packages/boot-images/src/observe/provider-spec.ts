import { nameFault } from '@drydock/api/text';
import type { JsonPatchOp } from '@drydock/kube';
import { BootImageError } from '../errors.ts';
import { type JsonObject, object } from './json.ts';
import { LARGEST_PART, TOO_LARGE } from './light.ts';

/** What stands in a leaf: a text, or an object that is exchanged as a whole. */
export type LeafValue = string | JsonObject;

/** One change of one leaf below `providerSpec.value`; `from` undefined means that the leaf is absent today. */
export interface LeafEdit {
  readonly path: readonly (string | number)[];
  readonly from: LeafValue | undefined;
  readonly to: LeafValue;
  /** What else must still be so: what makes the leaf the right one, where its path has an index. */
  readonly beside?: readonly { readonly path: readonly (string | number)[]; readonly value: unknown }[];
}

/** A leaf for people. */
export function leafText(value: LeafValue): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
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

/** The error for a member that machine-api could not read either. */
export function invalidSpec(path: string, expected: string): BootImageError {
  return new BootImageError(
    'ProviderSpecInvalid',
    `unmarshal into providerSpec failed: ${path}: ${expected} was expected`,
    { retriable: false, nextStep: 'correct spec.template.spec.providerSpec.value of the set' },
  );
}

/** The text of a member, '' where there is none: null is absent, upstream's reader takes both. Throws `ProviderSpecInvalid`, and `NameUnusable` for a text that can name nothing. */
export function specText(value: unknown, path: string, longest: number): string {
  if (value === undefined || value === null) return '';
  if (typeof value !== 'string') throw invalidSpec(path, 'a text');
  const fault = nameFault(value, longest);
  if (fault === undefined) return value;
  // Nothing of it is sent, shown or logged.
  throw new BootImageError('NameUnusable', `providerSpec.value.${path} ${fault}`, {
    ...{ retriable: false, nextStep: 'correct spec.template.spec.providerSpec.value of the set' },
  });
}

/** Longest path of names that is taken; a vCenter's names have 80 characters each. */
const LONGEST_PATH = 2048;
/** Longest name of a Secret (RFC 1123 subdomain). */
const LONGEST_SECRET = 253;

/** Why a provider spec is too large, or a text of it that names something elsewhere cannot name it, as a clause that says which text; undefined where all is well. */
export function unusableName(spec: JsonObject): string | undefined {
  if (TOO_LARGE in spec) return `providerSpec.value, or what else the spec has, weighs more than ${LARGEST_PART} bytes`;
  const { template, workspace, tagIDs, userDataSecret } = spec;
  const texts: (readonly [string, unknown, number])[] = [['template', template, LONGEST_PATH]];
  for (const [key, value] of Object.entries(object(workspace)))
    if (WORKSPACE.has(key)) texts.push([`workspace.${key}`, value, LONGEST_PATH]);
  for (const [at, value] of (Array.isArray(tagIDs) ? tagIDs : []).entries())
    texts.push([`tagIDs[${at}]`, value, LONGEST_PATH]);
  texts.push(['userDataSecret.name', object(userDataSecret)['name'], LONGEST_SECRET]);
  for (const [field, value, most] of texts) {
    const fault = typeof value === 'string' ? nameFault(value, most) : undefined;
    if (fault !== undefined) return `providerSpec.value.${field} ${fault}`;
  }
  return undefined;
}

const WORKSPACE: ReadonlySet<string> = new Set([
  ...['server', 'datacenter', 'datastore', 'resourcePool', 'folder', 'vmGroup'],
]);

/**
 * The guarded patch: for each edit a `test` on the value that the decision was made from, then the new value. Nothing but the
 * named leaves is sent, so unknown fields survive and nobody's concurrent edit of the image is overwritten (BI-G8, BI-G9).
 */
export function leafPatch(base: readonly string[], edits: readonly LeafEdit[]): readonly JsonPatchOp[] {
  return edits.flatMap((edit): readonly JsonPatchOp[] => {
    const path = pointer([...base, ...edit.path]);
    const beside = (edit.beside ?? []).map(
      (one) => ({ op: 'test', path: pointer([...base, ...one.path]), value: one.value }) as const,
    );
    return edit.from === undefined
      ? // RFC 6902: `test` of null fails on a value and on an absent key alike in evanphx's implementation, so absence cannot be tested; `add` it is.
        [...beside, { op: 'add', path, value: edit.to }]
      : [...beside, { op: 'test', path, value: edit.from }, { op: 'replace', path, value: edit.to }];
  });
}

/** RFC 6901 pointer of a path. */
export function pointer(path: readonly (string | number)[]): string {
  return path.map((part) => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}
