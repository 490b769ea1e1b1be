import type { JsonObject } from '@drydock/crd';
import { idText, type Manifest, type ObjectId } from '@drydock/release';
import type { AuditedCall } from '@drydock/release/testing';

/** When something was looked at: after the first release, after the second, and after its manager came back to what people had changed. */
export type Stage = 'install' | 'update' | 'hold';

/** What a manager has made of a release, at one stage. */
export interface Observed {
  /** Live objects of everything that either release names; undefined: it is not there. */
  readonly objects: ReadonlyMap<ObjectId, JsonObject | undefined>;
  /** ClusterVersion. */
  readonly wish: JsonObject;
  /** Writes that were taken in this stage, in the manager's names, in their order. */
  readonly writes: readonly AuditedCall[];
  /** The same of all stages. */
  readonly allWrites: readonly AuditedCall[];
}

/** Something that one manager does otherwise. `–`: not at all. */
export interface Found {
  readonly stage: Stage;
  /** `ConfigMap shop/settings`, `ClusterVersion version`, `order`, or `besides`. */
  readonly subject: string;
  readonly place: string;
  readonly upstream: string;
  readonly ours: string;
}

/** For what is not there. */
const NOTHING = '–';

/** Everything that differs between two managers at a stage, and how much was compared. `manifests`: of both releases. */
export function differencesBetween(
  stage: Stage,
  upstream: Observed,
  ours: Observed,
  manifests: readonly Manifest[],
): { readonly found: readonly Found[]; readonly facts: number; readonly orders: number } {
  const orders = ordersOf(stage, upstream, ours, manifests);
  const left = new Map([...factsOf(upstream), ...orders.upstream]);
  const right = new Map([...factsOf(ours), ...orders.ours]);
  const keys = [...new Set([...left.keys(), ...right.keys()])];
  const found = keys.flatMap((key): readonly Found[] => {
    const [subject = '', place = ''] = key.split('\t');
    const values = { upstream: left.get(key) ?? NOTHING, ours: right.get(key) ?? NOTHING };
    return values.upstream === values.ours ? [] : [{ stage, subject, place, ...values }];
  });
  return { found, facts: keys.length, orders: orders.upstream.size };
}

type Facts = Map<string, string>;

function factsOf({ allWrites, objects, wish, writes }: Observed): Facts {
  const facts: Facts = new Map();
  const brought = new Set<string>();
  for (const [id, live] of objects) {
    const subject = idText(id);
    brought.add(whereIs(id));
    if (live !== undefined) leaves(facts, subject, '', contentOf(id, live));
    const verbs = writes.filter((call) => whereOf(call) === whereIs(id)).map(({ verb }) => verb);
    // How often somebody looks is another matter.
    const distinct = verbs.filter((verb, at) => verb !== verbs[at - 1]);
    if (distinct.length > 0) facts.set(`${subject}\twrites`, distinct.join(', '));
  }
  for (const call of allWrites) {
    if (brought.has(whereOf(call))) continue;
    const { group, namespace, name, resource } = call;
    const kind = group === '' ? resource : `${resource}.${group}`;
    // Each Event has a name of its own.
    const which = [namespace, resource === 'events' ? '' : name].filter((one) => one !== '').join('/');
    facts.set(`besides\t${kind} ${which}`, 'written');
  }
  const { metadata, status } = wish as unknown as {
    readonly metadata: { readonly generation: number };
    readonly status: Status;
  };
  const { conditions = [], history = [], observedGeneration, ...rest } = status;
  const told = {
    ...rest,
    isAboutWhatIsWanted: observedGeneration === metadata.generation,
    history: history as unknown as JsonObject,
    conditions: Object.fromEntries(conditions.map(({ type, ...more }) => [type, more])) as unknown as JsonObject,
  };
  leaves(facts, 'ClusterVersion version', '', told as unknown as JsonObject);
  return facts;
}

interface Status {
  readonly observedGeneration?: number;
  readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  readonly history?: readonly unknown[];
}

