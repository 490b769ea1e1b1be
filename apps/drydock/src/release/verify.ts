import { statSync } from 'node:fs';
import type { KeyRing, SignatureStore } from '@drydock/release';
import type { Command } from 'commander';
import { count } from '../count.ts';
import { exitCode, UsageError } from '../exit.ts';
import { untilInterrupted } from '../interruption.ts';
import { type OutputFormat, outputOption, print } from '../output/format.ts';
import { readSmallFile } from '../small-file.ts';
import { imageSource, type RegistryFlags, registryFlags, registryOptions } from './payload-source.ts';

/** Adds `release verify`: whether an image was signed by the keys of every ring. It only reads. */
export function addVerify(group: Command): void {
  registryFlags(
    group
      .command('verify')
      .description('say whether a release image was signed by a key of each ring, as OpenShift signs its releases'),
  )
    .argument('<image>', 'HOST/REPOSITORY@sha256:… or :TAG in a registry, or oci:FOLDER[:TAG] of an image layout')
    .requiredOption('--keyring <file...>', 'public keys in armour; each file must have signed')
    .requiredOption(
      '--store <place...>',
      'where signatures are: https://HOST/PATH, or a folder, with sha256=…/signature-1 in it',
    )
    .addOption(outputOption())
    .action((image: string, flags: VerifyFlags) =>
      untilInterrupted((signal) => verify(image, flags, signal), 'nothing was kept'),
    );
}

interface VerifyFlags extends RegistryFlags {
  readonly keyring: readonly string[];
  readonly store: readonly string[];
  readonly output: OutputFormat;
}

async function verify(image: string, flags: VerifyFlags, signal: AbortSignal): Promise<number> {
  const release = await import('@drydock/release');
  const rings: KeyRing[] = [];
  for (const file of flags.keyring) {
    const text = await readSmallFile(file, release.MAX_RING).catch((error: Error) => {
      throw new UsageError(`${file} cannot be read: ${error.message}`);
    });
    rings.push(await release.readKeyRing(file, text));
  }
  await using stores = new AsyncDisposableStack();
  const { ca, plain } = await registryOptions(flags);
  const opened = flags.store.map((place): SignatureStore => {
    const isFolder = statSync(place, { throwIfNoEntry: false })?.isDirectory() === true;
    const trust = { ...(ca === undefined ? {} : { ca }), ...(plain === undefined ? {} : { plain }) };
    return stores.use(isFolder ? release.folderStore(place) : release.httpStore(place, trust));
  });
  const digest = await digestOf(image, flags, signal);
  const found = await release.verifyDigest(digest, { rings, stores: opened, signal });
  const names = rings.map(({ name }) => name);
  const value = {
    image,
    digest,
    verified: found.verified,
    keyRings: names,
    ...(found.verified ? {} : { why: found.why }),
  };
  print(flags.output, value, () =>
    found.verified
      ? `${image} is verified: ${digest} was signed by ${count(names.length, 'key ring')}, ${names.join(', ')}.\n`
      : `${image} is not verified: ${found.why}. Do not apply it, or give other key rings or stores.\n`,
  );
  return found.verified ? exitCode.done : exitCode.blocked;
}

/** What is signed: nobody is asked where the name has it. */
async function digestOf(image: string, flags: VerifyFlags, signal: AbortSignal): Promise<string> {
  const release = await import('@drydock/release');
  if (!image.startsWith('oci:')) {
    const { digest } = release.parseReference(image);
    if (digest !== undefined) return digest;
  }
  await using source = await imageSource(image, flags);
  return (await release.imageOf(source, flags.architecture ?? release.hostArchitecture(), { signal })).digest;
}
