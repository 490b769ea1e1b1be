import { BootImage, ConfigMap, Lease, MachineConfiguration, VirtualMachine } from '@drydock/api';
import { LEDGER_COMPONENT } from '@drydock/crd';
import { type Client, ifFound, type Resource } from '@drydock/kube';
import { elsewhereOf, leadershipOf, leadershipText, pausedOf } from '../leadership.ts';
import { statusKeepingRules } from '../status-keeping.ts';
import { statusNotes } from '../status-notes.ts';
import { age } from '../table.ts';
import { shell } from '../template/next-command.ts';
import { heldUp, upgradeVerdicts, verdictNext } from '../verdict.ts';
import type { Line } from './finding.ts';

/** Whether a role is led, and by whom. */
export async function leaseLine(
  client: Pick<Client, 'get' | 'list'>,
  where: { readonly role: string; readonly namespace: string },
  signal: AbortSignal,
): Promise<Line> {
  const leadership = await leadershipOf(client, where, { signal });
  const elsewhere = elsewhereOf(leadership);
  // Without the right to read it nobody knows, which is told as such.
  if (leadership.state === 'unread') throw new Error(leadership.why);
  const detail = leadershipText(leadership, 'it', Date.now());
  if (pausedOf(leadership) !== undefined)
    return { name: where.role, state: 'warn', detail, next: shell`drydock resume --role ${where.role}` };
  if (leadership.state === 'led') return { name: where.role, state: 'ok', detail };
  if (elsewhere !== undefined)
    return { name: where.role, state: 'warn', detail, next: shell`drydock doctor --lease-namespace ${elsewhere}` };
  return { name: where.role, state: 'warn', detail, next: shell`drydock operator --roles ${where.role}` };
}

/** Whether boot images hold minor upgrades up, and who says so. */
export async function verdictLines(
  client: Pick<Client, 'get' | 'list'>,
  { namespace }: { readonly namespace: string },
  signal: AbortSignal,
): Promise<readonly Line[]> {
  const name = 'upgrades';
  const found = await upgradeVerdicts(client, signal);
  if (found.kind === 'unread') return [{ name, state: 'skip', detail: found.why }];
  const leader = await leadershipOf(client, { role: 'boot-images', namespace }, { signal });
  const led = leader.state === 'led' || leader.state === 'unread';
  const lines = found.verdicts.map((verdict): Line => {
    const { clusterOperator, upgradeable, message } = verdict;
    if (upgradeable) return { name, state: 'ok', detail: `ClusterOperator ${clusterOperator}: ${message}` };
    return { name, state: 'warn', detail: heldUp(verdict, led, Date.now()), next: verdictNext(verdict, led) };
  });
  if (lines.length > 0) return lines;
  return [{ name, state: 'ok', detail: 'no ClusterOperator holds minor upgrades up because of boot images' }];
}

/** What the operator cannot write into statuses, or not whole. */
export async function statusLines(
  client: Pick<Client, 'get'>,
  { roles, namespace }: { readonly roles: ReadonlySet<string>; readonly namespace: string },
  signal: AbortSignal,
): Promise<readonly Line[]> {
  // Whoever may not read a Lease knows nothing of its note, which must not look like good news.
  for (const role of roles) await leaseOf(client, { role, namespace }, signal);
  const notes = await statusNotes(client, namespace);
  if (notes === undefined) return [{ name: 'statuses', state: 'ok', detail: 'all that was told is written' }];
  const lines = notes.noted.map(({ definition, object, state, since, why }): Line => {
    const ago = age(since, Date.now());
    return state === 'blocked'
      ? {
          name: 'statuses',
          state: 'FAIL',
          detail: `${definition} ${object} is not written since ${ago}: ${why}`,
          next: shell`kubectl get crd ${definition} -o yaml`,
        }
      : {
          name: 'statuses',
          state: 'warn',
          detail: `${definition} ${object} lacks values since ${ago}, which the ledger keeps: ${why}`,
        };
  });
  return notes.more === 0 ? lines : [...lines, { name: 'statuses', state: 'warn', detail: `and ${notes.more} more` }];
}

/** What ledgers keep, and whether they are ours. */
export async function ledgerLines(
  client: Pick<Client, 'get'>,
  { roles, namespace }: { readonly roles: ReadonlySet<string>; readonly namespace: string },
  signal: AbortSignal,
): Promise<readonly Line[]> {
  const kinds: readonly Resource<never>[] = [
    ...(roles.has('boot-images') ? [BootImage as Resource<never>, MachineConfiguration as Resource<never>] : []),
    ...(roles.has('watch') ? [VirtualMachine as Resource<never>] : []),
  ];
  const names = statusKeepingRules(kinds).flatMap(({ resourceNames = [] }) => resourceNames);
  const lines: Line[] = [];
  let kept = 0;
  for (const ledger of names) {
    const map = await ifFound(client.get(ConfigMap, { namespace, name: ledger }, { signal }));
    if (map === undefined) continue;
    kept += Object.keys(map.data ?? {}).length;
    if (map.metadata.labels?.['app.kubernetes.io/component'] === LEDGER_COMPONENT) continue;
    const detail = `ConfigMap ${namespace}/${ledger} is somebody else's, so nothing can be kept in it`;
    lines.push({
      name: 'ledgers',
      state: 'FAIL',
      detail,
      next: shell`kubectl get configmap -n ${namespace} ${ledger} -o yaml`,
    });
  }
  if (lines.length > 0) return lines;
  const detail =
    kept === 0
      ? 'empty: no status lacks anything'
      : `${kept} ${kept === 1 ? 'object lacks' : 'objects lack'} values in their status, which are kept`;
  return [{ name: 'ledgers', state: 'ok', detail }];
}

function leaseOf(
  client: Pick<Client, 'get'>,
  { role, namespace }: { readonly role: string; readonly namespace: string },
  signal: AbortSignal,
): Promise<Lease | undefined> {
  return ifFound(client.get(Lease, { namespace, name: `drydock-${role}` }, { signal }));
}
