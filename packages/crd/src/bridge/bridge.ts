import type { RuleId } from '../diff/step.ts';
import type { Json, JsonObject } from '../schema/json.ts';
import { readCrd } from '../schema/read-crd.ts';
import type { Crd, CrdVersion, Schema } from '../schema/schema.ts';
import { type BridgeNote, bridgeNode, type Merge, shortRule, type Unbridged } from './bridge-node.ts';
import { foreignDefaults } from './foreign-defaults.ts';
import { keptDefaults } from './kept-defaults.ts';
import { ANYTHING } from './lost-places.ts';
import { objections } from './proof.ts';
import { withRoom } from './rule-room.ts';
import { finds, type Stores, storageVersion, storedBy } from './storage-version.ts';
import { bridgeVersion, rawVersion, withinSize } from './version.ts';

/** A definition under which both neighbours can write. */
export interface Bridge {
  /** undefined: something cannot be bridged, see `unbridged`. */
  readonly crd: Crd | undefined;
  /** What stands in the way. */
  readonly unbridged: readonly Unbridged[];
  /** What only a person can decide: whether a webhook converts without a loss. */
  readonly doubts: readonly Unbridged[];
  /** Where it is looser than both, and what has to be done before it is taken away. */
  readonly notes: readonly BridgeNote[];
}

/**
 * A definition between an older and a newer one: what is legal in either is legal in it, and what either knows is not pruned, whichever version it is written and read through. It has all versions of both, and stores one that both have, so that a server
 * takes either of them afterwards. Where nothing converts, all versions that are served have one schema. It is put before operators change and taken away when every object conforms to the release that stays. Held against
 * both before it is returned. `stores`: where no version keeps both ways open, that of this release is stored, and the way to the other one begins with the bridge that stores as that one does.
 */
export function bridge(old: Crd, now: Crd, { stores }: { readonly stores?: Stores } = {}): Bridge {
  const unbridged: Unbridged[] = [...strangers(old, now)];
  const notes: BridgeNote[] = [];
  const open = storageVersion(old, now);
  const storage = 'rule' in open && stores !== undefined ? storageVersion(old, now, stores) : open;
  if ('rule' in storage) unbridged.push(storage);
  const names = [...new Set([...now.versions, ...old.versions].map(({ name }) => name))];
  const isStored = (name: string): boolean => 'name' in storage && name === storage.name;
  const live = names.filter((name) => isStored(name) || [find(old, name), find(now, name)].some(isLive));
  const schemas = new Map<string, Schema>();
  for (const name of names) {
    const [a, b] = [find(old, name), find(now, name)];
    if (a !== undefined && b !== undefined && a.status !== b.status)
      unbridged.push({
        rule: a.status ? 'N29' : 'N30',
        version: name,
        path: '',
        why: 'a status is a subresource or it is none',
      });
    const merge = { version: name, unbridged, notes, across: false };
    // Of what nobody writes any more nothing is refused.
    schemas.set(
      name,
      fold([a, b].flatMap(schemaOf), live.includes(name) ? merge : { ...merge, notes: [], across: true }),
    );
  }
  if (unbridged.length > 0 || 'rule' in storage) return { crd: undefined, unbridged, doubts: [], notes: [] };
  const converts = now.conversion === 'Webhook';
  // The stored one first: its defaults hold.
  const ordered = [storage.name, ...live.filter((name) => name !== storage.name)];
  const label = { version: ordered.join(', '), unbridged, notes, across: true };
  const common = converts
    ? undefined
    : fold(
        ordered.flatMap((name) => schemas.get(name) ?? []),
        label,
      );
  const roomy = new Map<Schema, Schema>();
  const taken = (of: readonly string[]): readonly Schema[] =>
    of.flatMap((name) => [find(old, name), find(now, name)].flatMap(schemaOf));
  const versions = names.map((name): JsonObject => {
    const isCommon = common !== undefined && live.includes(name);
    const wide = isCommon ? common : (schemas.get(name) ?? ANYTHING);
    let schema = roomy.get(wide);
    if (schema === undefined) {
      const { left, schema: next } = withRoom(wide, taken(isCommon ? ordered : [name]));
      const version = isCommon ? label.version : name;
      for (const { path, rule } of left)
        notes.push({ version, path, what: `${shortRule(rule)}: left out, no server would take what it may cost here` });
      schema = next;
      roomy.set(wide, next);
    }
    return bridgeVersion([find(old, name), find(now, name)], [rawVersion(old, name), rawVersion(now, name)], {
      schema,
      storage: isStored(name),
    });
  });
  const { status: _status, ...manifest } = now.manifest;
  const spec = manifest['spec'] as JsonObject;
  const crd = readCrd(
    { ...manifest, metadata: metadataOf(now), spec: { ...spec, versions: withinSize(versions) } },
    'bridge',
  );
  const { doubts, stops } = objections(old, now, crd, storage === open ? undefined : stores);
  if (stops.length > 0) return { crd: undefined, unbridged: stops, doubts, notes: [] };
  const foreign = [...foreignDefaults(crd, old, 'older'), ...foreignDefaults(crd, now, 'newer')];
  const told = [...notes, ...foreign, ...keptDefaults(crd, old, now), ...migrations(old, now, storage.name)];
  return { crd, unbridged: [], doubts, notes: told };
}

