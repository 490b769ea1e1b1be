import {
  type Asked,
  type Crd,
  type Finding,
  judgeKind,
  type KindJudge,
  type PreflightOptions,
  preflightAdmission,
  undecidedKind,
} from '@drydock/crd';
import {
  ApiError,
  type CallOptions,
  isExpired,
  type KubeObject,
  type ListPage,
  type Observer,
  type Resource,
} from '@drydock/kube';
import { readAhead } from './read-ahead.ts';

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
  /** List a kind of more than one page once more, and judge what changed meanwhile. */
  readonly again?: boolean;
  /** Who is asked about writes of a kind, see `askedAbout`. It is reported for kinds that have objects and whose definition changes. */
  readonly asked?: (crd: Crd) => readonly Asked[];
  /** How many kinds are listed at the same time; 3 by default. Of each, one page is held. */
  readonly atOnce?: number;
  readonly progress?: (progress: ScanProgress) => void;
  /** Called with each object that has an undecided verdict, for a probe of the server. */
  readonly undecided?: (object: KubeObject, crd: Crd, target: Crd) => void;
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
  const kinds = crds.map((crd, index) => ({ crd, kind: index + 1, next: wanted.get(crd.name) }));
  const listed = kinds.map((kind) => () => (kind.next === undefined ? none() : pagesOf(kind.crd, options)));
  let objects = 0;
  let judge: KindJudge | undefined;
  let seen = false;
  for await (const { source, value: page } of readAhead(listed, atOnce)) {
    options.signal?.throwIfAborted();
    const { crd, kind, next } = kinds[source] as (typeof kinds)[number];
    const report = (): void => progress({ crd: crd.name, kind, kinds: crds.length, objects });
    if (page === undefined) {
      // The beginning of a kind.
      judge = judgeKind(crd, next, options);
      seen = false;
      report();
      yield judge.findings;
      continue;
    }
    if (typeof page === 'string') {
      yield [undecidedKind(crd.name, page, options)];
      continue;
    }
    const findings: Finding[] = [];
    if (!seen && page.length > 0) {
      seen = true;
      if (judge?.changes === true) findings.push(...preflightAdmission(options.asked?.(crd) ?? [], crd, options));
    }
    for (const object of page) {
      // Items of a list need not say what they are.
      const verdicts =
        judge?.judge({ apiVersion: `${crd.group}/${resourceOf(crd)?.version}`, ...object } as never) ?? [];
      findings.push(...verdicts);
      if (next !== undefined && verdicts.some((verdict) => verdict.class === 'UNDECIDED'))
        options.undecided?.(object, crd, next);
    }
    objects += page.length;
    report();
    if (findings.length > 0) yield findings;
  }
  return { objects };
}

async function* none(): AsyncGenerator<never, void> {}

/** Pages of a kind's objects, or, last, why there are no more of them. An object that is seen twice after a restart is judged once. */
async function* pagesOf(
  crd: Crd,
  { client, signal, again }: ScanOptions,
): AsyncGenerator<readonly KubeObject[] | string, void> {
  const resource = resourceOf(crd);
  if (resource === undefined) {
    yield 'no version of it is served: its objects cannot be read';
    return;
  }
  const seen = new Set<string>();
  let passes = 0;
  for (let start = 0; ; start += 1) {
    let pages = 0;
    try {
      for await (const page of client.pages(resource, {}, signal === undefined ? {} : { signal })) {
        pages += 1;
        yield fresh(page, seen);
      }
      passes += 1;
      if (again !== true || passes > 1 || pages < 2) return;
    } catch (error) {
      signal?.throwIfAborted();
      if (isExpired(error) && start < RESTARTS) continue;
      yield whyNot(error);
      return;
    }
  }
}

/** Only the version of an object is kept, not the object: what changed between two passes is judged again. */
function fresh(page: ListPage<KubeObject>, seen: Set<string>): readonly KubeObject[] {
  return page.items.filter(({ metadata }) => {
    const key = `${metadata.uid ?? metadata.name} ${metadata.resourceVersion ?? ''}`;
    if (seen.has(key)) return false;
    seen.add(key);
    return true;
  });
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
