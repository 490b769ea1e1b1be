import { keptSets, machineApiNamespace, placementsOf, platformOf, referenceIndex } from '@drydock/boot-images';
import type { KubeClient } from '@drydock/kube';
import type { ReadKeys } from '@drydock/templates';
import { worldsOf } from '../cluster-api-part.ts';
import { type ClusterImages, clusterImages } from '../cluster-images.ts';
import { explainClusterApi } from '../explain/cluster-api.ts';
import { leadershipOf } from '../leadership.ts';
import { type MarkKeyFlags, markKeySecret } from '../mark-keys.ts';
import { OWNERSHIP, readClusterLedger } from '../ownership-ledger.ts';
import { ledgerEntryLines } from '../template/doctor-server.ts';
import { shell } from '../template/next-command.ts';
import type { VCenterFlags } from '../vcenter-flags.ts';
import { healthLines } from '../vcenter-health.ts';
import { vcenterHealth } from '../vcenter-notes.ts';
import { definitionLines, installationLine, openshiftLines, serverLine, shadowLine, watchLine } from './cluster.ts';
import { type Finding, type Line, lookedAt } from './finding.ts';
import { libraryItemsOf } from './libraries.ts';
import { setLine } from './machine-sets.ts';
import { lookAtMarkKeys } from './mark-key.ts';
import { leaseLine, ledgerLines, statusLines, verdictLines } from './operator.ts';
import { rightsLine } from './rights.ts';
import { vcenterFindings } from './vcenter.ts';

/** What {@link examine} looks at. */
export interface Examined {
  readonly flags: VCenterFlags & MarkKeyFlags;
  /** Of the operator. */
  readonly roles: ReadonlySet<string>;
  readonly leaseNamespace: string;
  readonly signal: AbortSignal;
}

/** Looks at everything once, from the API server to the places in vCenters. It writes nothing. */
export async function examine(
  client: KubeClient,
  { flags, roles, leaseNamespace, signal }: Examined,
): Promise<readonly Finding[]> {
  const findings: Finding[] = [];
  const look = async (area: string, name: string, work: () => Promise<Line | readonly Line[]>): Promise<void> => {
    findings.push(...(await lookedAt(area, name, signal, work)));
  };
  await look('cluster', 'api server', () => serverLine(client, signal));
  // Everything else would say the same.
  if (findings.some(({ state }) => state === 'FAIL')) return findings;
  const warn = (detail: string): void => {
    findings.push({ area: 'cluster', name: 'vcenters', state: 'warn', detail });
  };
  await using images = await clusterImages({
    ...{ client, flags, leaseNamespace, warn, signal },
    markKeySecret: flags.markKeySecret,
  });
  const { world } = images;
  const owned = { roles, namespace: leaseNamespace };
  const worlds = await worldsOf(client, { warn: () => undefined });
  await look('cluster', 'openshift', async () => openshiftLines(world, worlds));
  await look('cluster', 'installation', async () => installationLine(worlds));
  await look('cluster', 'definition', () => definitionLines(client, signal));
  await look('cluster', 'probes', () => shadowLine(client, signal));
  if (roles.has('watch')) await look('cluster', 'watched kinds', () => watchLine(client, signal));
  for (const role of roles) {
    if (role !== 'boot-images' || worlds.openshift)
      await look('rights', role, () => rightsLine(client, { role, leaseNamespace }, signal));
    if (role === 'boot-images' && worlds.clusterApi !== undefined)
      await look('rights', 'cluster-api', () => rightsLine(client, { role: 'cluster-api', leaseNamespace }, signal));
  }
  for (const role of roles)
    await look('operator', role, () => leaseLine(client, { role, namespace: leaseNamespace }, signal));
  await look('operator', 'statuses', () => statusLines(client, owned, signal));
  await look('operator', 'ledgers', () => ledgerLines(client, owned, signal));
  if (roles.has('boot-images'))
    await look('operator', 'ownership ledger', () => {
      const maps = `ConfigMaps ${OWNERSHIP.name}-0 to -${OWNERSHIP.shards - 1} in ${leaseNamespace}`;
      const show = shell`kubectl get configmap -n ${leaseNamespace} -o yaml | grep vm.`;
      return ledgerEntryLines(
        readClusterLedger(client, leaseNamespace, () => undefined),
        maps,
        show,
      );
    });
  if (roles.has('boot-images'))
    await look('operator', 'vcenters', async () =>
      healthLines(await vcenterHealth(client, { namespace: leaseNamespace, now: new Date(), signal }), Date.now()),
    );
  if (roles.has('boot-images')) await look('operator', 'upgrades', () => verdictLines(client, owned, signal));
  let markKeys: ReadKeys | undefined;
  // Marks are of templates, which clouds have none of.
  if (roles.has('boot-images') && (platformOf(world) ?? 'VSphere') === 'VSphere') {
    await look('operator', 'mark key', async () => {
      const looked = await lookAtMarkKeys(client, markKeySecret(flags.markKeySecret), signal);
      markKeys = looked.read;
      return looked.line;
    });
  }
  await look('machine sets', 'machine sets', () =>
    setLines(images, worlds.clusterApi === undefined ? undefined : client, { leaseNamespace, signal }),
  );
  await look('vcenters', 'vcenters', async () => {
    findings.push(...(await onVCenters(images, markKeys, signal)));
    return [];
  });
  return findings;
}

async function setLines(
  { world, explain }: ClusterImages,
  client: KubeClient | undefined,
  { leaseNamespace, signal }: { readonly leaseNamespace: string; readonly signal: AbortSignal },
): Promise<readonly Line[]> {
  const lines: Line[] = [];
  for (const set of keptSets(world)) lines.push(setLine(await explain(set)));
  if (client !== undefined) {
    const leader = await leadershipOf(client, { role: 'boot-images', namespace: leaseNamespace }, { signal });
    lines.push(...(await explainClusterApi(client, [], { world, leader, signal })).map(setLine));
  }
  if (lines.length > 0) return lines;
  return [{ name: 'machine sets', state: 'skip', detail: `there are none in ${machineApiNamespace}` }];
}

async function onVCenters(
  { vcenters, store, world }: ClusterImages,
  markKeys: ReadKeys | undefined,
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  const infrastructure = world.infrastructure();
  if (infrastructure === undefined) return [];
  const servers = (infrastructure.spec?.platformSpec?.vsphere?.vcenters ?? []).map(({ server }) => server);
  const specs = world.machineSets().map(({ spec }) => spec?.template?.spec?.providerSpec?.value ?? {});
  const placements = placementsOf(specs, infrastructure);
  const tag = infrastructure.status?.infrastructureName;
  const owner = world.clusterVersion()?.spec?.clusterID ?? tag ?? '';
  const libraryItems = libraryItemsOf(world.bootImagePolicies());
  const referrer = referenceIndex({
    ...{ machineSets: world.machineSets(), machines: world.machines() },
    ...{ controlPlaneMachineSets: world.controlPlaneMachineSets(), infrastructure },
  });
  const usedBy = (name: string): string | undefined => {
    const user = referrer(name);
    return user === 'unknown' ? undefined : user;
  };
  const found = servers.map((server) =>
    vcenterFindings(
      {
        ...{ server, store, owner, tag, markKeys, usedBy, libraryItems },
        connect: () => vcenters.of(server),
        placements: placements.filter((placement) => placement.server === server),
      },
      signal,
    ),
  );
  return (await Promise.all(found)).flat();
}
