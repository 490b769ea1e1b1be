import { statSync } from 'node:fs';
import { UsageError } from '../exit.ts';

/** Where the manifests of a release are: what a name of a person stands for. */
export type SourceName =
  | { readonly kind: 'cluster'; readonly context: string | undefined }
  | { readonly kind: 'file' | 'folder'; readonly path: string }
  /** In a registry, or in a layout of images on disk (`oci:`). */
  | { readonly kind: 'image'; readonly name: string };

/** How sources are named, for help and errors. */
const WAYS: Readonly<Record<SourceName['kind'], string>> = {
  folder: 'folder',
  file: 'file',
  image: 'oci:FOLDER[:TAG] of an image layout, HOST/REPOSITORY:TAG or @sha256:… in a registry',
  cluster: 'cluster: or cluster:CONTEXT',
};

/** What stands before a colon, and what it makes of the rest. Another kind of source, such as a chart, is one more entry here, one more kind above, and a reader of it. */
const SCHEMES: Readonly<Record<string, (rest: string, name: string) => SourceName>> = {
  cluster: (rest) => ({ kind: 'cluster', context: rest === '' ? undefined : rest }),
  oci: (_, name) => ({ kind: 'image', name }),
};

/** The sources that a verb takes, in words. */
export function waysOf(takes: readonly SourceName['kind'][]): string {
  const [last = '', ...others] = takes.map((kind) => WAYS[kind]).toReversed();
  return others.length === 0 ? last : `${others.toReversed().join(', ')}, or ${last}`;
}

/** What a name stands for: the one rule for every verb that takes a release or CRDs. Throws `UsageError`, which says what there is. */
export function sourceNamed(name: string, takes: readonly SourceName['kind'][]): SourceName {
  const found = sourceOf(name);
  const expected = `name a ${waysOf(takes)}`;
  if (found === undefined) throw new UsageError(`there is no file or folder ${name}: ${expected}`);
  if (!takes.includes(found.kind))
    throw new UsageError(`this verb reads no ${found.kind}, and ${name} is one: ${expected}`);
  return found;
}

function sourceOf(name: string): SourceName | undefined {
  const [, scheme = '', rest = ''] = /^([a-z]+):(.*)$/s.exec(name) ?? [];
  if (Object.hasOwn(SCHEMES, scheme)) return SCHEMES[scheme]?.(rest, name);
  const stat = statSync(name, { throwIfNoEntry: false });
  if (stat !== undefined) return { kind: stat.isDirectory() ? 'folder' : 'file', path: name };
  // What looks like a path is one, even if nothing is there.
  if (/^[./~]/.test(name)) return undefined;
  const [registry = '', ...path] = name.split('/');
  const isReference = path.length > 0 && (registry === 'localhost' || /[.:[]/.test(registry));
  return isReference ? { kind: 'image', name } : undefined;
}
