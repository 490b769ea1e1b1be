/** One image, or the newest of a family, as Compute Engine names it (`sourceImage` of its API reference). */
export interface ImageName {
  readonly project: string;
  /** Name of the image, or of the family. */
  readonly name: string;
  readonly family: boolean;
}

const PROJECT = /^(?:[a-z0-9.-]{1,61}:)?[a-z][a-z0-9-]{4,28}[a-z0-9]$/;
const NAME = /^[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?$/;
const ADDRESS = /^https:\/\/(?:www|compute)\.googleapis\.com\/compute\/(?:v1|beta|alpha)\//;

/**
 * Reads the forms that Compute Engine takes: a path from `projects/`, the same as a whole address, and `global/images/…` of the machine's own project. Undefined for
 * anything else.
 */
export function parseImage(reference: string, ownProject: string): ImageName | undefined {
  const path = reference.replace(ADDRESS, '');
  const parts = path.startsWith('global/') ? ['projects', ownProject, ...path.split('/')] : path.split('/');
  const [projects, project = '', global, images, ...rest] = parts;
  if (projects !== 'projects' || global !== 'global' || images !== 'images' || !PROJECT.test(project)) return undefined;
  const family = rest.length === 2 && rest[0] === 'family';
  const name = family ? rest[1] : rest[0];
  if (name === undefined || !NAME.test(name) || rest.length > (family ? 2 : 1)) return undefined;
  return { project, name, family };
}

/** The path by which machine-api names an image. */
export function imagePath({ project, name, family }: ImageName): string {
  return `projects/${project}/global/images/${family ? 'family/' : ''}${name}`;
}

/** What people call an image: the last part of any form. */
export function shortName(reference: string): string {
  return reference
    .split(', ')
    .map((one) => one.slice(one.lastIndexOf('/') + 1))
    .join(', ');
}
