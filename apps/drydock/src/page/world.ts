import type { KubeClient } from '@drydock/kube';
import type { PageWorld, Told } from '@drydock/page';
import { lateText } from '@drydock/vsphere';
import { isLed } from '../cluster-standings.ts';
import { eventsOfOurs } from '../events-of-ours.ts';
import { LOGIN_NEXT, refusedLogins } from '../login-notes.ts';
import { managedReleases } from '../release/managed.ts';
import { leaderWords, notesText, unreadText } from '../status.ts';
import { statusNotes } from '../status-notes.ts';
import { clusterTreeNow } from '../tree/cluster-tree.ts';
import { vcenterHealth } from '../vcenter-notes.ts';
import { heldUp, type UpgradeVerdicts, upgradeVerdicts, verdictNext, verdictText } from '../verdict.ts';

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
  const { images, tree, leader, now } = found;
  const time = now.getTime();
  const unread = [...found.unread, ...releases.unread, ...events.unread];
  return {
    ...{ now, images, tree, events: events.events, releases: releases.releases },
    leader: { state: leader.state, ...leaderWords(leader, time) },
    logins: logins.map((note) => ({ server: note.server, text: lateText(note), nextStep: LOGIN_NEXT })),
    vcenters: await vcenterHealth(client, { namespace: leaseNamespace, now, signal }),
    notes: [
      ...verdictNotes(verdicts, isLed(leader), time),
      ...(notes === undefined ? [] : linesOf(notesText(notes, time))),
      ...linesOf(unreadText(unread)),
    ],
  };
}

function verdictNotes(found: UpgradeVerdicts, led: boolean, now: number): readonly Told[] {
  if (found.kind === 'unread') return linesOf(verdictText(found, led, now));
  return found.verdicts
    .filter(({ upgradeable }) => !upgradeable)
    .map((verdict) => ({ text: heldUp(verdict, led, now), nextStep: verdictNext(verdict, led) }));
}

function linesOf(text: string): readonly Told[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => ({ text: line }));
}
