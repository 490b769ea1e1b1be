import { idOf, type KeptSet } from '../observe/kept-set.ts';
import type { Platform } from '../platform.ts';
import { imageOfSet } from '../wakes/foreign-writes.ts';
import { nameBySwap, publicationWord } from './name.ts';
import type { SharedNamePorts } from './policies.ts';

/**
 * The other sets that one name serves with this one, for whoever does not know what the operator was told. `swaps`: by what was seen of this set its image takes over a name; the word of its policy counts more. Of sets
 * without such a word those count that are told the same as this one, and those that refer to the name.
 */
export function underOneName(
  set: KeptSet,
  swaps: boolean,
  platform: Platform | undefined,
  ports: SharedNamePorts,
): readonly KeptSet[] {
  const name = nameBySwap(set, platform, ports.world);
  const own = publicationWord(set, platform, ports);
  if (name === undefined || (own ?? (swaps ? 'swap' : 'pointer')) !== 'swap') return [];
  const isUnder = (other: KeptSet): boolean => {
    const word = publicationWord(other, platform, ports) ?? (own === undefined ? 'swap' : undefined);
    return word === 'swap' || (word !== 'pointer' && refers(other, name, platform));
  };
  return ports.world
    .machineSets()
    .filter(
      (other) => idOf(other) !== idOf(set) && nameBySwap(other, platform, ports.world) === name && isUnder(other),
    );
}

/** Whether a set that could be under a name makes its machines from what bears it. */
function refers(set: KeptSet, name: string, platform: Platform | undefined): boolean {
  const reference = platform && imageOfSet(set, platform);
  return reference !== undefined && name.endsWith(`|${platform?.nameOf(reference)}`);
}
