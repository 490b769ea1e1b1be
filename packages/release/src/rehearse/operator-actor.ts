import {
  type Crd,
  type CrdVersion,
  createLedger,
  createProjector,
  type JsonObject,
  LEDGER_COMPONENT,
  ledgerName,
  liveVersion,
  SERVER_LAG_MS,
} from '@drydock/crd';
import {
  ApiError,
  type Cache,
  configMapStore,
  isConflict,
  isInvalid,
  isNotFound,
  type KubeClient,
  type KubeObject,
  keyOf,
  type Resource,
  type StatusWriter,
  statusWriter,
} from '@drydock/kube';
import { operatorStatus } from './operator-status.ts';
import type { Pace } from './pace.ts';
import { componentOf, imageOf, type RehearsedRelease } from './rehearsed-release.ts';

/** How an operator writes: through the status writer of Drydock, or as upstream's do, without a look at any schema; `foreign`: as those, and it remembers what an earlier release of it has read. */
export type WriterKind = 'projecting' | 'legacy' | 'foreign';

/** An operator that acts as the release whose image runs. */
export interface OperatorActor extends AsyncDisposable {
  readonly component: string;
  /** Version of the release that it acts as; undefined while nothing runs. */
  readonly acts: string | undefined;
  /** Writes since it began to act as this release. */
  readonly rounds: number;
}

/** What an operator is made of. */
export interface OperatorActorOptions {
  readonly component: string;
  readonly releases: readonly RehearsedRelease[];
  readonly writer: WriterKind;
  /** In the name of the operator of a release. */
  readonly clientOf: (component: string, version: string) => KubeClient;
  /** The definitions as the cluster has them now. */
  readonly definitions: Pick<Cache<KubeObject>, 'get'>;
  /** Which image runs, by component. */
  readonly running: () => ReadonlyMap<string, string>;
  readonly pace: Pace;
  /** Where ledgers are kept. */
  readonly namespace: string;
  /** `plural.group NAME` of an object whose status is somebody else's. */
  readonly managed: string | undefined;
}

interface Kind {
  readonly crd: Crd;
  readonly version: CrdVersion;
  readonly resource: Resource<KubeObject>;
  readonly memory: Map<string, JsonObject>;
  readonly writer: StatusWriter<KubeObject & { readonly status?: JsonObject }>;
}

/** The user of an operator, as an API server knows it. */
export function operatorUser(component: string, version: string): string {
  return `operator-${component}-${version}`;
}

/** Starts one. It ends with the signal of its pace, or when it is disposed. */
export function operatorActor(options: OperatorActorOptions): OperatorActor {
  const { component, releases, pace } = options;
  const stop = new AbortController();
  const remembered = new Map<string, JsonObject>();
  let acting: { readonly release: RehearsedRelease; readonly kinds: readonly Kind[]; round: number } | undefined;
  const look = async (): Promise<void> => {
    const image = options.running().get(component);
    const release = releases.find(({ version }) => imageOf(component, version) === image);
    if (release !== acting?.release)
      acting = release === undefined ? undefined : { release, kinds: kindsOf(options, release, remembered), round: 0 };
    if (acting === undefined) return;
    acting.round += 1;
    for (const kind of acting.kinds) await writeAll(kind, options, { ...acting, signal: stop.signal });
  };
  const running = pace.repeat(`operator ${component}`, look, stop.signal);
  return {
    component,
    get acts() {
      return acting?.release.version;
    },
    get rounds() {
      return acting?.round ?? 0;
    },
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await running;
    },
  };
}

/** A process of its own: what it knows of the past is in the cluster, unless it is foreign. */
function kindsOf(
  options: OperatorActorOptions,
  release: RehearsedRelease,
  remembered: Map<string, JsonObject>,
): readonly Kind[] {
  const client = options.clientOf(options.component, release.version);
  return [...release.crds.values()].flatMap((crd): readonly Kind[] => {
    const version = crd.versions.find((one) => one.storage && one.served && one.status);
    if (version === undefined || componentOf(crd) !== options.component) return [];
    const resource: Resource<KubeObject> = {
      ...{ group: crd.group, version: version.name, kind: crd.kind, plural: crd.plural, scope: crd.scope },
    };
    const { namespace } = options;
    const name = ledgerName(resource);
    const projector = createProjector({
      live: liveVersion(() => options.definitions.get({ name: crd.name }), version.name, { lagMs: SERVER_LAG_MS }),
      ledger: createLedger({ store: configMapStore({ client, namespace, name, component: LEDGER_COMPONENT }) }),
      release: release.version,
    });
    const { recall, project, refused, written, failed } = projector;
    const writer = statusWriter({ client, resource, recall, project, refused, written, failed } as never);
    const memory = options.writer === 'foreign' ? remembered : new Map<string, JsonObject>();
    return [{ crd, version, resource, memory, writer: writer as Kind['writer'] }];
  });
}

async function writeAll(
  kind: Kind,
  options: OperatorActorOptions,
  {
    release,
    round,
    signal,
  }: { readonly release: RehearsedRelease; readonly round: number; readonly signal: AbortSignal },
): Promise<void> {
  const client = options.clientOf(options.component, release.version);
  const { memory, resource, version: own } = kind;
  try {
    for await (const one of client.list(resource, {}, { signal })) {
      if (`${kind.crd.name} ${one.metadata.name}` === options.managed) continue;
      const { uid = '' } = one.metadata;
      if (!memory.has(uid)) memory.set(uid, one as unknown as JsonObject);
      const means = (current: KubeObject): JsonObject =>
        operatorStatus(current as unknown as JsonObject, { own, memory: memory.get(uid), round });
      try {
        if (options.writer === 'projecting') await kind.writer.write(keyOf(one), means as never, { signal });
        else await client.replaceStatus(resource, { ...one, status: means(one) } as KubeObject, { signal });
      } catch (error) {
        // The audit log tells; an operator tries again.
        if (!isPassing(error)) throw error;
      }
    }
  } catch (error) {
    // A kind that is not served yet is none of its business.
    if (!isPassing(error)) throw error;
  }
}

function isPassing(error: unknown): boolean {
  return error instanceof ApiError && (isInvalid(error) || isConflict(error) || isNotFound(error));
}
