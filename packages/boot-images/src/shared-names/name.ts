import { exemptionOf } from '../decide/decide.ts';
import { type KeptSet, specOf } from '../observe/kept-set.ts';
import type { World } from '../observe/world.ts';
import type { Platform } from '../platform.ts';
import { followedOn, type PolicyPorts } from '../policy/set-policy.ts';

/** What is known of names that serve several sets. */
export type NamingPlatform = Pick<Platform, 'sharedName' | 'publication'>;

/** The word of its policy on how the image of a set is published: none says nothing. A set that is left alone, by what itself or its policy says, is published in no way: neither its pin counts for others, nor what it wants. */
export function publicationWord(
  set: KeptSet,
  platform: NamingPlatform | undefined,
  ports: PolicyPorts,
): 'pointer' | 'swap' | 'none' | undefined {
  if (platform?.publication === undefined) return undefined;
  if (exemptionOf(set) !== undefined) return 'none';
  const policy = followedOn(set, ports);
  if (policy === undefined) return undefined;
  return 'kind' in policy ? 'none' : wayOf(policy.spec.publication);
}

/** As a policy writes it. */
export function wayOf(publication: string | undefined): 'pointer' | 'swap' | undefined {
  return publication === undefined ? undefined : publication === 'Swap' ? 'swap' : 'pointer';
}

/** The name from which a set makes its machines together with others, as its policy and the operator say how its image is published; undefined where it has its image to itself. */
export function sharedNameOf(
  set: KeptSet,
  platform: NamingPlatform | undefined,
  ports: PolicyPorts,
): string | undefined {
  // The cheaper question first: by pointer no set has a name to share, and with every pin all are asked.
  if ((publicationWord(set, platform, ports) ?? platform?.publication) !== 'swap') return undefined;
  return nameBySwap(set, platform, ports.world);
}

/** The name that its template has, or would get, by swap, however it is published; undefined where that cannot be told. */
export function nameBySwap(
  set: KeptSet,
  platform: NamingPlatform | undefined,
  world: Pick<World, 'infrastructure'>,
): string | undefined {
  const spec = specOf(set);
  const infrastructure = world.infrastructure();
  if (platform?.sharedName === undefined || infrastructure === undefined || spec === undefined) return undefined;
  return platform.sharedName(spec, infrastructure);
}
