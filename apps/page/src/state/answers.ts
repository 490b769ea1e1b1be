import type { BootImage } from '@drydock/api';
import type { TreeRegion, TreeSet } from '@drydock/boot-images';
import { because, type Reason, rank, shareOf, worst } from './answer.ts';
import type { Answer, AnswerRow, Progress } from './page-state.ts';
import type { PageWorld } from './page-world.ts';
import { setAnswer } from './set-answer.ts';
import { type VCenterView, vcenterReasons, wantedKey } from './vcenters.ts';

/** A set with where it is. */
export interface PlacedSet {
  readonly cluster: string;
  readonly kind: NonNullable<TreeRegion['kind']> | '';
  readonly region: string;
  readonly failureDomain: string;
  readonly set: TreeSet;
  readonly image: BootImage | undefined;
  /** Undefined where the set is gone. */
  readonly answer: ReturnType<typeof setAnswer>;
}

/** All sets of the tree, each with its place and what `status` says of it. */
export function placedSets({
  tree,
  images,
  leader,
}: Pick<PageWorld, 'tree' | 'images' | 'leader'>): readonly PlacedSet[] {
  const byId = new Map(
    images.map((image) => [setId(image.metadata.namespace, image.status?.set ?? image.metadata.name), image]),
  );
  return tree.clusters.flatMap((cluster) =>
    cluster.releases.flatMap(({ regions }) =>
      regions.flatMap(({ kind = '' as const, region = '', failureDomains }) =>
        failureDomains.flatMap(({ failureDomain = '', images: inDomain }) =>
          inDomain.flatMap(({ sets }) =>
            sets.map((set) => {
              const image = byId.get(setId(set.namespace, set.set));
              const place = { cluster: cluster.name ?? '', kind, region, failureDomain };
              return { ...place, set, image, answer: setAnswer(set, image, leader) };
            }),
          ),
        ),
      ),
    ),
  );
}

/** The identity of a set on the page. */
export function setId(namespace: string | undefined, set: string): string {
  return `${namespace ?? ''}/${set}`;
}

/** What decides about a place besides its sets. */
export type PageView = VCenterView & Pick<PageWorld, 'leader'>;

/** The bytes that are still to come to each failure domain of vCenters. Sets that wait for one image wait for the same bytes. */
export function wantedBytes(placed: readonly PlacedSet[]): ReadonlyMap<string, number> {
  const byImage = new Map<string, { readonly key: string; readonly left: number }>();
  for (const { kind, region, failureDomain, set, image } of placed) {
    const { progressDetail, operation } = image?.status ?? {};
    const { total, bytes = 0 } = progressDetail ?? {};
    if (kind !== 'vCenter' || total === undefined) continue;
    const key = wantedKey(region, failureDomain);
    byImage.set(`${key} ${operation?.name ?? setId(set.namespace, set.set)}`, {
      key,
      left: Math.max(0, total - bytes),
    });
  }
  const wanted = new Map<string, number>();
  for (const { key, left } of byImage.values()) wanted.set(key, (wanted.get(key) ?? 0) + left);
  return wanted;
}

/** What speaks against a place, whatever its sets are like. */
export function placeReasons(
  { kind, region, failureDomain }: Pick<PlacedSet, 'kind' | 'region' | 'failureDomain'>,
  world: PageView,
): readonly Reason[] {
  return [...leaderReasons(world), ...(kind === 'vCenter' ? vcenterReasons(region, failureDomain, world) : [])];
}

/** The answer of a set in its place; a place says nothing about a set that is not managed there. */
export function answerInPlace({ answer }: PlacedSet, reasons: readonly Reason[]): Answer {
  if (answer?.answer === 'unmanaged') return answer.answer;
  return worst([answer?.answer ?? 'unknown', ...reasons.map((reason) => reason.answer)]) ?? 'unknown';
}

/** "Can I scale now?": one row for each failure domain of each cluster that has sets, the worst first. */
export function answerRows(placed: readonly PlacedSet[], world: PageView): readonly AnswerRow[] {
  const groups = Map.groupBy(
    placed.filter(({ answer }) => answer !== undefined),
    ({ cluster, kind, region, failureDomain }) => JSON.stringify([cluster, kind, region, failureDomain]),
  );
  return [...groups.values()]
    .flatMap((group) => rowOf(group, world))
    .toSorted((a, b) => rank(a.answer) - rank(b.answer) || (a.id < b.id ? -1 : 1));
}

function rowOf(group: readonly PlacedSet[], world: PageView): readonly AnswerRow[] {
  const [first] = group;
  if (first === undefined) return [];
  const { cluster, kind, region, failureDomain } = first;
  const ofSets = group.flatMap(({ set, answer }): readonly Reason[] => {
    if (answer?.text === undefined) return [];
    const { nextStep } = answer;
    return [
      { answer: answer.answer, text: answer.text, set: set.set, ...(nextStep === undefined ? {} : { nextStep }) },
    ];
  });
  const reasons = placeReasons(first, world);
  const answers = group.map((one) => answerInPlace(one, reasons));
  const share = shareOf(answers);
  const ofPlace = share.unmanaged === group.length ? [] : reasons;
  const progress = sum(group.flatMap(({ image }) => image?.status?.progressDetail ?? []));
  return [
    {
      ...{ id: [cluster, kind, region, failureDomain].join(' / '), cluster, kind, region, failureDomain },
      answer: worst(answers) ?? 'unmanaged',
      ...{ sets: group.length, ready: share.yes, share },
      because: because([...ofPlace, ...ofSets]),
      ...(progress === undefined ? {} : { progress }),
    },
  ];
}

function leaderReasons({ leader }: Pick<PageWorld, 'leader'>): readonly Reason[] {
  if (leader.state === 'led') return [];
  const { text, nextStep } = leader;
  return [{ answer: 'unknown', text, ...(nextStep === undefined ? {} : { nextStep }) }];
}

/** Uploads to one place share the way: bytes and rates add up, and the last one to end decides when that is. */
function sum(all: readonly Progress[]): Progress | undefined {
  if (all.length === 0) return undefined;
  const added = (of: (one: Progress) => number | undefined): number | undefined => {
    const known = all.map(of);
    return known.some((value) => value === undefined) ? undefined : known.reduce((a = 0, b = 0) => a + b, 0);
  };
  const [bytes, total, rate] = [added((one) => one.bytes), added((one) => one.total), added((one) => one.rate)];
  const ends = all.map(({ etaSeconds }) => etaSeconds);
  const known = ends.filter((end) => end !== undefined);
  return {
    ...(bytes === undefined ? {} : { bytes }),
    ...(total === undefined ? {} : { total }),
    ...(rate === undefined ? {} : { rate }),
    ...(known.length === all.length ? { etaSeconds: Math.max(...known) } : {}),
  };
}
