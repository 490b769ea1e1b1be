import { createHash } from 'node:crypto';
import { canonical } from '../observe/json.ts';
import { type ImageLeaf, specWithImage } from './image-leaf.ts';
import type { ClusterApiObject } from './kinds.ts';

/** On templates that Drydock made. */
export const OURS = { 'app.kubernetes.io/managed-by': 'drydock' } as const;
/** The name of the template that the first of a line was made of. */
export const BASE = 'drydock.dev/rotated-from';
/** What its image is called. */
export const RELEASE = 'drydock.dev/boot-image-release';
/** Since when nothing needed it, and that it goes if nothing does. */
export const RETIRED = 'drydock.dev/retired-since';

/** A name of an object has at most so many characters. */
const LONGEST = 253;
/** How many names a content may have: the next one serves where something else bears the one before. */
const ROUNDS = 8;

/** A template as it was made by us. */
export function isOurs({ metadata }: ClusterApiObject): boolean {
  return metadata.labels?.['app.kubernetes.io/managed-by'] === 'drydock' && metadata.annotations?.[BASE] !== undefined;
}

/** The name that a line of templates has in common: that of the template which a person made. */
export function baseOf(template: ClusterApiObject): string {
  const base = isOurs(template) ? template.metadata.annotations?.[BASE] : undefined;
  return base !== undefined && template.metadata.name.startsWith(base.slice(0, LONGEST - 9))
    ? base
    : template.metadata.name;
}

/**
 * What a template is to become with another image: every name that this content may have, in the order in which they are tried, the same in every process. Labels and
 * annotations of Cluster API go with it; those of whoever applied the template do not, or the next prune of theirs would take it away.
 */
export function clonesOf(
  template: ClusterApiObject,
  leaf: ImageLeaf,
  image: { readonly image: string; readonly release: string },
): readonly ClusterApiObject[] {
  const { metadata, apiVersion = '', kind = '' } = template;
  const spec = specWithImage(template, leaf, image.image);
  const base = baseOf(template);
  const content = canonical({ kind, spec });
  const owners = metadata.ownerReferences?.filter((owner) => owner.kind === 'Cluster' && owner.controller !== true);
  return Array.from({ length: ROUNDS }, (_, round) => ({
    apiVersion,
    kind,
    metadata: {
      name: cloneName(base, round === 0 ? content : `${content}${round}`),
      ...(metadata.namespace === undefined ? {} : { namespace: metadata.namespace }),
      labels: { ...ofClusterApi(metadata.labels), ...OURS },
      annotations: { ...ofClusterApi(metadata.annotations), [BASE]: base, [RELEASE]: image.release },
      ...(owners === undefined || owners.length === 0 ? {} : { ownerReferences: owners }),
    },
    ...(spec === undefined ? {} : { spec }),
  }));
}

/** `<base>-<8 hex of content>`. */
function cloneName(base: string, content: string): string {
  const digits = createHash('sha256').update(content).digest('hex').slice(0, 8);
  return `${base.slice(0, LONGEST - 9).replace(/[^a-z0-9]+$/, '')}-${digits}`;
}

/** Whether what bears a clone's name is that clone. A server may have filled in defaults, so what was asked for must be in it, and may not be all. */
export function isClone(found: ClusterApiObject, wanted: ClusterApiObject): boolean {
  return (
    isOurs(found) &&
    found.metadata.annotations?.[BASE] === wanted.metadata.annotations?.[BASE] &&
    holds(found.spec, wanted.spec)
  );
}

function holds(found: unknown, wanted: unknown): boolean {
  if (Array.isArray(wanted))
    return Array.isArray(found) && found.length === wanted.length && wanted.every((item, at) => holds(found[at], item));
  if (typeof wanted === 'object' && wanted !== null) {
    if (typeof found !== 'object' || found === null) return false;
    const inner = found as Readonly<Record<string, unknown>>;
    return Object.entries(wanted).every(([key, value]) => holds(inner[key], value));
  }
  return found === wanted;
}

function ofClusterApi(texts: Readonly<Record<string, string>> | undefined): Readonly<Record<string, string>> {
  const own = Object.entries(texts ?? {}).filter(([key]) => {
    const [domain = ''] = key.split('/');
    return /(^|\.)cluster\.x-k8s\.io$/.test(domain) && domain !== 'topology.cluster.x-k8s.io';
  });
  return Object.fromEntries(own);
}
