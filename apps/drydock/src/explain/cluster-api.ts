import { BootImage, type BootImageStatus } from '@drydock/api';
import { CLUSTER_API, type Explanation, type World } from '@drydock/boot-images';
import { isNotFound, type KubeClient } from '@drydock/kube';
import { withTurns } from '../cluster-standings.ts';
import { UsageError } from '../exit.ts';
import type { Leadership } from '../leadership.ts';
import type { Explained } from './explained.ts';

/** How sets of Cluster API are named, besides those of OpenShift. */
const PREFIX = 'capi-';

const STEPS: Readonly<Record<string, Explanation['step']>> = {
  ...{ Current: 'none', Skipped: 'skip', Pending: 'wait', Blocked: 'blocked', Failed: 'failed' },
  ...{ Downloading: 'publish', Uploading: 'publish', Publishing: 'publish', Switching: 'switch' },
};

/** Splits names of sets into those of Cluster API, `capi-md/NAME`, and those of OpenShift; undefined: none of them are meant, of either: all. */
export function splitNames(names: readonly string[]): {
  readonly clusterApi: readonly string[] | undefined;
  readonly openshift: readonly string[] | undefined;
} {
  if (names.length === 0) return { clusterApi: [], openshift: [] };
  const clusterApi = names.filter((name) => name.startsWith(PREFIX));
  const openshift = names.filter((name) => !name.startsWith(PREFIX));
  return {
    clusterApi: clusterApi.length === 0 ? undefined : clusterApi,
    openshift: openshift.length === 0 ? undefined : openshift,
  };
}

/**
 * Sets of Cluster API, of all namespaces or of one, as the operator speaks of them in their BootImages, and as the pace of their policy has them wait: what it decides depends on machines, clusters and vCenters at once, and it says of each what comes next. None: all.
 */
export async function explainClusterApi(
  client: Pick<KubeClient, 'list' | 'raw'>,
  names: readonly string[],
  known: { readonly world: World; readonly leader: Leadership; readonly signal: AbortSignal },
): Promise<readonly Explained[]> {
  const { signal } = known;
  let images: readonly BootImage[];
  try {
    images = await Array.fromAsync(client.list(BootImage, {}, { signal }));
  } catch (error) {
    if (isNotFound(error)) return [];
    throw error;
  }
  const rotated = images.filter(({ spec }) => spec?.machineSet?.apiGroup?.endsWith(CLUSTER_API) === true);
  const told = await withTurns(client, rotated, known);
  const all = told.map(
    (image, at) => [image.status?.set ?? image.metadata.name, explainedOf(image, rotated[at]?.status)] as const,
  );
  if (names.length === 0) return all.map(([, one]) => one);
  return names.flatMap((name) => {
    const found = all.filter(([id]) => id === name);
    if (found.length > 0) return found.map(([, one]) => one);
    const there = [...new Set(all.map(([id]) => id))].join(', ');
    throw new UsageError(`there is no set ${name}; there ${there === '' ? 'are none' : `are ${there}`}`);
  });
}

function explainedOf({ metadata, status }: BootImage, operator: BootImageStatus | undefined): Explained {
  const { set = metadata.name, phase = '', message, nextStep, current, target } = status ?? {};
  return {
    set: `${metadata.namespace}/${set}`,
    answers: [],
    step: STEPS[phase] ?? 'unknown',
    why: message ?? 'the operator has not spoken of it yet',
    ...(nextStep === undefined ? {} : { nextStep }),
    ...(current === undefined ? {} : { current }),
    ...(target === undefined ? {} : { target }),
    operator,
  };
}
