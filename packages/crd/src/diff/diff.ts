import { equal, type Json } from '../schema/json.ts';
import type { Crd, CrdVersion, Schema } from '../schema/schema.ts';
import { diffNode } from './diff-node.ts';
import type { Effect, RuleId, Step } from './step.ts';

/** What two definitions of one resource differ in, worst first. */
export interface Diff {
  readonly crd: string;
  readonly steps: readonly Step[];
}

/** Order of steps: what stops somebody first. */
const ORDER: readonly Effect[] = ['narrows', 'undecided', 'shifts', 'widens'];

/**
 * All differences when `b` takes the place of `a`, each with its class. What narrows in one direction widens in the other, so `diff(b, a)` is the way back. Undefined stands for
 * a definition that is not there.
 */
export function diff(a: Crd | undefined, b: Crd | undefined): Diff {
  const crd = a?.name ?? b?.name ?? '';
  if (a === undefined || b === undefined) {
    if (a === undefined && b === undefined) return { crd, steps: [] };
    const what =
      b === undefined
        ? 'definition is absent: it stays behind without an owner, or is deleted with its objects'
        : 'definition is new';
    return { crd, steps: [definition('N32', b === undefined ? 'shifts' : 'widens', 'definition', what)] };
  }
  const steps = [...diffDefinition(a, b)];
  for (const version of a.versions) {
    const after = b.versions.find(({ name }) => name === version.name);
    if (!isLive(version)) steps.push(...diffDead(version, after, a));
    else if (after !== undefined) steps.push(...diffVersion(version, after, a, b));
  }
  steps.push(...diffAcross(a, b, steps));
  return { crd, steps: steps.toSorted((x, y) => ORDER.indexOf(x.effect) - ORDER.indexOf(y.effect)) };
}

/** Steps that are done late (narrowing) and those that are done early (widening); what is neither belongs to both. */
export function split({ steps }: Diff): { readonly widening: readonly Step[]; readonly narrowing: readonly Step[] } {
  return {
    widening: steps.filter(({ effect }) => effect === 'widens'),
    narrowing: steps.filter(({ effect }) => effect !== 'widens'),
  };
}

function definition(rule: RuleId, effect: Effect, keyword: string, what: string, version = ''): Step {
  return { rule, effect, version, path: '', half: 'definition', keyword, what };
}

function diffDefinition(a: Crd, b: Crd): readonly Step[] {
  const steps: Step[] = [];
  for (const field of ['scope', 'group', 'kind', 'plural'] as const)
    if (a[field] !== b[field])
      steps.push(definition('N31', 'narrows', field, `${field} ${a[field]} → ${b[field]}: no server changes it`));
  const served = (of: Crd): readonly string[] => of.versions.flatMap((one) => (one.served ? [one.name] : []));
  for (const version of served(a))
    if (!served(b).includes(version))
      steps.push(definition('N24', 'narrows', 'served', `${version} is no longer served`, version));
  for (const version of served(b))
    if (!served(a).includes(version))
      steps.push(definition('N24', 'widens', 'served', `${version} is served`, version));
  steps.push(...diffStorage(a, b));
  if (a.conversion !== b.conversion) {
    const what = `conversion ${a.conversion} → ${b.conversion}`;
    steps.push(definition('N27', b.conversion === 'Webhook' ? 'narrows' : 'undecided', 'conversion', what));
  }
  if (a.preservesUnknownFields !== b.preservesUnknownFields) {
    const effect = b.preservesUnknownFields ? 'widens' : 'narrows';
    steps.push(
      definition('N13', effect, 'preserveUnknownFields', `preserveUnknownFields → ${b.preservesUnknownFields}`),
    );
  }
  return steps;
}

function diffStorage(a: Crd, b: Crd): readonly Step[] {
  const storage = (of: Crd): string => of.versions.find((one) => one.storage)?.name ?? '';
  const names = new Set(b.versions.map(({ name }) => name));
  const stored = new Set([...a.storedVersions, storage(a)]);
  const lost = [...stored].filter((name) => name !== '' && !names.has(name));
  if (lost.length > 0) {
    const what = `${lost.join(', ')} is stored and absent: a server refuses the definition`;
    return [definition('N25', 'narrows', 'versions', what)];
  }
  if (storage(a) === storage(b)) return [];
  return [definition('N26', 'shifts', 'storage', `storage ${storage(a)} → ${storage(b)}`)];
}

