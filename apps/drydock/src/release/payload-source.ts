import type {
  Audience,
  BlobSource,
  Capabilities,
  ImagePayload,
  Payload,
  PayloadFiles,
  RegistryOptions,
  Selected,
} from '@drydock/release';
import type { Command } from 'commander';
import { UsageError } from '../exit.ts';
import { readSmallFile } from '../small-file.ts';
import { bytesText } from '../template/amounts.ts';
import { sayError } from '../terminal.ts';
import { sourceNamed, waysOf } from './source-name.ts';

/** How images are had. */
export interface RegistryFlags {
  readonly architecture?: string;
  readonly registryConfig?: string;
  readonly registryCa?: string;
  readonly registryMirror?: readonly string[];
  readonly registryPlain?: readonly string[];
}

/** For whom a payload is read. */
export interface AudienceFlags extends RegistryFlags {
  readonly profile: string;
  readonly featureSet: string;
  readonly gate: readonly string[];
  readonly capabilities?: string;
  readonly plain?: true;
}

/** A payload as one kind of cluster sees it. */
export interface SeenPayload extends Selected {
  readonly payload: Payload;
  readonly capabilities: Capabilities | undefined;
  /** Of the image that it came in. */
  readonly digest?: string;
}

/** Adds the flags that say for whom a payload is read. */
export function audienceFlags(verb: Command): Command {
  return registryFlags(
    verb
      .option('--profile <name>', 'cluster profile that manifests must include', 'self-managed-high-availability')
      .option('--feature-set <name>', 'feature set of the cluster', 'Default')
      .option(
        '--gate <name>',
        'feature gate that is on; may be repeated',
        (one: string, all: readonly string[]) => [...all, one],
        [],
      )
      .option(
        '--capabilities <set>',
        'baseline of capabilities, as None, v4.14 or vCurrent; without it all count as enabled',
      )
      .option('--plain', 'a payload of others: its manifests need not say for whom they are'),
  );
}

/** Adds the flags that say how images are had. */
export function registryFlags(verb: Command): Command {
  return verb
    .option('--architecture <name>', "of an image for several, in Go's words, as amd64 (default: this machine's)")
    .option('--registry-config <file>', 'logins of registries: config.json of docker, auth.json, or a pull secret')
    .option('--registry-ca <file>', 'authorities in PEM that registries are trusted by, besides those of the system')
    .option('--registry-mirror <from=to...>', 'read images whose reference begins with from at to, if they are there')
    .option('--registry-plain <host...>', 'registries that are spoken to without TLS');
}

/** The sources that a payload comes from. */
const PAYLOAD_SOURCES = ['folder', 'image'] as const;
/** How a payload is named, for help. */
export const PAYLOAD_ARGUMENT: string = waysOf(PAYLOAD_SOURCES);

/** Reads a payload and sorts it for an audience. Throws `ReleaseError`, and `UsageError` for flags. */
export async function readPayload(name: string, flags: AudienceFlags, signal: AbortSignal): Promise<SeenPayload> {
  const release = await import('@drydock/release');
  const read = await payloadFiles(name, flags, signal);
  const payload = release.loadPayload(read.files, {
    clusterProfile: flags.profile,
    ...(read.digest === undefined ? {} : { releaseImage: `${name.replace(/[:@][^/]*$/, '')}@${read.digest}` }),
  });
  const capabilities =
    flags.capabilities === undefined ? undefined : release.capabilitiesFor({ baseline: flags.capabilities }, []);
  const audience: Audience = {
    profile: flags.plain === true ? undefined : flags.profile,
    featureSet: flags.featureSet,
    gates: new Set(flags.gate),
    majorVersion: Number.parseInt(payload.metadata.version, 10),
  };
  const chosen = capabilities === undefined ? {} : { capabilities };
  const selected = release.select(payload.manifests, { audience, ...chosen });
  const { digest } = read;
  return { payload, capabilities, ...(digest === undefined ? {} : { digest }), ...selected };
}

async function payloadFiles(
  name: string,
  flags: AudienceFlags,
  signal: AbortSignal,
): Promise<{ readonly files: PayloadFiles; readonly digest?: string }> {
  if (sourceNamed(name, PAYLOAD_SOURCES).kind === 'folder') {
    const { readPayloadDirectory } = await import('@drydock/release');
    return { files: await readPayloadDirectory(name) };
  }
  const image = await imageFiles(name, flags, signal);
  return { files: image, digest: image.digest };
}

/** Reads the files of a release out of an image. Throws `ReleaseError`, and `UsageError` for flags. */
export async function imageFiles(name: string, flags: RegistryFlags, signal: AbortSignal): Promise<ImagePayload> {
  const release = await import('@drydock/release');
  await using source = await imageSource(name, flags);
  return await release.readPayloadImage(source, {
    signal,
    ...(flags.architecture === undefined ? {} : { architecture: flags.architecture }),
    onLayer: (at, of, bytes) => {
      if (process.stderr.isTTY) sayError(`layer ${at} of ${of}, ${bytesText(bytes)}`);
    },
  });
}

/** Opens an image by its name, which is no folder. Throws `ReleaseError`, and `UsageError` for flags. */
export async function imageSource(name: string, flags: RegistryFlags): Promise<BlobSource> {
  const release = await import('@drydock/release');
  if (name.startsWith('oci:')) return layoutOf(name, release.ociLayout);
  return release.registryImage(release.parseReference(name), await registryOptions(flags));
}

/** A folder may have a colon in its name; a tag has no slash. */
function layoutOf(name: string, open: (folder: string, tag: string | undefined) => BlobSource): BlobSource {
  const path = name.slice('oci:'.length);
  const [, folder = path, tag] = /^(.+):([^:/]+)$/.exec(path) ?? [];
  return open(folder, tag);
}

/** What the flags say of registries. Throws `UsageError`. */
export async function registryOptions(flags: RegistryFlags): Promise<RegistryOptions> {
  const { readLogins } = await import('@drydock/release');
  const { registryConfig: config, registryCa: ca, registryMirror = [], registryPlain = [] } = flags;
  const mirrors = registryMirror.map((pair) => {
    const [, from, to] = /^([^=]+)=([^=]+)$/.exec(pair) ?? [];
    if (from === undefined || to === undefined) throw new UsageError(`--registry-mirror ${pair}: from=to is expected`);
    return { from, to };
  });
  const file = async (path: string): Promise<string> =>
    await readSmallFile(path, MAX_SMALL).catch((error: Error) => {
      throw new UsageError(`${path} cannot be read: ${error.message}`);
    });
  return {
    mirrors,
    plain: new Set(registryPlain),
    ...(config === undefined ? {} : { logins: readLogins(await file(config), config) }),
    ...(ca === undefined ? {} : { ca: await file(ca) }),
  };
}

/** Bytes of a file of logins, or of authorities. */
const MAX_SMALL = 4 << 20;
