import { Secret } from '@drydock/api';
import { type Client, isForbidden, isNotFound } from '@drydock/kube';
import { BootImageError, errorText } from '../errors.ts';
import { rfc3339 } from '../status/conditions.ts';
import type { HistoryEntry } from '../way-back/history.ts';
import { machineApiNamespace } from './machine-api.ts';

/** Set on a secret whose stub was converted: when (RFC 3339). */
export const upgradedAtAnnotation = 'machineconfiguration.openshift.io/stub-ignition-upgraded-at';

/** The ownership label: the installation makes the Secret with it, and only a Secret with it is written or deleted. */
const oldStubLabel = 'drydock.dev/old-stub';
/** When the stub was put there (RFC 3339). */
const keptAtAnnotation = 'drydock.dev/kept-at';

const SUFFIX = '-ignition-2';

/**
 * The Secret that keeps what another one said before its stub was converted:
 *
 * ```text
 *  made empty by the installation ─► filled ─► the stub is converted ─► immutable ─► … ─► deleted one generation later
 *  └───── nothing was lost ──────────────────┘ └──────── old stub is there ────────┘
 * ```
 *
 * It has the data of the other one under the same keys, so that a machine set can name it.
 */
export function oldStubName(secret: string): string {
  return `${secret}${SUFFIX}`;
}

/** The Secret whose old stub a Secret of this name keeps; undefined for the name of any other Secret. */
export function keptName(secret: string): string | undefined {
  return secret.endsWith(SUFFIX) ? secret.slice(0, -SUFFIX.length) : undefined;
}

/** Whose old stub a Secret keeps; undefined where it is no such Secret, or not Drydock's. */
export function keptFor({ metadata }: Secret): string | undefined {
  return metadata.labels?.[oldStubLabel] === 'true' ? keptName(metadata.name) : undefined;
}

/** The empty Secret for the old stub of another one, as the installation makes it. */
export function emptyOldStub(secret: string): Secret {
  const labels = { 'app.kubernetes.io/part-of': 'drydock', [oldStubLabel]: 'true' };
  return { metadata: { namespace: machineApiNamespace, name: oldStubName(secret), labels }, type: 'Opaque' };
}

type Call = { readonly signal?: AbortSignal | undefined };

