import { ReleaseError } from '../errors.ts';

/** Where an image lies in a registry. */
export interface ImageReference {
  /** Host, with its port where one is given. */
  readonly registry: string;
  readonly repository: string;
  readonly tag?: string;
  /** `sha256:…` */
  readonly digest?: string;
}

const PART = /^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*$/;
const HOST = /^(?:[a-zA-Z0-9](?:[a-zA-Z0-9.-]{0,252}[a-zA-Z0-9])?|\[[0-9a-fA-F:.]{2,45}\])(?::\d{1,5})?$/;
const TAG = /^\w[\w.-]{0,127}$/;
const DIGEST = /^sha256:[0-9a-f]{64}$/;
/** So long may a reference be. */
const LONGEST = 1_000;

/** Reads `REGISTRY/REPOSITORY[:TAG][@DIGEST]` (the grammar of the distribution specification). The registry must be named: nothing is looked for where nobody said. Throws `ReleaseError`. */
export function parseReference(text: string): ImageReference {
  const bad = (why: string): never => {
    throw new ReleaseError('BAD_REFERENCE', `${text} is no reference of an image: ${why}`);
  };
  if (text.length > LONGEST) return bad(`it has more than ${LONGEST} characters`);
  const [named = '', digest, ...more] = text.split('@');
  if (more.length > 0) return bad('it has several digests');
  if (digest !== undefined && !DIGEST.test(digest)) return bad('its digest is not sha256: with 64 hexadecimal digits');
  const [registry = '', ...path] = named.split('/');
  if (path.length === 0 || !(registry === 'localhost' || /[.:[]/.test(registry)) || !HOST.test(registry))
    return bad('it does not begin with the host of a registry');
  const port = /:(\d+)$/.exec(registry)?.[1];
  if (port !== undefined && (Number(port) < 1 || Number(port) > 65_535))
    return bad(`its port ${port} is not between 1 and 65535`);
  const last = path.at(-1) ?? '';
  const colon = last.indexOf(':');
  const tag = colon < 0 ? undefined : last.slice(colon + 1);
  if (tag !== undefined && !TAG.test(tag))
    return bad('its tag is not made of letters, digits, dots, dashes and underscores');
  const parts = [...path.slice(0, -1), colon < 0 ? last : last.slice(0, colon)];
  if (!parts.every((part) => PART.test(part))) return bad('its repository is not made of small letters and digits');
  return {
    registry,
    repository: parts.join('/'),
    ...(tag === undefined ? {} : { tag }),
    ...(digest === undefined ? {} : { digest }),
  };
}

/** The reference as it is written; by its digest where it has one. */
export function referenceText({ registry, repository, tag, digest }: ImageReference): string {
  return `${registry}/${repository}${tag === undefined ? '' : `:${tag}`}${digest === undefined ? '' : `@${digest}`}`;
}