/** What a manager decides of an object: not what the server counts, allocates or fills in from elsewhere. */
function contentOf({ kind }: ObjectId, live: JsonObject): JsonObject {
  const { metadata = {}, status = {}, apiVersion: _version, kind: _kind, ...content } = live as Loose;
  const { labels, annotations, ownerReferences, finalizers } = metadata as Loose;
  const { clusterIP: _ip, clusterIPs: _ips, ...spec } = (content['spec'] ?? {}) as Loose;
  const related = kind === 'ClusterOperator' ? { status: { relatedObjects: (status as Loose)['relatedObjects'] } } : {};
  return {
    ...content,
    ...(content['spec'] === undefined ? {} : { spec }),
    ...{ metadata: { labels, annotations, ownerReferences, finalizers }, ...related },
  } as unknown as JsonObject;
}

type Loose = Readonly<Record<string, unknown>>;

function leaves(facts: Facts, subject: string, place: string, value: unknown): void {
  if (value === undefined) return;
  if (typeof value !== 'object' || value === null || Object.keys(value).length === 0) {
    facts.set(`${subject}\t${place}`, stable(typeof value === 'string' ? value : JSON.stringify(value)));
    return;
  }
  for (const [key, inner] of Object.entries(value)) {
    const name = Array.isArray(value) ? `[${key}]` : key.includes('.') ? `[${key}]` : place === '' ? key : `.${key}`;
    leaves(facts, subject, `${place}${name}`, inner);
  }
}

/** Without what is another one at each run. */
function stable(text: string): string {
  return text
    .replaceAll(/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g, 'UID')
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
    .replaceAll(/127\.0\.0\.1:\d+|sha256:[0-9a-f]{64}/g, '…');
}

/**
 * In which order what both write is written for the first time. An update goes through runlevels, so those follow each other; within a runlevel components are beside each other, so that only what is in one component has an
 * order. A first installation and a hold keep no more than the latter.
 */
function ordersOf(
  stage: Stage,
  upstream: Observed,
  ours: Observed,
  manifests: readonly Manifest[],
): { readonly upstream: Facts; readonly ours: Facts } {
  const places = new Map(manifests.map((manifest) => [whereIs(manifest.id), manifest]));
  const firsts = ({ writes }: Observed): readonly string[] => [...new Set(writes.map(whereOf))];
  const others = { upstream: new Set(firsts(ours)), ours: new Set(firsts(upstream)) };
  const orderOf = (observed: Observed, both: ReadonlySet<string>): Facts => {
    const facts: Facts = new Map();
    const levels = new Set<string>();
    const add = (place: string, text: string): void => {
      const key = `order\t${place}`;
      facts.set(key, facts.has(key) ? `${facts.get(key)} → ${text}` : text);
    };
    for (const at of firsts(observed)) {
      const manifest = places.get(at);
      if (manifest?.place === undefined || !both.has(at)) continue;
      const { runlevel, component } = manifest.place;
      if (stage === 'update' && !levels.has(runlevel)) add('runlevels', runlevel);
      levels.add(runlevel);
      if (stage !== 'hold') add(`${runlevel} ${component}`, `${manifest.id.kind} ${manifest.id.name}`);
    }
    return facts;
  };
  return { upstream: orderOf(upstream, others.upstream), ours: orderOf(ours, others.ours) };
}

function whereIs({ group, kind, namespace, name }: ObjectId): string {
  return [group, pluralOf(kind), name, namespace].join(' ');
}

function whereOf({ group, resource, namespace, name }: AuditedCall): string {
  const plural = resource.split('/')[0] ?? '';
  // The log has a namespace as being in itself.
  return [group, plural, name, plural === 'namespaces' ? '' : namespace].join(' ');
}

/** Of the kinds in these releases. */
export function pluralOf(kind: string): string {
  return `${kind.toLowerCase()}${kind.endsWith('s') ? 'es' : 's'}`;
}
