import { type ConfigMap, readJson } from '@drydock/api';
import { shownText } from '@drydock/api/text';
import { BootImageError, errorText, orBootImageError } from '../errors.ts';
import { at, isObject, type JsonPath, nonEmpty, object } from './json.ts';

/** The one artifact that a platform boots from. */
export interface DiskArtifact {
  readonly location: string;
  /** Lower-case hex. */
  readonly sha256: string;
  /** It is an item of a content library that a policy names: the location is none of the internet. */
  readonly libraryItem?: true;
}

/** The fields of CoreOS stream metadata that are used; everything else in the text is tolerated (boot-images.md §6.2). */
export interface Stream {
  /** Only a prefix of error texts. */
  readonly name: string;
  /** `architectures[arch].artifacts[platform].release`, or undefined when absent or empty. */
  readonly release: (architecture: string, platform: string) => string | undefined;
  /** `architectures[arch].artifacts[platform].formats[format].disk`, or undefined when absent. */
  readonly disk: (architecture: string, platform: string, format: string) => DiskArtifact | undefined;
  /** Where no image can be made of what is wanted, and only one that is in the place will do: why. */
  readonly inPlaceOnly?: BootImageError;
  /** The object at a path below `architectures[arch]`, such as `images`, `gcp`; undefined where there is none. */
  readonly object: (architecture: string, ...path: readonly string[]) => Readonly<Record<string, unknown>> | undefined;
}

/** A stream text above this is refused: etcd stores no object larger than about 1.5 MiB. */
const maxStreamBytes: number = 4 * 1024 * 1024;

/** By their ConfigMap, which nobody changes: it is asked for before each write. */
const streams = new WeakMap<ConfigMap, Stream | BootImageError>();

/** The stream of the golden ConfigMap, or why it cannot be parsed; undefined without the ConfigMap. */
export function streamOf(golden: ConfigMap | undefined): Stream | BootImageError | undefined {
  if (golden === undefined) return undefined;
  return streams.getOrInsertComputed(golden, ({ data }) => orBootImageError(() => parseStream(data?.['stream'])));
}

/**
 * Parses the `stream` key of the golden ConfigMap. An absent key is the empty text, which is a parse error as upstream has it.
 * Throws `StreamInvalid`.
 */
export function parseStream(text: string | undefined): Stream {
  const source = text ?? '';
  if (source.length > maxStreamBytes) throw invalid(`${source.length} bytes, at most ${maxStreamBytes} expected`);
  let root: unknown;
  try {
    root = readJson(source);
  } catch (error) {
    throw invalid(shownText(errorText(error)), error);
  }
  if (!isObject(root)) throw invalid('an object was expected');
  const within = (...path: JsonPath): unknown => at(root, ['architectures', ...path]);
  return {
    name: typeof root['stream'] === 'string' ? root['stream'] : '',
    object: (architecture, ...path) => {
      const found = within(architecture, ...path);
      return isObject(found) ? found : undefined;
    },
    release: (architecture, platform) => nonEmpty(within(architecture, 'artifacts', platform, 'release')),
    disk: (architecture, platform, format) => {
      const disk = object(within(architecture, 'artifacts', platform, 'formats', format, 'disk'));
      const location = nonEmpty(disk['location']);
      const sha256 = nonEmpty(disk['sha256']);
      return location === undefined || sha256 === undefined ? undefined : { location, sha256: sha256.toLowerCase() };
    },
  };
}

function invalid(detail: string, cause?: unknown): BootImageError {
  return new BootImageError('StreamInvalid', `failed to parse CoreOS stream metadata: ${detail}`, {
    ...(cause === undefined ? {} : { cause }),
    nextStep: 'restore key stream of configmap openshift-machine-config-operator/coreos-bootimages',
  });
}
