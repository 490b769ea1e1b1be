import { schemaAt } from '../diff/cause-rule.ts';
import { diff } from '../diff/diff.ts';
import { CLASS_MEANINGS, type Finding, sampleOf } from '../diff/finding.ts';
import { equal, isObject, type JsonObject, textOf } from '../schema/json.ts';
import type { Crd, CrdVersion } from '../schema/schema.ts';
import { defaultOf } from '../validate/defaults.ts';
import { preflightCrd } from './preflight-crd.ts';
import { type PreflightOptions, preflightObject, type Sides } from './preflight-object.ts';

/** The judge of one kind: objects stream through it, none is kept. */
export interface KindJudge {
  readonly crd: string;
  /** Verdicts about the definition. */
  readonly findings: readonly Finding[];
  /** Whether the target differs from what is there. */
  readonly changes: boolean;
  /** Verdicts about one object, as the live server shows it in any of its versions. */
  judge(object: JsonObject): readonly Finding[];
}

/** Prepares the judgement of a kind. Undefined is a definition that the target lacks: its objects are orphans, and nothing else happens to them. */
export function judgeKind(now: Crd, target: Crd | undefined, options: PreflightOptions): KindJudge {
  const { steps } = diff(now, target);
  const findings = preflightCrd(steps, now, target, options);
  const changes = steps.length > 0;
  if (target === undefined) return { crd: now.name, changes, findings, judge: () => [] };
  const stored = converted(now, target);
  const isStored = storedValues(now);
  return {
    crd: now.name,
    changes,
    findings,
    judge: (object) => {
      const listed = versionOf(object, now);
      const next = target.versions.find(({ name }) => name === listed?.name) ?? stored;
      if (listed === undefined || next === undefined) return [unconvertible(object, now, target, options)];
      const read = next.name === listed.name ? object : { ...object, apiVersion: `${target.group}/${next.name}` };
      const sides = { crd: now.name, now: listed, target: next, isStored };
      const storage = stored === undefined || stored === next ? {} : { storage: stored };
      return preflightObject(read, { ...sides, ...storage }, options);
    },
  };
}

/**
 * Whether a value that equals a default is stored all the same. It is where the object was written later than the definition: a server fills in the defaults of the version that somebody writes in, and stores them. Both
 * revisions are counted by one etcd.
 */
function storedValues(crd: Crd): Sides['isStored'] {
  const since = revisionOf(crd.manifest);
  const served = crd.versions.filter((version) => version.served);
  return (object, path, value) =>
    revisionOf(object) > since &&
    served.every(({ schema }) => equal(defaultOf(schemaAt(schema ?? {}, path)?.schema), value));
}

/** NaN where it is not known, and then nothing is later or earlier. */
function revisionOf(object: JsonObject): number {
  const { resourceVersion } = isObject(object['metadata']) ? object['metadata'] : {};
  return Number.parseInt(textOf(resourceVersion), 10);
}

/** All verdicts of objects and definitions that are at hand; see {@link judgeKind} for those that stream. */
export function preflight(
  objects: readonly JsonObject[],
  now: readonly Crd[],
  target: readonly Crd[],
  options: PreflightOptions,
): readonly Finding[] {
  return now.flatMap((crd) => {
    const kind = judgeKind(
      crd,
      target.find(({ name }) => name === crd.name),
      options,
    );
    const own = objects.filter(
      (object) => object['kind'] === crd.kind && textOf(object['apiVersion']).split('/')[0] === crd.group,
    );
    return [...kind.findings, ...own.flatMap((object) => kind.judge(object))];
  });
}

function versionOf(object: JsonObject, crd: Crd): CrdVersion | undefined {
  const name = textOf(object['apiVersion']).split('/')[1];
  return crd.versions.find((version) => version.name === name) ?? crd.versions.find(({ storage }) => storage);
}

/** Without a webhook all versions are one, but for their name. */
function converted(now: Crd, target: Crd): CrdVersion | undefined {
  if (now.conversion === 'Webhook' || target.conversion === 'Webhook') return undefined;
  return target.versions.find(({ storage }) => storage);
}

function unconvertible(object: JsonObject, now: Crd, target: Crd, options: PreflightOptions): Finding {
  const { namespace, name } = isObject(object['metadata']) ? object['metadata'] : {};
  return {
    class: 'CONVERT',
    rule: 'N27',
    crd: now.name,
    version: '',
    object: [namespace, name].filter((part) => typeof part === 'string').join('/'),
    resourceVersion: '',
    path: 'apiVersion',
    endpoints: ['spec', 'status'],
    blocking: true,
    eraNow: options.now.era,
    eraTarget: options.target.era,
    what: `${textOf(object['apiVersion'])} is none of ${target.versions.map((version) => version.name).join(', ')}`,
    sample: sampleOf(undefined, false),
    remedy: CLASS_MEANINGS.CONVERT.remedy,
  };
}

/** A kind that could not be looked at: never taken for a clean one. `why` is a clause. */
export function undecidedKind(crd: string, why: string, options: PreflightOptions): Finding {
  return {
    class: 'UNDECIDED',
    rule: 'N35',
    crd,
    version: '',
    object: '',
    resourceVersion: '',
    path: '',
    endpoints: [],
    blocking: false,
    eraNow: options.now.era,
    eraTarget: options.target.era,
    what: why,
    sample: '',
    remedy: 'Remove the cause and run again: what was not looked at is not clean.',
  };
}
