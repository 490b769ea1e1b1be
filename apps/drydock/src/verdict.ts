import { ClusterOperator } from '@drydock/api';
import { oneLine } from '@drydock/api/text';
import { type Client, isForbidden, isNotFound } from '@drydock/kube';
import { age } from './table.ts';

/** What a ClusterOperator tells the release manager of boot images. */
export interface UpgradeVerdict {
  readonly clusterOperator: string;
  /** Whether it is Drydock's; else machine-config-operator's. */
  readonly own: boolean;
  /** False: the release manager refuses the next minor release. */
  readonly upgradeable: boolean;
  readonly reason: string;
  readonly message: string;
  /** RFC 3339. */
  readonly since: string | undefined;
}

/** Whether boot images hold minor upgrades up, and who says so. */
export type UpgradeVerdicts =
  | { readonly kind: 'read'; readonly verdicts: readonly UpgradeVerdict[] }
  /** Whoever asks may not read ClusterOperators. */
  | { readonly kind: 'unread'; readonly why: string };

const UPSTREAM = 'machine-config';
const UPSTREAM_REASON = 'ClusterBootImageSkewError';

/** Reads Drydock's verdict, and upstream's where that one holds upgrades up because of boot images. */
export async function upgradeVerdicts(client: Pick<Client, 'list'>, signal: AbortSignal): Promise<UpgradeVerdicts> {
  const verdicts: UpgradeVerdict[] = [];
  try {
    for await (const { metadata, status } of client.list(ClusterOperator, {}, { signal })) {
      const own = metadata.labels?.['app.kubernetes.io/managed-by'] === 'drydock';
      const found = status?.conditions?.find(({ type }) => type === 'Upgradeable');
      const upgradeable = found?.status !== 'False';
      const { reason = '', message = '', lastTransitionTime: since } = found ?? {};
      if (own || (metadata.name === UPSTREAM && !upgradeable && reason === UPSTREAM_REASON))
        verdicts.push({ clusterOperator: metadata.name, own, upgradeable, reason, message, since });
    }
    return { kind: 'read', verdicts };
  } catch (error) {
    signal.throwIfAborted();
    // A cluster without the kind has no release manager.
    if (isNotFound(error)) return { kind: 'read', verdicts: [] };
    if (isForbidden(error)) return { kind: 'unread', why: error instanceof Error ? error.message : String(error) };
    throw error;
  }
}

/** Who holds minor upgrades up, a sentence each without its full stop; `led`: whether somebody leads, who would take a verdict of Drydock's back. */
export function heldUp(verdict: UpgradeVerdict, led: boolean, now?: number): string {
  const { clusterOperator, own, message, since } = verdict;
  const who = own ? 'Drydock' : 'machine-config-operator';
  const when = since === undefined ? '' : ` since ${age(since, now)}`;
  const orphaned = own && !led ? ', which nobody renews' : '';
  return oneLine(`ClusterOperator ${clusterOperator} (${who}${orphaned}) holds minor upgrades up${when}: ${message}`);
}

/** What a person does about it. */
export function verdictNext({ clusterOperator, own }: UpgradeVerdict, led: boolean): string {
  if (own && !led) return `drydock operator, or kubectl delete clusteroperator ${clusterOperator}`;
  return 'drydock status -o wide, for the sets whose images are too old or fail';
}

/** The lines of `drydock status`: nothing where nothing is held up. */
export function verdictText(found: UpgradeVerdicts, led: boolean, now?: number): string {
  if (found.kind === 'unread')
    return `Whether boot images hold minor upgrades up could not be read: ${oneLine(found.why)}\n`;
  const lines = found.verdicts
    .filter(({ upgradeable }) => !upgradeable)
    .map((verdict) => `${heldUp(verdict, led, now)}\n  Next: ${verdictNext(verdict, led)}\n`);
  return lines.join('');
}
