import { setTimeout as delay } from 'node:timers/promises';
import {
  applyDefaults,
  type Crd,
  CrdError,
  type CrdVersion,
  equal,
  isObject,
  isSameLoss,
  type JsonObject,
  judge,
  type Ledger,
  type LedgerEntry,
  type Loss,
  losses,
  project,
  prune,
  readCrd,
  readRollbackMarker,
  recall,
} from '@drydock/crd';
import { isConflict, isNotFound, type KubeClient, type KubeObject, type Resource } from '@drydock/kube';
import { clusterEra } from '@drydock/preflight';
import { DEFINITION, definitionsIn } from './definitions.ts';
import type { KeptOfKind, KeptValues } from './kept-values.ts';
import type { RollbackEnd } from './wish.ts';

/** What came back of what a way back had left out. */
export interface RestoredValues {
  /** Values that are in their objects again. */
  readonly restored: number;
  /** Values that the definitions of today still cannot hold; they stay where they are kept. */
  readonly kept: number;
}

/** What is needed to put values back. */
export interface RestorePorts {
  readonly client: KubeClient;
  readonly kept: KeptValues;
  /** The release that is there: only of kinds that it defines anything is put back. What is kept of others is the business of whoever brings those, and of his rights. */
  readonly of: Pick<RollbackEnd, 'manifests'>;
  readonly signal: AbortSignal;
}

const CONFLICTS = 5;
/** Tries while a server cuts what its new definition holds, and ms between two. */
const MOST_CUTS = 40;
const CUT_AGAIN = 250;

/** Puts back what the live definitions of a release can hold of what is kept. Kinds that somebody is going back with are left alone. Rejects with `ApiError`. */
export async function restoreKept({ client, kept, of: release, signal }: RestorePorts): Promise<RestoredValues> {
  const counts = { restored: 0, kept: 0 };
  const own = new Set(definitionsIn(release).map(({ id }) => id.name));
  const names = (await kept.definitions(signal)).filter((name) => own.has(name));
  if (names.length === 0) return counts;
  const { minor } = (await clusterEra(client, { signal })).server;
  for (const name of names) {
    const definition = await client.get(DEFINITION, { name }, { signal }).catch(absent);
    if (definition === undefined || readRollbackMarker(definition) !== undefined) continue;
    const crd = readable(definition);
    const live = crd?.versions.find(({ served, storage }) => served && storage);
    if (crd === undefined || live === undefined) continue;
    const { group, kind, plural, scope } = crd;
    const resource = { group, version: live.name, kind, plural, scope };
    const of = kept.of(crd);
    for (const subject of await of.subjects()) {
      const done = await restoreObject(subject, { client, signal, of, live, resource, minor });
      counts.restored += done.restored;
      counts.kept += done.kept;
    }
  }
  return counts;
}

interface Restoring {
  readonly client: KubeClient;
  readonly signal: AbortSignal;
  readonly of: KeptOfKind;
  readonly live: CrdVersion;
  readonly resource: Resource<KubeObject>;
  readonly minor: number;
}

async function restoreObject(
  subject: { readonly uid: string; readonly object: string },
  restoring: Restoring,
): Promise<RestoredValues> {
  const rest = await restoreHalf(subject, restoring, restoring.of.rest, restOf, writeRest);
  const status = await restoreHalf(subject, restoring, restoring.of.status, statusOf, writeStatus);
  return { restored: rest.restored + status.restored, kept: rest.kept + status.kept };
}

/** One half of an object, with what is kept of it, as the live definition takes it; undefined: it takes none of it. */
type Half = (
  found: KubeObject,
  entries: readonly LedgerEntry[],
  restoring: Restoring,
) => { readonly stored: JsonObject; readonly meant: JsonObject; readonly legal: JsonObject } | undefined;
/** Resolves to the half as the server has stored it. */
type Write = (found: KubeObject, half: JsonObject, restoring: Restoring) => Promise<JsonObject>;

/** Whether what is lost is what is kept, or in it, or around it. */
function isWithin(loss: Loss, entry: LedgerEntry): boolean {
  if (isSameLoss(loss, entry)) return true;
  const shorter = Math.min(loss.at.length, entry.at.length);
  return loss.at.slice(0, shorter).every((part, at) => typeof part === 'number' || part === entry.at[at]);
}

