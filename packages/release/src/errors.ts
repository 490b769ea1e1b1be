import { oneLine, shortText } from '@drydock/api/text';

/** Stable codes of {@link ReleaseError}, each with what a person does next. */
const NEXT = {
  UNREADABLE: 'Correct the payload and build it again; nothing was applied.',
  TOO_LARGE: 'Check where the payload comes from; no real one is that large.',
  NO_PAYLOAD: 'Name a folder with release-metadata, image-references and manifests.',
  BAD_REFERENCE: 'Name it as HOST/REPOSITORY:TAG or HOST/REPOSITORY@sha256:DIGEST, as oci:FOLDER, or as a folder.',
  BAD_IMAGE: 'Check where the image comes from; nothing was applied.',
  BAD_DIGEST: 'Do not use it: it is not what its name says, whoever changed it; nothing was applied.',
  BAD_LOGINS: 'Name a config.json of docker, an auth.json, or a pull secret.',
  REGISTRY: 'Look at the registry and the network between, and try again; a mirror may have it.',
  REGISTRY_LOGIN: 'Give a login that may read it, as --registry-config FILE.',
  BAD_KEY_RING: 'Give public keys in armour, as gpg --armor --export writes them.',
  BAD_STORE: 'Name it as https://HOST/PATH.',
  STORE: 'Look at the store and the network between; what was verified once is kept in the cluster.',
  BAD_METADATA: 'Build the payload with a release-metadata that says its version.',
  BAD_TEMPLATE: 'Correct the template, or give what it asks for.',
  DUPLICATE: 'Leave one of them out of the payload, or let their annotations tell for whom each is.',
  BAD_INVENTORY:
    'Restore it, or delete it: then labels and keys of earlier releases are not known any more, and stay; nothing was applied.',
  BAD_ANNOTATION: 'Correct the annotation and build the payload again; nothing was applied.',
  NOTHING_TO_RESCUE: 'Name it as DEFINITION NAME, as in clusterversions.config.openshift.io version.',
  NO_WAY_BACK: 'Name a release of its history: drydock release history NAME.',
  NO_BRIDGE:
    'Go through a release between the two; drydock crd bridge OLD NEW says place by place what stands in the way; nothing was applied.',
  BAD_MARKER:
    'Let whoever goes back end it, or take it away: kubectl annotate crd NAME drydock.dev/rollback- drydock.dev/rollback-schemas-; nothing was applied.',
  BAD_LEDGER:
    'Correct or delete this key, after a look at what it keeps: kubectl -n NAMESPACE edit configmap NAME; nothing was applied.',
  NOT_ACCEPTED:
    'Heal what it names, or accept it by its name in spec.acceptedRisks; drydock release preflight NAME --to VERSION says all of it; nothing was applied.',
  REHEARSAL: 'Look at what it waited for; the same --seed plays it again.',
  NO_WRITER: 'Name the Deployment that writes it as --writer NAMESPACE/NAME, or none where it runs elsewhere.',
} as const;

/** Characters of a message: a name in a payload may be as long as it likes. */
const MAX_TEXT = 1_000;

/** See {@link ReleaseError.code}. */
export type ReleaseErrorCode = keyof typeof NEXT;

/** The one error of this package: something that cannot be loaded, judged or applied. `message` names the file and line where there is one, and ends with what to do next. */
export class ReleaseError extends Error {
  override readonly name = 'ReleaseError';
  readonly code: ReleaseErrorCode;

  constructor(code: ReleaseErrorCode, message: string, cause?: unknown) {
    // A payload is somebody else's, and so are the words of it that are repeated here.
    super(`${oneLine(shortText(message, MAX_TEXT))}. ${NEXT[code]}`, cause === undefined ? undefined : { cause });
    this.code = code;
  }
}
