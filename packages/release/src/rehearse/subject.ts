import { ClusterVersion, CustomResourceDefinition, Payload } from '@drydock/api';
import { ApiError, type KubeClient, type KubeObject } from '@drydock/kube';
import { ReleaseError } from '../errors.ts';
import type { Pace } from './pace.ts';
import type { RehearsedRelease } from './rehearsed-release.ts';

/** Kind of the object that says which release is wanted. */
export const FACES = ['Payload', 'ClusterVersion'] as const;
/** See {@link FACES}. */
export type RehearsedFace = (typeof FACES)[number];

/** In whose name a release is applied. */
export interface Account {
  readonly namespace: string;
  readonly name: string;
}

/** What is asked for: an image, or a version of the history. */
export type Asked =
  | { readonly image: string }
  | { readonly version: string; readonly acceptedRisks: readonly string[] };

/** What both faces say of a release. */
export interface RehearsedObject extends KubeObject {
  readonly status?: {
    readonly observedGeneration?: number;
    readonly history?: readonly { readonly version?: string; readonly state?: string; readonly startedTime?: string }[];
    readonly conditions?: readonly {
      readonly type?: string;
      readonly status?: string;
      readonly reason?: string;
      readonly message?: string;
    }[];
  };
}

/** The object of a rehearsal that says which release is wanted, and what came of it. */
export interface Subject {
  /** As inventories name it: `Payload rehearsal`. */
  readonly owner: string;
  /** In snapshots; undefined: it is in none. Whoever has its kind as an operator leaves this one alone. */
  readonly key: string | undefined;
  /** Flags of the manager. */
  readonly flags: readonly string[];
  /** Makes it, with its first release. */
  create(image: string): Promise<void>;
  /** Resolves to its generation then. */
  want(asked: Asked): Promise<number>;
  current(signal?: AbortSignal): Promise<RehearsedObject>;
  /** How many objects of a release were applied, and of how many. */
  progressOf(object: RehearsedObject): readonly [done: number, total: number];
}

/** The Payload of a rehearsal. */
const PAYLOAD = { name: 'rehearsal' };
const VERSION = { name: 'version' };
const VERSIONS = 'clusterversions.config.openshift.io';
const READY_MS = 60_000;

/** The subject of a kind. */
export function subjectOf(
  face: RehearsedFace,
  context: {
    readonly client: KubeClient;
    readonly account: Account;
    readonly older: RehearsedRelease;
    readonly pace: Pace;
  },
): Subject {
  return face === 'Payload' ? payloadSubject(context) : versionSubject(context);
}

function payloadSubject({ client, account }: Parameters<typeof subjectOf>[1]): Subject {
  return {
    ...{ owner: `${Payload.kind} ${PAYLOAD.name}`, key: undefined, flags: [] },
    create: async (image) => {
      await client.create(Payload, {
        metadata: PAYLOAD,
        spec: { image, serviceAccount: account, verify: { unsigned: true } },
      });
    },
    want: async (asked) => {
      const spec = 'image' in asked ? { ...asked, version: null } : { ...asked, image: null };
      const { metadata } = await client.mergePatch(Payload, PAYLOAD, { spec } as object);
      return metadata.generation ?? 0;
    },
    current: (signal) => client.get(Payload, PAYLOAD, signal === undefined ? {} : { signal }),
    progressOf: ({ status }) => {
      const { progress = '' } = (status ?? {}) as { readonly progress?: string };
      const [done = 0, total = 1] = progress.split('/').map(Number);
      return [done, total];
    },
  };
}

function versionSubject({ client, account, older, pace }: Parameters<typeof subjectOf>[1]): Subject {
  const definition = older.crds.get(VERSIONS)?.manifest;
  if (definition === undefined)
    throw new ReleaseError(
      'REHEARSAL',
      `the older release has no definition ${VERSIONS}: rehearse it as a Payload, or name a release that has it`,
    );
  const update = (asked: object): object => ({ spec: { desiredUpdate: { force: true, ...asked } } });
  return {
    ...{ owner: `${ClusterVersion.kind} ${VERSION.name}`, key: `${VERSIONS} ${VERSION.name}` },
    flags: ['--release-account', `${account.namespace}/${account.name}`],
    create: async (image) => {
      const spec = { clusterID: '6b0d6f0c-2f7b-4b0e-9d7e-0c5c2c9d3c11', ...{ desiredUpdate: { image, force: true } } };
      // An installer brings this definition: without it nobody can say what is wanted.
      await client.create(CustomResourceDefinition, definition as never);
      await pace.until(`${VERSIONS} to be served`, READY_MS, async () => {
        try {
          await client.create(ClusterVersion, { metadata: VERSION, spec } as ClusterVersion);
          return true;
        } catch (error) {
          if (error instanceof ApiError && (error.code === 'NotFound' || error.retriable)) return false;
          throw error;
        }
      });
    },
    want: async (asked) => {
      // Nobody signs a rehearsal: force stands for the signature, and for the findings that are to be accepted.
      const next =
        'image' in asked
          ? update({ image: asked.image, version: null })
          : update({ image: null, version: asked.version });
      const { metadata } = await client.mergePatch(ClusterVersion, VERSION, next);
      return metadata.generation ?? 0;
    },
    current: (signal) =>
      client.get(ClusterVersion, VERSION, signal === undefined ? {} : { signal }) as Promise<RehearsedObject>,
    progressOf: ({ status }) => {
      const progressing = status?.conditions?.find(({ type }) => type === 'Progressing');
      const [, done = 0, total = 1] = (/(\d+) of (\d+) done/.exec(progressing?.message ?? '') ?? []).map(Number);
      return [done, total];
    },
  };
}
