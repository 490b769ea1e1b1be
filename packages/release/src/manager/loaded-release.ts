import { addressText } from '@drydock/api/text';
import { ReleaseError } from '../errors.ts';
import { type Audience, excludedBy } from '../inclusion/annotations.ts';
import { type Capabilities, capabilitiesFor, implicitlyEnabled, withImplicit } from '../inclusion/capabilities.ts';
import { select } from '../inclusion/selection.ts';
import type { PayloadFiles } from '../payload/directory.ts';
import type { Manifest } from '../payload/manifest.ts';
import { DEFAULT_PROFILE, loadPayload, type Payload } from '../payload/payload.ts';
import { versionHash } from '../payload/version-hash.ts';
import type { Signed } from '../state/acceptance.ts';
import { type KeyRing, readKeyRing } from '../verify/key-rings.ts';
import { verifierIn } from '../verify/payload-verifier.ts';
import type { SignatureStore } from '../verify/signature-stores.ts';
import { verifyDigest } from '../verify/verifier.ts';
import type { ReleaseWish } from './face.ts';

/** A release that was read, as this cluster sees it. */
export interface LoadedRelease {
  readonly payload: Payload;
  readonly included: readonly Manifest[];
  readonly capabilities: Capabilities | undefined;
  /** Of what is applied. */
  readonly hash: string;
  /** Of everything that is for this cluster, also of what a capability or an override leaves out: as a status has it, and upstream's. */
  readonly versionHash: string;
}

/** Fetches the files of an image by its reference with digest. Rejects with `ReleaseError`. */
export type Retrieve = (image: string, signal: AbortSignal) => Promise<PayloadFiles>;

/** Sorts a payload for whoever wants it. What `running` manages keeps its manager, though the next release makes it optional. Throws `ReleaseError`. */
export function loadRelease(
  files: PayloadFiles,
  image: string,
  wish: ReleaseWish,
  { enabled, running }: { readonly enabled: readonly string[]; readonly running: LoadedRelease | undefined },
): LoadedRelease {
  const profile = wish.profile ?? DEFAULT_PROFILE;
  const payload = loadPayload(files, { releaseImage: image, clusterProfile: profile });
  const audience: Audience = {
    ...{ profile: wish.profile, featureSet: wish.featureSet, gates: new Set<string>() },
    majorVersion: Number.parseInt(payload.metadata.version, 10),
  };
  const { overrides } = wish;
  if (wish.capabilities === undefined) {
    const { included } = select(payload.manifests, { audience, overrides });
    return { payload, included, capabilities: undefined, ...hashesOf(payload, audience, included) };
  }
  const asked = capabilitiesFor(wish.capabilities, enabled);
  const kept =
    running?.capabilities === undefined
      ? []
      : implicitlyEnabled(running.included, select(payload.manifests, { audience }).included, running.capabilities);
  const capabilities = withImplicit(asked, kept);
  const { included } = select(payload.manifests, { audience, overrides, capabilities });
  return { payload, included, capabilities, ...hashesOf(payload, audience, included) };
}

function hashesOf(
  { manifests }: Payload,
  audience: Audience,
  included: readonly Manifest[],
): Pick<LoadedRelease, 'hash' | 'versionHash'> {
  const hash = versionHash(included);
  const forUs = manifests.filter((manifest) => excludedBy(manifest, audience) === undefined);
  return { hash, versionHash: forUs.length === included.length ? hash : versionHash(forUs) };
}

/** Where signatures are looked for, besides what a wish names. */
export interface SignaturePorts {
  /** In the cluster; asked first, so that a way back needs no network. */
  readonly kept: readonly SignatureStore[];
  readonly storeAt: (address: string) => SignatureStore;
}

/**
 * Whether an image may be taken for what it says, by the key rings of the wish, or by those that the running release brings. Rejects only with the signal's reason; `proof` is what proves it.
 */
export async function signedBy(
  digest: string,
  { verify }: ReleaseWish,
  {
    running,
    ports,
    signal,
  }: {
    readonly running: readonly Manifest[] | undefined;
    readonly ports: SignaturePorts;
    readonly signal: AbortSignal;
  },
): Promise<Signed & { readonly proof: readonly Uint8Array[] }> {
  if (verify.unsigned) return { verified: false, waived: true, proof: [] };
  const brought = verify.byRelease && running !== undefined ? verifierIn(running) : undefined;
  const source = brought ?? verify;
  await using stores = new AsyncDisposableStack();
  try {
    const rings: KeyRing[] = [];
    for (const { name, armoured } of source.rings) rings.push(await readKeyRing(name, armoured));
    const named = source.stores.map((address) => stores.use(ports.storeAt(address)));
    const found = await verifyDigest(digest, { rings, stores: [...ports.kept, ...named], signal });
    return found.verified
      ? { verified: true, proof: found.proof }
      : { verified: false, why: `${found.why}.`, proof: [] };
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof ReleaseError)) throw error;
    return { verified: false, why: error.message, proof: [] };
  }
}

/** The digest of a reference that has one. */
export function digestIn(image: string): string {
  return image.slice(image.lastIndexOf('@') + 1);
}

/** An image in a message: without what might be a password before it. */
export function imageText(image: string): string {
  return image.includes('://') ? addressText(image) : image;
}
