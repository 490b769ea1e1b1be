import {
  applyDefaults,
  type Cause,
  type Crd,
  type CrdVersion,
  equal,
  isObject,
  type JsonObject,
  judge,
  type Loss,
  losses,
  pathText,
  project,
  prune,
  schemaHash,
} from '@drydock/crd';
import { isExpired, type KubeClient, type KubeObject, type Resource } from '@drydock/kube';

/** How the objects of a kind are held against the definition that is gone to. */
export interface KindWay {
  readonly resource: Resource<KubeObject>;
  /** As it is read now, with the target's schema beside it. */
  readonly live: CrdVersion;
  /** Of the target: what the object is read in, and what it is stored in. */
  readonly target: CrdVersion;
  readonly stored: CrdVersion;
  /** Nothing is pruned by the target. */
  readonly keepsAll: boolean;
  /** Of the target's schema. */
  readonly hash: string;
  readonly minor: number;
}

/** What has to be done about one object. */
export interface ObjectWay {
  /** A status that the target takes, too; undefined where the one that is stored is one. */
  readonly cut: { readonly status: JsonObject; readonly lost: readonly Loss[] } | undefined;
  /** What the target would prune outside the status. */
  readonly copies: readonly Loss[];
  /** What it still refuses after that. */
  readonly blocks: readonly Cause[];
}

/** Who judges the objects of a kind; undefined: no version of it can be read, or none that the target knows. */
export function kindWay(crd: Crd, target: Crd, minor: number): KindWay | undefined {
  const live =
    crd.versions.find(({ served, storage }) => served && storage) ?? crd.versions.find(({ served }) => served);
  const stored = target.versions.find(({ storage }) => storage);
  if (live === undefined || stored === undefined) return undefined;
  const next = target.versions.find(({ name }) => name === live.name) ?? stored;
  const { group, kind, plural, scope } = crd;
  const { schema } = next;
  return {
    resource: { group, version: live.name, kind, plural, scope },
    live: schema === undefined ? live : { ...live, also: [schema] },
    target: next,
    stored: target.conversion === 'Webhook' ? next : stored,
    keepsAll: target.preservesUnknownFields,
    hash: schemaHash(schema),
    minor,
  };
}

/** Holds one object against the target. Pure. */
export function objectWay(found: KubeObject, way: KindWay): ObjectWay {
  const { live, minor, resource } = way;
  const object = {
    ...(found as unknown as JsonObject),
    apiVersion: `${resource.group}/${resource.version}`,
    kind: resource.kind,
  } as JsonObject;
  const { status } = object;
  const legal = isObject(status) ? project(status, object, { live, minor }).status : undefined;
  const lost = isObject(status) && legal !== undefined ? losses(status, legal) : [];
  const rest = withoutHead(object);
  const blocks = refusals(legal === undefined ? object : { ...object, status: legal }, way);
  // What only a default adds need not be written; what the target requires must.
  const isCut =
    isObject(status) &&
    legal !== undefined &&
    !equal(status, legal) &&
    (lost.length > 0 || refusals(object, way).length > blocks.length);
  return {
    cut: isCut ? { status: legal, lost } : undefined,
    copies: way.keepsAll ? [] : losses(rest, withoutHead(pruned(object, way))),
    blocks,
  };
}

/** Whether the server that runs takes a status. */
export function isTaken(found: KubeObject, status: JsonObject, { live, minor }: KindWay): boolean {
  const { schema } = live;
  if (schema === undefined) return true;
  const next = { ...(found as unknown as JsonObject), status };
  const write = { endpoint: live.status ? 'status' : 'create', next, schema, hasStatus: live.status } as const;
  const stored = live.status ? { stored: found as unknown as JsonObject } : {};
  return judge({ ...write, ...stored, everyRule: true }, { era: 'E0', minor }).causes.length === 0;
}

/** As the target reads it after it was written under it. */
function pruned(object: JsonObject, { target, stored }: KindWay): JsonObject {
  let next: JsonObject = object;
  for (const { schema } of target === stored ? [target] : [target, stored]) {
    const cut = schema === undefined ? next : prune(next, schema).value;
    next = isObject(cut) ? cut : {};
  }
  return next;
}

/** Everything but what every object has, and the status. */
function withoutHead(object: JsonObject): JsonObject {
  const { apiVersion: _version, kind: _kind, metadata: _metadata, status: _status, ...rest } = object;
  return rest;
}

/** What a server that tolerates nothing would say to it. */
function refusals(object: JsonObject, way: KindWay): readonly Cause[] {
  const { schema } = way.target;
  if (schema === undefined) return [];
  const read = applyDefaults(pruned(object, way), schema);
  if (!isObject(read)) return [];
  const { causes } = judge(
    { endpoint: 'create', next: read, schema, hasStatus: false, everyRule: true },
    { era: 'E0', minor: way.minor },
  );
  return causes.filter(({ keyword }) => keyword !== 'unchecked');
}

/** Where and why, for people. */
export function refusalText({ path, message }: Cause): { readonly path: string; readonly why: string } {
  return { path: pathText(path), why: message };
}

/** `NAMESPACE/NAME`, or `NAME`. */
export function objectName({ metadata: { name, namespace } }: KubeObject): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}

const RESTARTS = 3;

/** Every object of a kind, in pages; after an expired list from its beginning, so that some come twice. Rejects with `ApiError`. */
export async function* objectsOf(
  client: Pick<KubeClient, 'pages'>,
  resource: Resource<KubeObject>,
  signal: AbortSignal,
): AsyncGenerator<KubeObject, void> {
  for (let restarts = 0; ; restarts += 1) {
    try {
      for await (const { items } of client.pages(resource, {}, { signal })) yield* items;
      return;
    } catch (error) {
      if (!isExpired(error) || restarts === RESTARTS) throw error;
    }
  }
}
