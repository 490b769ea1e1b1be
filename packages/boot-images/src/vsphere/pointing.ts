import type { Placement } from '@drydock/templates';
import type { ImageFacts } from '../image-facts.ts';
import type { LeafEdit } from '../observe/provider-spec.ts';
import type { PlatformInput, PointedImage } from '../platform.ts';
import { leafName } from './names.ts';
import type { Present } from './resolve.ts';
import type { Site } from './site.ts';

/** Where a provider spec names its template. */
export const templateLeaf = ['template'] as const;

/** What a set starts from, and what is asked for. */
export function imageFacts(existing: Present | undefined, site: Site, target: string): ImageFacts {
  if (existing === undefined) return { target };
  const release = existing.version;
  return {
    target,
    ...(release === undefined ? {} : { current: release }),
    template: {
      server: site.placement.server,
      name: existing.name,
      ...(release === undefined ? {} : { release }),
      ...(existing.digest === undefined ? {} : { digest: existing.digest }),
    },
    ...(existing.estranged === undefined ? {} : { because: `template ${existing.name}: ${existing.estranged}` }),
  };
}

/** A template that is there, and how a set is pointed at it. */
export function pointed(input: PlatformInput, site: Site, from: string, to: Present): PointedImage {
  const digest = to.digest === undefined ? {} : { digest: to.digest };
  const template = { server: site.placement.server, name: to.name, release: to.version ?? '', ...digest };
  return {
    ...{ edits: [templateEdit(input, from, to.name)], reference: to.name, template },
    ...(to.digest === undefined ? {} : { identity: identityOf(to.digest, site.placement) }),
  };
}

/** A template by its content and its place, for `PointedImage.identity`. */
export function identityOf(digest: string, { server, datacenter, folder }: Placement): string {
  return [server, datacenter, folder, digest].join('|');
}

/** How a set is pointed at a template of this name. The reference may be a path; under a name that was taken over it leads to the new template. */
export function pointing(
  input: PlatformInput,
  reference: string,
  name: string,
): Pick<PointedImage, 'edits' | 'reference'> {
  return leafName(reference) === name
    ? { edits: [] }
    : { edits: [templateEdit(input, reference, name)], reference: name };
}

/** The edit that puts a name into a provider spec. */
export function templateEdit(input: PlatformInput, from: string, to: string): LeafEdit {
  return { path: templateLeaf, from: Object.hasOwn(input.spec, 'template') ? from : undefined, to };
}
