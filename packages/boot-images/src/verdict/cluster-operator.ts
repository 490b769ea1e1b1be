import { ClusterOperator, type ClusterVersion, type Condition, type MachineConfiguration } from '@drydock/api';
import {
  type CallOptions,
  type Client,
  ifFound,
  isAlreadyExists,
  isConflict,
  isNotFound,
  statusWriter,
} from '@drydock/kube';
import { upgradeBlock } from '../skew/guard.ts';
import { type ConditionLike, degradedType, progressingType, upsertConditions } from '../status/conditions.ts';

/** What the verdict is made of. */
export interface VerdictFacts {
  readonly mc: MachineConfiguration | undefined;
  readonly clusterVersion: ClusterVersion | undefined;
}

/** Writes what boot images say to the release manager of the cluster, and takes it off again. */
export interface Verdict {
  readonly write: (facts: VerdictFacts, call?: CallOptions) => Promise<void>;
  /** Nobody is held up by a verdict that nobody renews. */
  readonly remove: (call?: CallOptions) => Promise<void>;
}

/** What a verdict needs. */
export interface VerdictOptions {
  readonly client: Pick<Client, 'get' | 'create' | 'delete' | 'replaceStatus' | 'applyStatus'>;
  /** Our ClusterOperator, and the version of this program; undefined: none is kept. */
  readonly own: { readonly name: string; readonly version: string } | undefined;
  readonly now: () => Date;
  readonly warn: (message: string) => void;
}

/** On everything that the operator makes; a ClusterOperator without it is somebody else's and is never written. */
const OWN_LABEL = { 'app.kubernetes.io/managed-by': 'drydock' } as const;

const RELATED = [
  { group: 'operator.openshift.io', resource: 'machineconfigurations', name: 'cluster' },
  { group: 'machine.openshift.io', resource: 'machinesets', namespace: 'openshift-machine-api', name: '' },
  { group: 'drydock.dev', resource: 'bootimages', namespace: 'openshift-machine-api', name: '' },
] as const;

/**
 * The ClusterOperator in which boot images speak to the release manager (boot-images.md §7.5): Upgradeable is False while the
 * images in use are too old for the next minor release. It stands beside those of the payload, and only where nobody else
 * manages boot images.
 */
export function createVerdict(options: VerdictOptions): Verdict {
  const { client, own, now, warn } = options;
  const writer = statusWriter<ClusterOperator>({ client, resource: ClusterOperator });
  const told = new Set<string>();
  const once = (message: string): void => {
    if (!told.has(message)) warn(message);
    told.add(message);
  };

  async function read(name: string, call: CallOptions): Promise<ClusterOperator | undefined> {
    return await ifFound(client.get(ClusterOperator, { name }, call));
  }

  async function made(name: string, call: CallOptions): Promise<ClusterOperator | undefined> {
    const object = { metadata: { name, labels: OWN_LABEL }, spec: {} };
    try {
      return await client.create(ClusterOperator, object, call);
    } catch (error) {
      // A cluster without the kind has no release manager that would read it.
      if (isNotFound(error)) return undefined;
      if (isAlreadyExists(error)) return read(name, call);
      throw error;
    }
  }

  return {
    write: async (facts, call = {}) => {
      if (own === undefined) return;
      const { name, version } = own;
      const current = (await read(name, call)) ?? (await made(name, call));
      if (current === undefined) return;
      if (!isOwn(current)) {
        once(
          `clusteroperator ${name} is not Drydock's, so that nothing is said in it; another --cluster-operator can be`,
        );
        return;
      }
      await writer.write(
        { name },
        (live) => {
          const conditions = upsertConditions(live.status?.conditions, verdictOf(facts, once), now());
          const versions = [{ name: 'operator', version }];
          const same = conditions === live.status?.conditions && live.status?.versions?.[0]?.version === version;
          return same
            ? undefined
            : { ...live.status, conditions: conditions as readonly Condition[], versions, relatedObjects: RELATED };
        },
        { current, ...call },
      );
    },
    remove: async (call = {}) => {
      if (own === undefined) return;
      const { name } = own;
      const current = await read(name, call);
      if (current === undefined || !isOwn(current)) return;
      const { uid } = current.metadata;
      try {
        await client.delete(ClusterOperator, { name }, uid === undefined ? {} : { uid }, call);
      } catch (error) {
        if (!isNotFound(error) && !isConflict(error)) throw error;
      }
    },
  };
}

function isOwn({ metadata }: ClusterOperator): boolean {
  return Object.entries(OWN_LABEL).every(([key, value]) => metadata.labels?.[key] === value);
}

/** The four conditions that a release manager reads. */
export function verdictOf(
  { mc, clusterVersion }: VerdictFacts,
  warn: (message: string) => void = () => {},
): readonly ConditionLike[] {
  const found = (type: string): ConditionLike | undefined => mc?.status?.conditions?.find((one) => one.type === type);
  const [progressing, degraded] = [found(progressingType), found(degradedType)];
  const block = upgradeBlock(mc, clusterVersion, warn);
  return [
    condition('Available', 'True', 'AsExpected', 'boot images are looked after'),
    condition('Progressing', progressing?.status, progressing?.reason, progressing?.message),
    condition('Degraded', degraded?.status, degraded?.reason, degraded?.message),
    block === undefined
      ? condition('Upgradeable', 'True', 'AsExpected', 'no boot image in use is too old for the next minor release')
      : condition('Upgradeable', 'False', 'ClusterBootImageSkewError', block),
  ];
}

function condition(type: string, status = 'False', reason = 'AsExpected', message = ''): ConditionLike {
  return { type, status, reason, message };
}