/** A definition that only one release has, as a server takes it. */
export function carriedOver(crd: Crd): Crd {
  const { status: _status, ...manifest } = crd.manifest;
  return readCrd({ ...manifest, metadata: metadataOf(crd) }, 'bridge');
}

function strangers(old: Crd, now: Crd): readonly Unbridged[] {
  const stop = (rule: RuleId, why: string): Unbridged => ({ rule, version: '', path: '', why });
  const fields = (['name', 'scope', 'group', 'kind', 'plural'] as const).filter((field) => old[field] !== now[field]);
  const names = fields.map((field) => stop('N31', `${field} ${old[field]} and ${now[field]} cannot both be served`));
  return old.conversion === now.conversion
    ? names
    : [...names, stop('N27', `conversion ${old.conversion} and ${now.conversion}: the webhook must outlive both`)];
}

function fold([first = ANYTHING, ...rest]: readonly Schema[], merge: Merge): Schema {
  return rest.reduce((wide, schema) => bridgeNode(wide, schema, [], merge), first);
}

/** A version without a schema takes anything; a server of today wants that to be said. */
function schemaOf(version: CrdVersion | undefined): readonly Schema[] {
  return version === undefined ? [] : [version.schema ?? { type: 'object', ...ANYTHING }];
}

function isLive(version: CrdVersion | undefined): boolean {
  return version?.served === true || version?.storage === true;
}

/** What has to be done before a release that does not know a stored version, or loses something when it reads it, is put. */
function migrations(old: Crd, now: Crd, stored: string): readonly BridgeNote[] {
  const sides = [
    { from: now, to: old, release: 'older' },
    { from: old, to: now, release: 'newer' },
  ];
  return sides.flatMap(({ from, release, to }): readonly BridgeNote[] => {
    const isKnown = finds(to, stored);
    const names = [...from.storedVersions, storedBy(from)?.name ?? '', ...(isKnown ? [] : [stored])];
    const others = [...new Set(names)].filter((name) => name !== '' && (!isKnown || find(to, name) === undefined));
    const gone = others.filter((name) => find(to, name) === undefined);
    if (isKnown && gone.length === 0) return [];
    const last = isKnown ? stored : storedBy(to)?.name;
    const first = isKnown ? '' : `put the bridge of --store ${release}, `;
    const trim = gone.length === 0 ? '' : `, and take ${gone.join(', ')} out of status.storedVersions`;
    const what = `before the ${release} release is put: ${first}write every object once, which stores it as ${last}${trim}`;
    return [{ version: '', path: '', what }];
  });
}

function find(crd: Crd, name: string): CrdVersion | undefined {
  return crd.versions.find((version) => version.name === name);
}

/** Where an applied manifest is kept for kubectl: another one is applied now. */
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

/** Name, labels and annotations; what a server filled in would make it refuse the document. */
function metadataOf({ manifest }: Crd): JsonObject {
  const metadata = (manifest['metadata'] ?? {}) as JsonObject;
  const { [LAST_APPLIED]: _applied, ...annotations } = (metadata['annotations'] ?? {}) as JsonObject;
  const kept = ['name', 'labels'].flatMap((key): readonly (readonly [string, Json])[] =>
    metadata[key] === undefined ? [] : [[key, metadata[key]]],
  );
  return { ...Object.fromEntries(kept), ...(Object.keys(annotations).length === 0 ? {} : { annotations }) };
}