/** The old stub that is kept of a Secret; undefined where none is. Throws the `ApiError` of whatever else stands in the way. */
export async function oldStubOf(client: Pick<Client, 'get'>, secret: string, call: Call): Promise<Secret | undefined> {
  try {
    const kept = await client.get(Secret, { namespace: machineApiNamespace, name: oldStubName(secret) }, call);
    return keptFor(kept) === undefined || kept.data?.['userData'] === undefined ? undefined : kept;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/** The Secret that is to keep this one before it is converted. Throws `OldStubNotKept` where it cannot: a stub that nobody keeps would be lost. */
export async function placeForOldStub(client: Pick<Client, 'get'>, secret: Secret, call: Call): Promise<Secret> {
  const { name: of } = secret.metadata;
  const name = oldStubName(of);
  const place = await client.get(Secret, { namespace: machineApiNamespace, name }, call).catch((error: unknown) => {
    call.signal?.throwIfAborted();
    if (isNotFound(error)) throw notKept(of, 'is not there', makingIt(of), error);
    const rights = `allow get, update and delete of secret ${machineApiNamespace}/${name}, as deploy/rbac does for worker-user-data${SUFFIX}`;
    throw notKept(of, `cannot be read: ${errorText(error)}`, isForbidden(error) ? rights : 'it is tried again', error);
  });
  if (keptFor(place) === undefined)
    throw notKept(of, `lacks label ${oldStubLabel}=true: it is not Drydock's`, `rename or delete it; ${makingIt(of)}`);
  if (place.immutable === true && !sameData(place, secret)) {
    const deleting = `when no machine set needs it any more: kubectl -n ${machineApiNamespace} delete secret ${name}; ${makingIt(of)}`;
    throw notKept(of, 'keeps another stub already', deleting);
  }
  return place;
}

/**
 * When this stub was converted first (RFC 3339); undefined where `place` does not keep it yet. Somebody may put the same old stub back: the
 * images that were in use since then understand the new one.
 */
export function firstConversion(place: Secret, secret: Secret): string | undefined {
  return sameData(place, secret) ? place.metadata.annotations?.[keptAtAnnotation] : undefined;
}

/** Puts the data of a Secret into the one that keeps it, where it is not yet. `place`: of {@link placeForOldStub}. Resolves to it as it is then. */
export async function keepOldStub(
  client: Pick<Client, 'replace'>,
  place: Secret,
  secret: Secret,
  options: Call & { readonly now: Date },
): Promise<Secret> {
  if (sameData(place, secret)) return place;
  const annotations = { ...place.metadata.annotations, [keptAtAnnotation]: rfc3339(options.now) };
  const filled = { ...place, metadata: { ...place.metadata, annotations }, data: secret.data ?? {} };
  return client.replace(Secret, filled, { signal: options.signal });
}

/** Makes it immutable, once the other one was converted. */
export async function sealOldStub(client: Pick<Client, 'replace'>, kept: Secret, call: Call): Promise<void> {
  if (kept.immutable !== true) await client.replace(Secret, { ...kept, immutable: true }, call);
}

/** Whether an image of a set's history, newest first, was in use before the stub was converted at this time (RFC 3339): machines that start from it may understand Ignition 2 alone. */
export function isBefore(
  history: readonly HistoryEntry[],
  image: HistoryEntry,
  convertedAt: string | undefined,
): boolean {
  const converted = Date.parse(convertedAt ?? '');
  const began = ({ since = '' }: HistoryEntry): number => Date.parse(since);
  if (began(image) !== converted) return began(image) < converted;
  // These times have no fractions of a second: of images that came within one, only the newest may have come with the conversion, and the set had another one before.
  const newer = history.slice(0, history.indexOf(image));
  return image === history.at(-1) || newer.some((one) => began(one) === converted);
}

/** When a set first had an image, by its history, newest first; undefined where it has none such. */
export function firstUse(
  history: readonly HistoryEntry[] | undefined,
  { image, release, digest }: Pick<HistoryEntry, 'image' | 'release' | 'digest'>,
): HistoryEntry | undefined {
  return history?.findLast(
    (one) =>
      (image === undefined || image === one.image) &&
      (release === undefined || release === one.release) &&
      (digest === undefined || one.digest === undefined || digest === one.digest),
  );
}

function sameData(a: Secret, b: Secret): boolean {
  const text = ({ data = {} }: Secret): string =>
    JSON.stringify(Object.entries(data).toSorted(([one], [two]) => (one < two ? -1 : 1)));
  return text(a) === text(b);
}

function makingIt(of: string): string {
  if (of === 'worker-user-data') return 'make it: kubectl apply -k deploy/rbac/boot-images';
  if (of === 'master-user-data') return 'make it: kubectl apply -k deploy/rbac/control-plane';
  const name = oldStubName(of);
  return `make it: kubectl -n ${machineApiNamespace} create secret generic ${name} && kubectl -n ${machineApiNamespace} label secret ${name} ${oldStubLabel}=true`;
}

function notKept(of: string, why: string, nextStep: string, cause?: unknown): BootImageError {
  return new BootImageError(
    'OldStubNotKept',
    `the stub in secret ${of} is not converted: secret ${oldStubName(of)}, which is to keep what it says now, ${why}`,
    { retriable: isRetriable(cause), nextStep, ...(cause === undefined ? {} : { cause }) },
  );
}

function isRetriable(cause: unknown): boolean {
  return cause !== undefined && !isNotFound(cause) && !isForbidden(cause);
}
