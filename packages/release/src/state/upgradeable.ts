import { minorOf } from './versions.ts';

/** Why a cluster may not go to another minor; each is a condition of its own, `Upgradeable` with the reason behind. */
export interface UpgradeRisk {
  readonly reason: string;
  readonly message: string;
}

/** What decides about it. */
export interface UpgradeWorld {
  /** The release that is applied now. */
  readonly version: string;
  readonly updating: boolean;
  /** Objects that an administrator keeps for himself, in words. */
  readonly overridden: readonly string[];
  /** Objects that the release deletes and that are not gone, in words. */
  readonly deleting: readonly string[];
  /** ConfigMap `admin-gates`: `ack-4.14-NAME` with the reason. */
  readonly gates: Readonly<Record<string, string>>;
  /** ConfigMap `admin-acks`: the same keys with `true`. */
  readonly acks: Readonly<Record<string, string>>;
  /** Operators that say that they are not upgradeable. */
  readonly operators: readonly { readonly name: string; readonly reason: string; readonly message: string }[];
}

const GATE = /^ack-(\d+\.\d+)-[^-]/;
/** Of many only the first are told. */
const TOLD = 10;

/** All that stands against another minor, as openshift/cluster-version-operator names it. */
export function upgradeRisks(world: UpgradeWorld): readonly UpgradeRisk[] {
  const { version, updating, overridden, deleting, operators } = world;
  const risks: UpgradeRisk[] = [];
  if (updating)
    risks.push({ reason: 'ClusterVersionUpdating', message: `The release ${version} is not complete yet.` });
  if (overridden.length > 0)
    risks.push({
      reason: 'ClusterVersionOverrides',
      message: `Overrides leave ${told(overridden)} unmanaged. Remove them first.`,
    });
  if (deleting.length > 0)
    risks.push({ reason: 'ResourceDeletionInProgress', message: `Deletion has not ended of ${told(deleting)}.` });
  const gates = unacknowledged(world);
  if (gates.length > 0)
    risks.push({
      reason: 'AdminAckRequired',
      message: gates.map(([key, why]) => `${why} Say so with ${key}=true in ConfigMap admin-acks.`).join(' '),
    });
  for (const { name, reason, message } of operators.slice(0, TOLD))
    risks.push({
      reason: `ClusterOperatorUpgradeable-${name}`,
      message: `Cluster operator ${name} should not be upgraded between minor versions: ${reason}: ${message}`,
    });
  return risks;
}

/** The operators whose own condition Upgradeable is False. */
export function notUpgradeableOperators(
  operators: readonly {
    readonly metadata: { readonly name: string };
    readonly status?: {
      readonly conditions?: readonly {
        readonly type: string;
        readonly status: string;
        readonly reason?: string;
        readonly message?: string;
      }[];
    };
  }[],
): UpgradeWorld['operators'] {
  return operators.flatMap(({ metadata: { name }, status }) => {
    const said = status?.conditions?.find(({ type }) => type === 'Upgradeable');
    return said?.status === 'False' ? [{ name, reason: said.reason ?? '', message: said.message ?? '' }] : [];
  });
}

/** Gates of the minor that runs; those of others are for later, or were. */
function unacknowledged({ version, gates, acks }: UpgradeWorld): readonly (readonly [string, string])[] {
  const minor = minorOf(version);
  return Object.entries(gates)
    .filter(([key]) => GATE.exec(key)?.[1] === minor && acks[key] !== 'true')
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .slice(0, TOLD);
}

function told(names: readonly string[]): string {
  const more = names.length - TOLD;
  return `${names.slice(0, TOLD).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}
