import { ClusterVersion, type CustomResourceDefinition } from '@drydock/api';
import {
  createLedger,
  createProjector,
  LEDGER_COMPONENT,
  type LedgerStore,
  ledgerName,
  liveVersion,
  lossPlace,
  readRecord,
} from '@drydock/crd';
import {
  ApiError,
  type CallOptions,
  type Client,
  configMapStore,
  isInvalid,
  type StatusOf,
  statusWriter,
} from '@drydock/kube';
import type { VersionStatus } from './capabilities.ts';
import { machineApi } from './cluster.ts';

/** What a writer means, given the status that it starts from. */
type Means = (status: VersionStatus) => VersionStatus;

const VERSION = { name: 'version' };
const LONG = 140;

/** Writes what it means, as every operator does. Resolves with the refusal, or undefined where the server took it. */
export function naiveWriter(client: Client, options: CallOptions): (means: Means) => Promise<ApiError | undefined> {
  return async (means) => {
    const current = await client.get(ClusterVersion, VERSION, options);
    const status = means((current.status ?? {}) as VersionStatus) as StatusOf<ClusterVersion>;
    try {
      await client.replaceStatus(ClusterVersion, { ...current, status }, options);
      return undefined;
    } catch (error) {
      if (error instanceof ApiError && isInvalid(error)) return error;
      throw error;
    }
  };
}

/** The refusals of a writer that is in the trap. Throws where one write was taken. */
export function expectRefused(answers: readonly (ApiError | undefined)[]): readonly ApiError[] {
  const refused = answers.filter((answer) => answer !== undefined);
  if (refused.length === answers.length && refused.length > 0) return refused;
  throw new Error(
    `the API server took ${answers.length - refused.length} of ${answers.length} writes of the naive writer: there is no trap`,
  );
}

/** The server's own words, shortened. */
export function refusalText(refusal: ApiError | undefined): string {
  const [cause] = refusal?.details.causes ?? [];
  const said = cause === undefined ? (refusal?.message ?? '') : `${cause.field}: ${cause.message}`;
  return said.length > LONG ? `${said.slice(0, LONG)}…` : said;
}

/** The one status writer of Drydock, with the projection on the live definition. */
export interface ProjectedWriter {
  write(means: Means): Promise<VersionStatus>;
}

/** Where the writer keeps what a definition cannot hold: a ConfigMap. */
export function ledgerStore(client: Client): LedgerStore {
  const name = ledgerName(ClusterVersion);
  return configMapStore({ client, namespace: machineApi, name, component: LEDGER_COMPONENT });
}

/** A writer of its own, as a new process has it: what it knows of the past is in the ledger. Any refusal that reaches its caller is an error. */
export function projectedWriter(
  client: Client,
  live: CustomResourceDefinition,
  store: LedgerStore,
  options: CallOptions,
): ProjectedWriter {
  const ledger = createLedger({ store });
  const { recall, project, refused, written, failed } = createProjector({
    live: liveVersion(() => live, ClusterVersion.version),
    ledger,
    release: 'demo',
  });
  const writer = statusWriter({ client, resource: ClusterVersion, recall, project, refused, written, failed });
  return {
    write: async (means) => {
      // With what was left out before: the next status is made from the whole one.
      const compute = ({ status = {} }: ClusterVersion): StatusOf<ClusterVersion> =>
        means(status as VersionStatus) as StatusOf<ClusterVersion>;
      try {
        const { object, written: stored } = await writer.write(VERSION, compute, options);
        if (!stored) throw new Error("Drydock's own status writer wrote nothing: its status is blocked");
        return (object.status ?? {}) as VersionStatus;
      } catch (error) {
        if (!(error instanceof ApiError) || !isInvalid(error)) throw error;
        throw new Error(`Drydock's own status writer was refused: ${refusalText(error)}`, { cause: error });
      }
    },
  };
}

/** What is kept in a ledger: places and values. */
export async function keptIn(store: LedgerStore): Promise<readonly string[]> {
  const records = [...(await store.read()).values()].map(readRecord);
  return records.flatMap(({ entries }) => entries.map((entry) => `${lossPlace(entry)} ${JSON.stringify(entry.value)}`));
}
