import { setTimeout as delay } from 'node:timers/promises';
import { type Crd, type Finding, type PreflightOptions, undecidedKind } from '@drydock/crd';
import { ApiError, type CallOptions, isInvalid, type KubeObject, type Resource } from '@drydock/kube';
import { CRD } from './cluster-schemas.ts';
import { resourceOf } from './scan.ts';
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

/**
 * Asks the server itself: the target schema is installed under a throw-away group, and each object is created there as a dry run. The server's answer is strict, status and rules included: it misses nothing, and reports also what
 * ratcheting would tolerate. Shadows are removed at the end, also after the signal.
 */
export async function* probe(
  cluster: ProbeCluster,
  requests: Iterable<ProbeRequest>,
  options: PreflightOptions & CallOptions & { readonly run: string },
): AsyncGenerator<readonly Finding[], void> {
  const { run, signal } = options;
  const call = signal === undefined ? {} : { signal };
  try {
    for (const { crd, target, objects } of requests) {
      try {
        const resource = await install(cluster, target, run, call);
        const live = resourceOf(crd);
        if (live === undefined) continue;
        for await (const { items } of cluster.pages(live, {}, call))
          for (const object of items)
            if (objects.has(nameOf(object))) yield await ask(cluster, resource, object, crd, options);
      } catch (error) {
        signal?.throwIfAborted();
        if (!(error instanceof ApiError)) throw error;
        yield [undecidedKind(crd.name, `the probe failed: ${error.message}`, options)];
      }
    }
  } finally {
    // The signal may be why we are here.
    await sweepShadows(cluster, { run, signal: AbortSignal.timeout(SWEEP) });
  }
}

async function install(
  cluster: ProbeCluster,
  target: Crd,
  run: string,
  call: CallOptions,
): Promise<Resource<KubeObject>> {
  const version = (target.versions.find(({ storage }) => storage) ?? target.versions[0])?.name ?? 'v1';
  const shadow = shadowOf(target, version, run);
  // Not with the caller's signal: a creation whose answer nobody waits for could come after the sweep.
  await cluster.create(CRD, shadow, { signal: AbortSignal.timeout(READY) });
  call.signal?.throwIfAborted();
  const { names } = shadow['spec'] as { readonly names: { readonly kind: string; readonly plural: string } };
  const resource: Resource<KubeObject> = {
    group: SHADOW_GROUP,
    version,
    kind: names.kind,
    plural: names.plural,
    scope: 'Cluster',
  };
  const until = Date.now() + READY;
  // Established says that it will be served; that a list answers says that it is.
  for (;;) {
    try {
      await cluster.raw({ path: `/apis/${SHADOW_GROUP}/${version}/${names.plural}?limit=1` }, call);
      return resource;
    } catch (error) {
      if (!(error instanceof ApiError) || Date.now() > until) throw error;
      await delay(100, undefined, call);
    }
  }
}

async function ask(
  cluster: ProbeCluster,
  resource: Resource<KubeObject>,
  object: KubeObject,
  crd: Crd,
  options: PreflightOptions & CallOptions,
): Promise<readonly Finding[]> {
  const { name } = object.metadata;
  const { signal } = options;
  const copy = {
    ...object,
    apiVersion: `${resource.group}/${resource.version}`,
    kind: resource.kind,
    metadata: { name },
  };
  try {
    await cluster.create(resource, copy, { dryRun: true, ...(signal === undefined ? {} : { signal }) });
    return [];
  } catch (error) {
    if (!isInvalid(error) || !(error instanceof ApiError)) throw error;
    const causes = error.details.causes ?? [];
    const base = undecidedKind(crd.name, '', options);
    return causes.map(({ field = '', reason = '' }): Finding => {
      const inStatus = field.startsWith('status');
      return {
        ...base,
        class: inStatus ? 'BLOCK_STATUS' : 'BLOCK_SPEC',
        version: resource.version,
        object: nameOf(object),
        resourceVersion: object.metadata.resourceVersion ?? '',
        path: field,
        endpoints: [inStatus ? 'status' : 'spec'],
        blocking: true,
        what: `the server refuses it (${reason})`,
        remedy:
          'Change the value before the swap. The probe is strict: a server that ratchets may tolerate the value until it changes.',
      };
    });
  }
}

/** Notes the objects that have an undecided verdict, by kind. */
export function gather(): {
  readonly add: (object: KubeObject, crd: Crd, target: Crd) => void;
  readonly requests: () => readonly ProbeRequest[];
} {
  const kinds = new Map<string, { readonly crd: Crd; readonly target: Crd; readonly objects: Set<string> }>();
  return {
    add: (object, crd, target) => {
      const kind = kinds.get(crd.name) ?? { crd, target, objects: new Set() };
      kind.objects.add(nameOf(object));
      kinds.set(crd.name, kind);
    },
    requests: () => [...kinds.values()],
  };
}

function nameOf({ metadata: { name, namespace } }: KubeObject): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}
