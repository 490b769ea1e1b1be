import type { KubeClient } from '@drydock/kube';
import type { PageWorld, Told } from '@drydock/page';
import { isLed } from '../cluster-standings.ts';
import { eventsOfOurs } from '../events-of-ours.ts';
import { refusedLogins } from '../login-notes.ts';
import { managedReleases } from '../release/managed.ts';
import { notesText, unreadText } from '../status.ts';
import { statusNotes } from '../status-notes.ts';
import { clusterTreeNow } from '../tree/cluster-tree.ts';
import { vcenterHealth } from '../vcenter-notes.ts';
import { heldUp, type UpgradeVerdicts, upgradeVerdicts, verdictNext, verdictText } from '../verdict.ts';
import { scaleWorld } from './scale-world.ts';

/** Which cluster, and where the operator keeps its Leases. */
export interface PageWorldFlags {
  readonly leaseNamespace: string;
}

/** Reads everything that the page shows, by what `status`, `tree` and `release status` read it with. Nothing is asked of vCenters, and nothing is written. */
export async function pageWorld(
  client: Pick<KubeClient, 'get' | 'list' | 'raw'>,
  { leaseNamespace }: PageWorldFlags,
  signal: AbortSignal,
): Promise<PageWorld> {
  const [found, notes, logins, verdicts, releases, events] = await Promise.all([
    clusterTreeNow(client, { leaseNamespace }, signal),
    statusNotes(client, leaseNamespace),
    refusedLogins(client, leaseNamespace),
    upgradeVerdicts(client, signal),
    managedReleases(client, signal),
    eventsOfOurs(client, signal),
  ]);
  const { leader, now } = found;
  const vcenters = await vcenterHealth(client, { namespace: leaseNamespace, now, signal });
  const unread = [...found.unread, ...releases.unread, ...events.unread];
  return {
    ...{ ...scaleWorld(found, logins, vcenters), events: events.events, releases: releases.releases },
    notes: [
      ...verdictNotes(verdicts, isLed(leader)),
      ...(notes === undefined ? [] : linesOf(notesText(notes, now.getTime(), { times: true }))),
      ...linesOf(unreadText(unread)),
    ],
  };
}

function verdictNotes(found: UpgradeVerdicts, led: boolean): readonly Told[] {
  if (found.kind === 'unread') return linesOf(verdictText(found, led));
  return found.verdicts
    .filter(({ upgradeable }) => !upgradeable)
    .map((verdict) => ({ text: heldUp(verdict, led), nextStep: verdictNext(verdict, led) }));
}

function linesOf(text: string): readonly Told[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => ({ text: line }));
}
