import type { BootImagePolicy, Infrastructure } from '@drydock/api';
import { BootImageError, orBootImageError } from '../errors.ts';
import { idOf, type KeptSet, setText } from '../observe/kept-set.ts';
import type { World } from '../observe/world.ts';
import { type PolicyPorts, policyOn } from '../policy/set-policy.ts';
import { type NamingPlatform, sharedNameOf } from './name.ts';
import { WantedByName } from './wanted.ts';

/** What is read besides, to see which sets make their machines from what bears one name. */
export interface SharedNamePorts extends PolicyPorts {
  readonly world: PolicyPorts['world'] & Pick<World, 'machineSets'>;
}

/** What is wanted under a name, and whose word that is. */
interface Wish {
  readonly policy: string | undefined;
  /** Undefined: that of the cluster. */
  readonly release: string | undefined;
  readonly set: KeptSet;
}

interface Wishes {
  readonly policies: readonly BootImagePolicy[];
  readonly infrastructure: Infrastructure | undefined;
  readonly platform: NamingPlatform;
  readonly wanted: WantedByName<Wish>;
}

const known = new WeakMap<readonly KeptSet[], Wishes>();

/**
 * By swap all sets under one name start from the same image. Where policies want different releases under it, one would take it from the other, again and again: throws `PolicyConflict`
 * for each of these sets, whose image stays as it is. All sets together cost one look at each.
 */
export function checkSharedName(set: KeptSet, platform: NamingPlatform, ports: SharedNamePorts): void {
  const policies = ports.world.bootImagePolicies();
  if (!policies.some(({ spec }) => spec?.image?.release !== undefined)) return;
  const own = wishOf(set, platform, ports);
  if (own === undefined) return;
  const others = wishesOf(policies, platform, ports).byOthers(own.name, idOf(set));
  const wish = others.find((other) => other.wish.release !== own.wish.release)?.wish;
  if (wish === undefined) return;
  throw new BootImageError(
    'PolicyConflict',
    `${setText(set)} is to have ${said(own.wish)} and ${setText(wish.set)} ${said(wish)}, and by swap both start from what bears one name: the images of both stay as they are`,
    {
      retriable: false,
      nextStep: `let one policy decide about both, or have one published by pointer: kubectl edit bootimagepolicy ${own.wish.policy ?? wish.policy}`,
    },
  );
}

function wishesOf(
  policies: readonly BootImagePolicy[],
  platform: NamingPlatform,
  ports: SharedNamePorts,
): WantedByName<Wish> {
  const sets = ports.world.machineSets();
  const infrastructure = ports.world.infrastructure();
  const before = known.get(sets);
  const same = before?.policies === policies && before.infrastructure === infrastructure;
  if (same && before.platform === platform) return before.wanted;
  const wanted = new WantedByName<Wish>((one, other) => one.release === other.release);
  for (const set of sets) {
    const found = wishOf(set, platform, ports);
    if (found !== undefined) wanted.add(found.name, found.wish, idOf(set));
  }
  known.set(sets, { policies, infrastructure, platform, wanted });
  return wanted;
}

/** Undefined where the set is not published by swap, or where other words keep it from moving. */
function wishOf(
  set: KeptSet,
  platform: NamingPlatform,
  ports: PolicyPorts,
): { readonly name: string; readonly wish: Wish } | undefined {
  const policy = obeyedOn(set, ports);
  const name = policy === 'none' ? undefined : sharedNameOf(set, platform, ports);
  return policy === 'none' || name === undefined
    ? undefined
    : { name, wish: { policy: policy?.name, release: policy?.spec.image?.release, set } };
}

/** The policy of a set; 'none' where it keeps the set from moving, or cannot be followed. */
function obeyedOn(set: KeptSet, ports: PolicyPorts): Exclude<ReturnType<typeof policyOn>, { kind: 'skip' }> | 'none' {
  const policy = orBootImageError(() => policyOn(set, ports));
  return policy instanceof BootImageError || (policy !== undefined && 'kind' in policy) ? 'none' : policy;
}

function said({ policy, release }: Wish): string {
  return `${release ?? "the cluster's release"}${policy === undefined ? '' : ` by bootimagepolicy ${policy}`}`;
}
