import type { KubeObject, Resource } from '@drydock/api';
import {
  type Cause,
  type Crd,
  type CrdVersion,
  type JsonObject,
  type Ledger,
  type LedgerView,
  type Loss,
  losses,
  type Quarantined,
  readCrd,
  schemaHash,
} from '@drydock/crd';
import { ApiError, isConflict, isNotFound, type Key, type KubeClient, keyText } from '@drydock/kube';
import { ReleaseError } from '../errors.ts';
import { legalStatus } from './legal-status.ts';
import { type RescueRecord, type RescueRecords, statusHash } from './record.ts';
import { type WriterPods, writerPods } from './writer-pods.ts';

/** Whose status is to be written again, and by whom. */
export interface RescueWish {
  /** Name of the definition, `<plural>.<group>`. */
  readonly definition: string;
  readonly key: Key;
  /** The Deployment whose pods keep the refused values in memory; undefined: a person restarts it. */
  readonly writer?: { readonly namespace: string; readonly name: string };
}

/** What a rescue reads and writes through. */
export interface RescuePorts {
  readonly client: Pick<KubeClient, 'get' | 'list' | 'replace' | 'replaceStatus' | 'delete' | 'raw'>;
  /** What is left out of the statuses of this definition. */
  readonly ledger: Ledger;
  readonly records: RescueRecords;
  /** Kubernetes 1.`minor` of the server. */
  readonly minor: number;
  /** RFC 3339. */
  readonly now: () => string;
  readonly signal: AbortSignal;
}

/** How the server answers a write that is not stored. */
export type Verdict =
  | { readonly accepted: true; readonly object: KubeObject }
  | { readonly accepted: false; readonly code: number; readonly said: string; readonly fields: readonly string[] };

/** The schema that judges. */
export interface Judge {
  readonly resource: Resource<KubeObject>;
  readonly crd: Crd;
  readonly version: CrdVersion;
  /** Of the schema. */
  readonly hash: string;
}

/** Everything a rescue is decided by. A plain value. */
export interface Patient {
  readonly object: KubeObject;
  readonly judge: Judge;
  /** What the schema cannot hold of the stored status, whatever this era of server tolerates. */
  readonly illegal: readonly Quarantined[];
  /** Faults that nothing can be left out for. */
  readonly stuck: readonly Cause[];
  /** The status that the schema takes whole, and what it lacks of the stored one; absent where nothing is illegal. */
  readonly cure?: { readonly status: JsonObject; readonly lost: readonly Loss[]; readonly verdict: Verdict };
  /** What the server answers to the stored status, unchanged; and to a label. */
  readonly answers: { readonly status: Verdict; readonly label: Verdict };
  readonly ledger: LedgerView;
  /** What a rescue before this moment has noted. */
  readonly record: RescueRecord | undefined;
  /** Undefined where nobody named a writer. */
  readonly writer: WriterPods | undefined;
  /** {@link statusHash} of the stored status. */
  readonly hash: string;
}

const CRD: Resource<KubeObject> = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
  scope: 'Cluster',
};

type WithStatus = KubeObject & { readonly status?: JsonObject };

/** Looks at everything, and writes nothing: what is asked of the server is a dry run. Throws `ReleaseError` where object or definition are not there, and `ApiError`. */
export async function observePatient(wish: RescueWish, ports: RescuePorts): Promise<Patient> {
  for (let left = LOOKS; ; left -= 1) {
    try {
      return await look(wish, ports);
    } catch (cause) {
      // What is asked is about what was read, and a writer that is not stuck goes on writing.
      if (!isConflict(cause) || left === 0) throw cause;
    }
  }
}

/** A writer that was always faster would be none that is stuck. */
const LOOKS = 50;

async function look(wish: RescueWish, ports: RescuePorts): Promise<Patient> {
  const { client, ledger, minor, records, signal } = ports;
  const judge = await judgeOf(wish, ports);
  const { resource, version } = judge;
  const object = (await client.get(resource, wish.key, { signal }).catch(absent(wish))) as WithStatus;
  const uid = object.metadata.uid ?? '';
  const status = object.status ?? {};
  const {
    status: legal,
    quarantined,
    stuck,
  } = legalStatus(status, object as unknown as JsonObject, { live: version, minor });
  const write = (next: WithStatus): Promise<Verdict> => tried(judge, next, ports);
  const cure =
    quarantined.length === 0
      ? {}
      : {
          cure: {
            status: legal,
            lost: losses(status, legal),
            verdict: await write({ ...object, status: legal }),
          },
        };
  return {
    object,
    judge,
    illegal: quarantined,
    stuck,
    ...cure,
    answers: { status: await write(object), label: await labelled(judge, object, ports) },
    ledger: await ledger.view(uid, true),
    record: await records.read(uid),
    writer: wish.writer === undefined ? undefined : await writerPods(wish.writer, client, { signal }),
    hash: statusHash(status),
  };
}

async function judgeOf({ definition }: RescueWish, { client, signal }: RescuePorts): Promise<Judge> {
  const found = await client.get(CRD, { name: definition }, { signal }).catch((cause: unknown) => {
    if (!isNotFound(cause)) throw cause;
    throw new ReleaseError('NOTHING_TO_RESCUE', `there is no definition ${definition}; it is named <plural>.<group>`);
  });
  const crd = readCrd({ kind: CRD.kind, ...found } as never, definition);
  const version = crd.versions.find(({ storage }) => storage);
  if (version === undefined)
    throw new ReleaseError('NOTHING_TO_RESCUE', `the definition ${definition} stores no version`);
  const { group, kind, plural, scope } = crd;
  return {
    resource: { group, version: version.name, kind, plural, scope },
    crd,
    version,
    hash: schemaHash(version.schema),
  };
}

function absent({ definition, key }: RescueWish): (cause: unknown) => never {
  return (cause) => {
    if (!isNotFound(cause)) throw cause;
    throw new ReleaseError('NOTHING_TO_RESCUE', `there is no ${keyText(key)} of ${definition}`);
  };
}

/** What the server says to a status, without storing it. */
export async function tried(judge: Judge, next: KubeObject, ports: RescuePorts): Promise<Verdict> {
  return answered(writeStatus(judge, next, ports, true));
}

/** Writes a whole status, guarded by resourceVersion. Rejects with `ApiError`. */
export async function writeStatus(
  { resource, version }: Judge,
  next: KubeObject,
  { client, signal }: RescuePorts,
  dryRun = false,
): Promise<KubeObject> {
  const options = { dryRun, signal };
  return version.status ? client.replaceStatus(resource, next, options) : client.replace(resource, next, options);
}

const PROBE = 'drydock.dev/rescue-probe';

async function labelled({ resource }: Judge, object: KubeObject, { client, signal }: RescuePorts): Promise<Verdict> {
  const { metadata } = object;
  const next = { ...object, metadata: { ...metadata, labels: { ...metadata.labels, [PROBE]: 'dry-run' } } };
  return answered(client.replace(resource, next, { dryRun: true, signal }));
}

async function answered(call: Promise<KubeObject>): Promise<Verdict> {
  try {
    return { accepted: true, object: await call };
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'Invalid') throw error;
    const causes = error.details?.causes ?? [];
    return {
      accepted: false,
      code: error.status,
      said: causes.map(({ field, message }) => `${field ?? ''}: ${message ?? ''}`).join('; '),
      fields: causes.flatMap(({ field }) => field ?? []),
    };
  }
}
