import { isObject } from '@drydock/crd';
import type { Manifest } from '../payload/manifest.ts';

/** What a release brings for verifying the next one: key rings in armour and addresses of stores, by their names. */
export interface VerifierSource {
  readonly rings: readonly { readonly name: string; readonly armoured: string }[];
  readonly stores: readonly string[];
}

const ANNOTATION = 'release.openshift.io/verification-config-map';
const RING = 'verifier-public-key-';
const STORE = 'store-';
/** More nobody has. */
const MOST = 16;

/** The first ConfigMap of a payload that says that it is for this; undefined where there is none, or one without a key ring. As upstream keeps them. */
export function verifierIn(manifests: readonly Manifest[]): VerifierSource | undefined {
  const found = manifests.find(
    ({ id, annotations }) => id.kind === 'ConfigMap' && id.group === '' && annotations[ANNOTATION] !== undefined,
  );
  const data = found?.object['data'];
  if (data === undefined || !isObject(data)) return undefined;
  const texts = Object.entries(data).filter((one): one is [string, string] => typeof one[1] === 'string');
  const rings = texts
    .filter(([key]) => key.startsWith(RING))
    .map(([key, armoured]) => ({ name: key.slice(RING.length), armoured }));
  const stores = texts.filter(([key]) => key.startsWith(STORE)).map(([, address]) => address.trim());
  return rings.length === 0 || rings.length > MOST || stores.length > MOST ? undefined : { rings, stores };
}
