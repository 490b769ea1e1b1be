import { setTimeout as delay } from 'node:timers/promises';
import {
  type Crd,
  type Finding,
  type JsonObject,
  judgeKind,
  type PreflightOptions,
  pathText,
  readRefusal,
  undecidedKind,
} from '@drydock/crd';
import { ApiError, type CallOptions, isInvalid, type KubeObject, type Resource } from '@drydock/kube';
import { CRD } from './cluster-schemas.ts';
import { PreflightError } from './errors.ts';
import { exactly, resourceOf } from './scan.ts';
import { type ProbeCluster, SHADOW_GROUP, shadowOf, sweepShadows } from './shadow.ts';

/** How long (ms) a shadow may take to be served, and what its removal may take after an interruption. */
const READY = 30_000;
const SWEEP = 10_000;

/** Objects to ask the server about. They are listed again when it is their turn, and not kept. */
export interface ProbeRequest {
  readonly crd: Crd;
  readonly target: Crd;
  /** `NAMESPACE/NAME`, or `NAME`. */
  readonly objects: ReadonlySet<string>;
}

/** What a probe is to settle: the objects of undecided verdicts, by kind. */
export function probeRequests(
  doubts: readonly Finding[],
  crds: readonly Crd[],
  wanted: readonly Crd[],
): readonly ProbeRequest[] {
  return [...Map.groupBy(doubts, (finding) => finding.crd)].flatMap(([name, findings]): readonly ProbeRequest[] => {
    const [crd, target] = [crds, wanted].map((all) => all.find((one) => one.name === name));
    if (crd === undefined || target === undefined) return [];
    return [{ crd, target, objects: new Set(findings.map(({ object }) => object)) }];
  });
}

/**
 * Asks the server itself: the target schema is installed under a throw-away group, and each object is created there as a dry run. The server's answer is strict, status and rules included: it misses nothing, and of what
 * was undecided it reports also what ratcheting would tolerate. Shadows are removed at the end, also after the signal. Rejects with `PreflightError` SHADOWS_LEFT where they cannot be.
 */
export async function* probe(
  cluster: ProbeCluster,
  requests: Iterable<ProbeRequest>,
  options: PreflightOptions & CallOptions & { readonly run: string },
): AsyncGenerator<readonly Finding[], void> {
  const { run, signal } = options;
  const call = signal === undefined ? {} : { signal };
  let number = 0;
  try {
    for (const request of requests) {
      const { crd, objects } = request;
      const live = resourceOf(crd);
      if (live === undefined) continue;
      try {
        const resource = await install(cluster, request, { run, number }, call);
        number += 1;
        for await (const { items } of cluster.pages(live, {}, call))
          for (const object of items)
            if (objects.has(nameOf(object))) yield await ask(cluster, resource, object, request, options);
      } catch (error) {
        signal?.throwIfAborted();
        if (!(error instanceof ApiError)) throw error;
        yield [undecidedKind(crd.name, `the probe failed: ${error.message}`, options)];
      }
    }
  } finally {
    await cleanUp(cluster, run);
  }
}

async function cleanUp(cluster: ProbeCluster, run: string): Promise<void> {
  try {
    // Not with the caller's signal, which may be why we are here.
    await sweepShadows(cluster, { run, signal: AbortSignal.timeout(SWEEP) });
  } catch (cause) {
    const left = `definitions of the run ${run} could not be removed, and serve nobody; to remove them: drydock crd doctor`;
    throw new PreflightError('SHADOWS_LEFT', left, { cause });
  }
}

async function install(
  cluster: ProbeCluster,
  { crd, target }: ProbeRequest,
  which: { readonly run: string; readonly number: number },
  call: CallOptions,
): Promise<Resource<KubeObject>> {
  // The version that objects are judged in, see `judgeKind`.
  const version =
    target.versions.find(({ name }) => name === resourceOf(crd)?.version) ??
    target.versions.find(({ storage }) => storage);
  const shadow = shadowOf(target, version?.name ?? 'v1', which);
  // Not with the caller's signal: a creation whose answer nobody waits for could come after the sweep.
  await cluster.create(CRD, shadow, { signal: AbortSignal.timeout(READY) });
  call.signal?.throwIfAborted();
  const { names, versions } = shadow.spec;
  const resource: Resource<KubeObject> = {
    ...{ group: SHADOW_GROUP, version: versions[0].name, kind: names.kind, plural: names.plural },
    scope: 'Cluster',
  };
  const until = performance.now() + READY;
  // Established says that it will be served; that a list answers says that it is.
  for (;;) {
    try {
      await cluster.raw({ path: `/apis/${SHADOW_GROUP}/${resource.version}/${names.plural}?limit=1` }, call);
      return resource;
    } catch (error) {
      if (!(error instanceof ApiError) || performance.now() > until) throw error;
      await delay(100, undefined, call);
    }
  }
}

/** What the server says of an object, without what was decided about it before. */
async function ask(
  cluster: ProbeCluster,
  resource: Resource<KubeObject>,
  object: KubeObject,
  { crd, target }: ProbeRequest,
  options: PreflightOptions & CallOptions,
): Promise<readonly Finding[]> {
  const { signal } = options;
  const copy = {
    ...object,
    apiVersion: `${resource.group}/${resource.version}`,
    kind: resource.kind,
    metadata: { name: object.metadata.name },
  };
  try {
    await cluster.create(resource, copy, { dryRun: true, ...(signal === undefined ? {} : { signal }) });
    return [];
  } catch (error) {
    if (!isInvalid(error) || !(error instanceof ApiError)) throw error;
    const before = judgeKind(crd, target, { ...options, exact: exactly }).judge(object as unknown as JsonObject);
    const doubts = before.filter((finding) => finding.class === 'UNDECIDED');
    const known = new Set(before.filter((finding) => !doubts.includes(finding)).map(({ path }) => path));
    const base = undecidedKind(crd.name, '', options);
    const { causes, unchecked, unplaced } = readRefusal(error.details.causes ?? [], copy as unknown as JsonObject);
    const refused = [
      ...causes.map(({ path, reason }) => ({ field: pathText(path), reason })),
      ...unplaced.map(({ field = '', reason = '' }) => ({ field, reason })),
    ].filter(({ field }) => !known.has(field));
    const findings = refused.map(({ field, reason }): Finding => {
      const isRoot = field === '<nil>' || field === '';
      const inStatus = /^status(?:[.[]|$)/.test(field);
      return {
        ...base,
        class: isRoot ? 'ROOT_CEL' : inStatus ? 'BLOCK_STATUS' : 'BLOCK_SPEC',
        rule: doubts.find(({ path }) => path === field)?.rule ?? base.rule,
        version: resource.version,
        object: nameOf(object),
        resourceVersion: object.metadata.resourceVersion ?? '',
        path: field,
        endpoints: isRoot ? ['spec', 'status'] : [inStatus ? 'status' : 'spec'],
        blocking: true,
        what: `the server refuses it (${reason})`,
        remedy:
          'Change the value before the swap. The probe is strict: a server that ratchets may tolerate the value until it changes.',
      };
    });
    // What stops a server before it looks at the rules leaves doubts about them open.
    return unchecked ? [...findings, ...doubts.filter(({ rule }) => rule === 'N15')] : findings;
  }
}

function nameOf({ metadata: { name, namespace } }: KubeObject): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}
