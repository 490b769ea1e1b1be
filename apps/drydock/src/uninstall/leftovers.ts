import { placementsOf } from '@drydock/boot-images';
import { keyText } from '@drydock/kube';
import type { ListedTemplate } from '@drydock/templates';
import type { ClusterImages } from '../cluster-images.ts';
import { type Installation, NAMESPACE } from './installation.ts';

const OURS: ReadonlySet<ListedTemplate['role']> = new Set(['current', 'retired', 'adopted', 'staged', 'unfinished']);

/** What an uninstallation leaves, a sentence each: what others need, and what is not in the cluster. */
export async function leftoversOf(
  installation: Installation,
  images: Pick<ClusterImages, 'world' | 'store'>,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const { markKeys, optional, ownership, zonesOf } = installation;
  return [
    ...(await templateLines(images, signal)),
    ...markKeys.map(
      (key) =>
        `Secret ${keyText(key)}: it proves which templates are Drydock's, and the next installation needs it. It is gone for good with its namespace`,
    ),
    ...(ownership.length === 0
      ? []
      : [
          `ConfigMaps ${ownership.map(keyText).join(', ')}: they record which templates Drydock owns, and the next installation needs them`,
        ]),
    `Namespace ${NAMESPACE}, if it is there: when nothing in it is needed any more, kubectl delete namespace ${NAMESPACE}`,
    'MachineConfiguration cluster: its conditions BootImageUpdateProgressing and BootImageUpdateDegraded say what was last, as those of upstream do',
    'user-data Secrets that were brought to a newer version of Ignition, the Secrets NAME-ignition-2 that keep what they said before, and Events, which expire',
    ...(optional.length === 0
      ? []
      : [
          `definitions that hold objects of others: ${optional.join(', ')}; kubectl delete crd takes the objects with them`,
        ]),
    ...(zonesOf === undefined ? [] : [`finalizers of Zones: these are ${zonesOf}'s`]),
  ];
}

async function templateLines(
  { world, store }: Pick<ClusterImages, 'world' | 'store'>,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const infrastructure = world.infrastructure();
  if (infrastructure === undefined) return [];
  const sets = world.machineSets();
  const specs = sets.map(({ spec }) => spec?.template?.spec?.providerSpec?.value ?? {});
  const owner = world.clusterVersion()?.spec?.clusterID ?? infrastructure.status?.infrastructureName ?? '';
  const folders = new Map(placementsOf(specs, infrastructure).map((one) => [`${one.server} ${one.folder}`, one]));
  const lines: string[] = [];
  for (const placement of folders.values()) {
    const { server, folder } = placement;
    try {
      const there = await store.list(placement, owner, { signal });
      const names = there.filter(({ role }) => OURS.has(role)).map(({ name }) => name);
      if (names.length > 0)
        lines.push(`templates in ${folder} on ${server}, from which machine sets boot: ${names.join(', ')}`);
    } catch (error) {
      signal.throwIfAborted();
      const used = specs.map((spec) => spec['template']).filter((name) => typeof name === 'string');
      const why = error instanceof Error ? error.message : String(error);
      lines.push(
        `templates in ${folder} on ${server}. They could not be listed (${why.replace(/\.$/, '')}); machine sets boot from ${[...new Set(used)].join(', ')}`,
      );
    }
  }
  return lines;
}