async function restoreHalf(
  { uid, object }: { readonly uid: string; readonly object: string },
  restoring: Restoring,
  ledger: Ledger,
  half: Half,
  write: Write,
): Promise<RestoredValues> {
  const { client, resource, signal } = restoring;
  const [name = '', namespace] = object.split('/').toReversed();
  let cuts = 0;
  for (let conflicts = 0; ; ) {
    const view = await ledger.view(uid, true);
    if (view.entries.length === 0) return { restored: 0, kept: 0 };
    const key = namespace === undefined ? { name } : { name, namespace };
    const found = await client.get(resource, key, { signal }).catch(absent);
    // Of another object of this name nothing is known.
    if (found === undefined || found.metadata.uid !== uid) return { restored: 0, kept: 0 };
    const next = half(found, view.entries, restoring);
    if (next === undefined) return { restored: 0, kept: view.entries.length };
    const subject = { uid, object, resourceVersion: found.metadata.resourceVersion ?? '' };
    let now = next.legal;
    try {
      if (!equal(next.stored, next.legal)) now = await write(found, next.legal, restoring);
    } catch (error) {
      if (!isConflict(error)) throw error;
      if (conflicts === CONFLICTS) return { restored: 0, kept: view.entries.length };
      conflicts += 1;
      continue;
    }
    // A server that does not serve the new definition yet takes the write and cuts the value.
    if (losses(next.legal, now).length > 0 && cuts < MOST_CUTS) {
      cuts += 1;
      await delay(CUT_AGAIN, undefined, { signal });
      continue;
    }
    const left = losses(next.meant, now);
    const stays = view.entries.filter((entry) => left.some((loss) => isWithin(loss, entry)));
    await ledger.shrink(subject, view, stays);
    return { restored: view.entries.length - stays.length, kept: stays.length };
  }
}

function statusOf(found: KubeObject, entries: readonly LedgerEntry[], { live, minor }: Restoring): ReturnType<Half> {
  const object = found as unknown as JsonObject;
  const stored = isObject(object['status']) ? object['status'] : {};
  const meant = recall(stored, entries, live.schema);
  return { stored, meant, legal: project(meant, object, { live, minor }).status };
}

function restOf(found: KubeObject, entries: readonly LedgerEntry[], { live, minor }: Restoring): ReturnType<Half> {
  const object = found as unknown as JsonObject;
  const stored = withoutHead(object);
  const meant = recall(stored, entries);
  const { schema } = live;
  if (schema === undefined) return { stored, meant, legal: meant };
  const cut = prune({ ...object, ...meant }, schema).value;
  const next = applyDefaults(cut, schema);
  if (!isObject(next) || !isObject(cut)) return undefined;
  const { causes } = judge(
    { endpoint: 'main', next, stored: object, schema, hasStatus: live.status, everyRule: true },
    { era: 'E0', minor },
  );
  return causes.length > 0 ? undefined : { stored, meant, legal: withoutHead(cut) };
}

async function writeStatus(found: KubeObject, status: JsonObject, { client, live, resource, signal }: Restoring) {
  const next = { ...found, status } as KubeObject;
  const stored = await (live.status
    ? client.replaceStatus(resource, next, { signal })
    : client.replace(resource, next, { signal }));
  const { status: now } = stored as unknown as JsonObject;
  return isObject(now) ? now : {};
}

async function writeRest(found: KubeObject, rest: JsonObject, { client, resource, signal }: Restoring) {
  const stored = await client.replace(resource, { ...found, ...rest } as KubeObject, { signal });
  return withoutHead(stored as unknown as JsonObject);
}

function withoutHead(object: JsonObject): JsonObject {
  const { apiVersion: _version, kind: _kind, metadata: _metadata, status: _status, ...rest } = object;
  return rest;
}

function readable(definition: KubeObject): Crd | undefined {
  try {
    return readCrd({ kind: DEFINITION.kind, ...definition } as never, 'the cluster');
  } catch (error) {
    if (!(error instanceof CrdError)) throw error;
    return undefined;
  }
}

function absent(error: unknown): undefined {
  if (!isNotFound(error)) throw error;
  return undefined;
}
