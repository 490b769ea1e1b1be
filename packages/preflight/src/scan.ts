import {
  type Asked,
  type Crd,
  type Finding,
  type JsonObject,
  judgeKind,
  type LabelsOf,
  mayAsk,
  type PreflightOptions,
  preflightAdmission,
  undecidedKind,
} from '@drydock/crd';
import {
  ApiError,
  type CallOptions,
  isExpired,
  type KubeObject,
  type Observer,
  type Resource,
  withExact,
} from '@drydock/kube';
import { DEEP, isDeeperThan } from './depth.ts';
import { readAhead } from './read-ahead.ts';
import { type Look, verdicts } from './verdicts.ts';

/** How far a scan is. */
export interface ScanProgress {
  readonly crd: string;
  /** Of `kinds`, this is the one at hand, from 1. */
  readonly kind: number;
  readonly kinds: number;
  /** Objects judged so far, of all kinds. */
  readonly objects: number;
}

/** What is scanned, and against what. */
export interface ScanOptions extends PreflightOptions, CallOptions {
  readonly client: Pick<Observer, 'pages'>;
  /** Definitions of the cluster. */
  readonly crds: readonly Crd[];
  /** Definitions to go to. */
  readonly wanted: readonly Crd[];
  /** List a kind of more than one page once more: what changed meanwhile is judged as it is then. Verdicts about such a kind are kept until its end. */
  readonly again?: boolean;
  /** Who is asked about writes of a kind, see `askedAbout`. It is reported for kinds whose definition changes, where it may be asked about an object. */
  readonly asked?: (crd: Crd) => readonly Asked[];
  /** Labels of namespaces, for those who are asked; without, all are taken to fit. */
  readonly labelsOf?: LabelsOf;
  /** How many kinds are listed at the same time; 3 by default. Of each, one page is held. */
  readonly atOnce?: number;
  readonly progress?: (progress: ScanProgress) => void;
}

/** How often a list that expired in the middle starts again. */
const RESTARTS = 3;
/** How many kinds are listed at the same time where nothing else is said: the server works on the next pages while one is judged. */
export const KINDS_AT_ONCE = 3;

/**
 * Judges every object of every kind, in pages of 500 of which one is held for each kind at hand. What fails for one kind is a verdict about that kind: it is undecided, and the rest goes on. Findings come in the order of
 * the definitions. Rejects only with the signal's reason.
 */
export async function* scan(options: ScanOptions): AsyncGenerator<readonly Finding[], { readonly objects: number }> {
  const { crds, atOnce = KINDS_AT_ONCE, progress = () => undefined } = options;
  const wanted = new Map(options.wanted.map((crd) => [crd.name, crd]));
  const kinds = crds.map((crd, index) => ({ crd, number: index + 1, next: wanted.get(crd.name) }));
  const listed = kinds.map(
    ({ crd, next }) =>
      () =>
        next === undefined ? none() : looksAt(crd, options),
  );
  let done = 0;
  let kind: KindScan | undefined;
  for await (const { source, value } of readAhead(listed, atOnce)) {
    options.signal?.throwIfAborted();
    const { crd, number, next } = kinds[source] as (typeof kinds)[number];
    if (value === undefined) {
      // The beginning of a kind is the end of the one before.
      yield kind?.end(false) ?? [];
      done += kind?.objects() ?? 0;
      kind = scanKind(crd, next, options);
      yield kind.findings;
    } else if (typeof value === 'string') {
      yield [...(kind?.end(true) ?? []), undecidedKind(crd.name, value, options)];
    } else yield kind?.judge(value) ?? [];
    progress({ crd: crd.name, kind: number, kinds: crds.length, objects: done + (kind?.objects() ?? 0) });
  }
  yield kind?.end(false) ?? [];
  return { objects: done + (kind?.objects() ?? 0) };
}

async function* none(): AsyncGenerator<never, void> {}

/** An object with its integers that no number can hold as bigints. */
export function exactly(object: JsonObject): JsonObject {
  return withExact(object, BigInt) as JsonObject;
}

/** The scan of one kind. */
interface KindScan {
  /** Verdicts about the definition. */
  readonly findings: readonly Finding[];
  readonly judge: (look: Look) => readonly Finding[];
  readonly end: (failed: boolean) => readonly Finding[];
  readonly objects: () => number;
}

function scanKind(crd: Crd, next: Crd | undefined, options: ScanOptions): KindScan {
  const { again = false, asked = () => [], labelsOf = () => undefined } = options;
  const judge = judgeKind(crd, next, { ...options, exact: exactly });
  const judgeOne = (object: KubeObject): readonly Finding[] => {
    try {
      return judge.judge(object as unknown as JsonObject);
    } catch (error) {
      // The stack is at its end. Looked for only then, because no real object is such, and each would be walked once more.
      if (!(error instanceof RangeError && isDeeperThan(DEEP, object))) throw error;
      const { name, namespace, resourceVersion = '' } = object.metadata;
      const of = namespace === undefined ? name : `${namespace}/${name}`;
      const why = `it is nested more than ${DEEP} levels deep, too deep to be judged`;
      return [{ ...undecidedKind(crd.name, why, options), object: of, resourceVersion }];
    }
  };
  const told = verdicts(judgeOne, again);
  const silent = new Set(judge.changes && next !== undefined ? asked(crd) : []);
  return {
    findings: judge.findings,
    judge: (look) => {
      const heard: Asked[] = [];
      for (const one of silent)
        if (look.items.some((object) => mayAsk(one, exactly(object as unknown as JsonObject), crd, labelsOf)))
          heard.push(one);
      for (const one of heard) silent.delete(one);
      return [...preflightAdmission(heard, crd, options), ...told.of(look)];
    },
    end: (failed) => told.rest(failed),
    objects: told.objects,
  };
}

/** Pages of a kind's objects, or, last, why there are no more of them. */
async function* looksAt(crd: Crd, { client, signal, again }: ScanOptions): AsyncGenerator<Look | string, void> {
  const resource = resourceOf(crd);
  if (resource === undefined) {
    yield 'no version of it is served: its objects cannot be read';
    return;
  }
  let pass: Look['pass'] = 1;
  for (let restarts = 0; ; ) {
    let pages = 0;
    try {
      for await (const { items } of client.pages(resource, {}, signal === undefined ? {} : { signal })) {
        pages += 1;
        yield { items, pass };
      }
      if (again !== true || pass === 2 || pages < 2) return;
      pass = 2;
    } catch (error) {
      signal?.throwIfAborted();
      if (isExpired(error) && restarts < RESTARTS) restarts += 1;
      else {
        yield whyNot(error);
        return;
      }
    }
  }
}

function whyNot(error: unknown): string {
  if (!(error instanceof ApiError)) throw error;
  switch (error.code) {
    case 'Forbidden':
      return 'its objects may not be listed: grant get and list on them';
    case 'NotFound':
      return 'it was deleted during the scan, or is not served';
    case 'ServerError':
      return `the server could not list it, perhaps because it cannot convert an object: ${error.message}`;
    default:
      return `its objects could not be listed: ${error.message}`;
  }
}

/** The resource of a kind in the version that is stored, where that is served: it is the nearest to the bytes. */
export function resourceOf(crd: Crd): Resource<KubeObject> | undefined {
  const version =
    crd.versions.find(({ served, storage }) => served && storage) ?? crd.versions.find(({ served }) => served);
  if (version === undefined) return undefined;
  return { group: crd.group, version: version.name, kind: crd.kind, plural: crd.plural, scope: crd.scope };
}