/** A version that is neither served nor stored nobody reads or writes. */
function isLive({ served, storage }: CrdVersion): boolean {
  return served || storage;
}

/** Its schema is compared with none. It matters only where objects are left that were stored in it: `storedVersions` tells, and a file mostly has none. */
function diffDead(version: CrdVersion, after: CrdVersion | undefined, { storedVersions }: Crd): readonly Step[] {
  const { name, schema } = version;
  const mayBeStored = storedVersions.length === 0 || storedVersions.includes(name);
  // One that is stored and goes is told as that.
  const isTold = after === undefined && storedVersions.includes(name);
  if (!mayBeStored || isTold || (after !== undefined && equal(schema as Json, after.schema as Json))) return [];
  const why = `${name} is neither served nor stored, and was not compared`;
  const what =
    after === undefined
      ? `${why}: a server refuses the definition while status.storedVersions lists ${name}`
      : `${why}: it counts only while status.storedVersions lists ${name}`;
  return [definition('N25', 'shifts', 'versions', what, name)];
}

/**
 * Between versions of different names. Without a webhook all versions are one, but for their name: objects of a version that goes are read in the version that is stored then. Where another version is stored than now, what is
 * stored is pruned by the schema of that one, and whoever writes through it is judged by it. What `told` says of that version already is not said again.
 */
function diffAcross(a: Crd, b: Crd, told: readonly Step[]): readonly Step[] {
  const stored = (of: Crd): CrdVersion | undefined => of.versions.find((one) => one.storage);
  const [from, to] = [stored(a), stored(b)];
  const gone = a.versions.filter((version) => isLive(version) && !b.versions.some(({ name }) => name === version.name));
  const moved = from !== undefined && to !== undefined && from.name !== to.name && !gone.includes(from) ? [from] : [];
  const known = new Set(told.filter(({ version }) => version === to?.name).map(textOf));
  return [...gone, ...moved].flatMap((version): readonly Step[] => {
    const name = `${version.name} → ${to?.name}`;
    if (to === undefined) return [];
    if (a.conversion === 'Webhook' || b.conversion === 'Webhook') {
      const what = `what becomes of objects of ${version.name} in ${to.name} only the conversion webhook knows`;
      return [definition('N27', 'undecided', 'conversion', what, name)];
    }
    const steps = diffNode(keptBy(version.schema, a), keptBy(to.schema, b), { version: name, path: [] });
    if (gone.includes(version)) return steps;
    // Whoever goes on with the version of now finds it as it was.
    return steps.filter(
      (step) => (step.effect === 'narrows' || step.effect === 'undecided') && !known.has(textOf(step)),
    );
  });
}

function textOf({ effect, path, rule, what }: Step): string {
  return [effect, rule, path, what].join('\n');
}

/** What everything is legal for: a version without a schema. */
const ANYTHING: Schema = { 'x-kubernetes-preserve-unknown-fields': true };

function diffVersion(a: CrdVersion, b: CrdVersion, ofA: Crd, ofB: Crd): readonly Step[] {
  const steps: Step[] = [];
  if (a.status !== b.status) {
    const [rule, what]: [RuleId, string] = b.status
      ? ['N30', 'status becomes a subresource: a write of the object drops it']
      : ['N29', 'status is no subresource any more: /status answers 404'];
    steps.push(definition(rule, 'narrows', 'subresources.status', what, a.name));
  }
  if (a.scale && !b.scale) steps.push(definition('N34', 'narrows', 'subresources.scale', '/scale goes', a.name));
  if (!a.scale && b.scale) steps.push(definition('N34', 'widens', 'subresources.scale', '/scale is new', a.name));
  const lost = a.selectable.filter((path) => !b.selectable.includes(path));
  const gained = b.selectable.filter((path) => !a.selectable.includes(path));
  if (lost.length > 0)
    steps.push(
      definition('N34', 'narrows', 'selectableFields', `field selectors on ${lost.join(', ')} answer 400`, a.name),
    );
  if (gained.length > 0)
    steps.push(definition('N34', 'widens', 'selectableFields', `field selectors on ${gained.join(', ')}`, a.name));
  steps.push(...diffNode(keptBy(a.schema, ofA), keptBy(b.schema, ofB), { version: a.name, path: [] }));
  return steps;
}

function keptBy(schema: Schema | undefined, { preservesUnknownFields }: Crd): Schema {
  return preservesUnknownFields ? { ...schema, ...ANYTHING } : (schema ?? ANYTHING);
}
