import { readJson } from '@drydock/api';
import { isObject, type Json } from '@drydock/crd';
import { valid } from 'semver';
import { ReleaseError } from '../errors.ts';

/** What a release says of itself: the file `release-metadata`. */
export interface ReleaseMetadata {
  /** Semantic version. */
  readonly version: string;
  /** Versions from which it may be updated to. */
  readonly previous: readonly string[];
  readonly url?: string;
  /** `multi` where it is for several. */
  readonly architecture?: string;
  readonly channels: readonly string[];
}

const KIND = 'cincinnati-metadata-v0';

/** Reads `release-metadata`. Throws `ReleaseError`. */
export function readReleaseMetadata(file: string, text: string): ReleaseMetadata {
  const bad = (what: string): never => {
    throw new ReleaseError('BAD_METADATA', `${file}: ${what}`);
  };
  const value = jsonOf(text) ?? bad('it is no JSON');
  if (!isObject(value)) return bad('it is no object');
  const { kind, version, previous, metadata } = value;
  if (kind !== KIND) return bad(`its kind is not ${KIND}`);
  if (typeof version !== 'string' || valid(version) === null) return bad('its version is no semantic version');
  const { url, 'release.openshift.io/architecture': architecture, ...more } = isObject(metadata) ? metadata : {};
  const channels = more['io.openshift.upgrades.graph.release.channels'];
  return {
    version,
    previous: Array.isArray(previous) ? previous.filter((one) => typeof one === 'string') : [],
    ...(typeof url === 'string' ? { url } : {}),
    ...(typeof architecture === 'string' ? { architecture } : {}),
    channels: typeof channels === 'string' ? channels.split(',').filter((one) => one !== '') : [],
  };
}

/** Reads `image-references`, an ImageStream: the images of the components by name. Throws `ReleaseError` where it is for another version. */
export function readImageReferences(file: string, text: string, version: string): ReadonlyMap<string, string> {
  const bad = (what: string): never => {
    throw new ReleaseError('BAD_METADATA', `${file}: ${what}`);
  };
  const value = jsonOf(text) ?? bad('it is no JSON');
  if (!isObject(value) || value['kind'] !== 'ImageStream') return bad('it is no ImageStream');
  const { metadata, spec } = value;
  const name = isObject(metadata) ? metadata['name'] : undefined;
  if (name !== version)
    bad(`it is for the version ${typeof name === 'string' ? name : '(none)'}, the release is ${version}`);
  const tags = isObject(spec) && Array.isArray(spec['tags']) ? spec['tags'] : [];
  return new Map(
    tags.filter(isObject).flatMap((tag: Readonly<Record<string, Json>>): (readonly [string, string])[] => {
      const from = tag['from'];
      const image = isObject(from as Json) ? (from as Readonly<Record<string, Json>>)['name'] : undefined;
      return typeof tag['name'] === 'string' && typeof image === 'string' ? [[tag['name'], image]] : [];
    }),
  );
}

/** The Kubernetes that a release brings, as one of its images says (`io.openshift.build.versions`); undefined where it brings none. */
export function readKubernetesVersion(text: string): string | undefined {
  const value = jsonOf(text);
  const spec = isObject(value) ? value['spec'] : undefined;
  const tags = isObject(spec) && Array.isArray(spec['tags']) ? spec['tags'] : [];
  for (const { annotations } of tags.filter(isObject)) {
    const said = isObject(annotations) ? annotations['io.openshift.build.versions'] : undefined;
    const [, version] = typeof said === 'string' ? (/(?:^|,)kubernetes=([^,]+)/.exec(said) ?? []) : [];
    if (version !== undefined && valid(version) !== null) return version;
  }
  return undefined;
}

function jsonOf(text: string): Json | undefined {
  try {
    return readJson(text) as Json;
  } catch {
    return undefined;
  }
}
