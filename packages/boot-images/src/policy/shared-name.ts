import { exemptionOf } from '../decide/decide.ts';
import { BootImageError } from '../errors.ts';
import { idOf, type KeptSet, setText } from '../observe/kept-set.ts';
import type { World } from '../observe/world.ts';
import type { Platform } from '../platform.ts';
import { failureDomainOf, type PolicyPorts, verdictOn } from './set-policy.ts';

/** What is read besides, to see which sets make their machines from what bears one name. */
export interface SharedNamePorts extends PolicyPorts {
  readonly world: PolicyPorts['world'] & Pick<World, 'machineSets'>;
}

/**
 * By swap all sets of a failure domain start from what bears one name. Where policies want different releases under it, one would take it from the other, again and again: throws `PolicyConflict`
 * for each of these sets, whose image stays as it is.
 */
export function checkSharedName(set: KeptSet, platform: Pick<Platform, 'sharedName'>, ports: SharedNamePorts): void {
  const { world, platforms } = ports;
  if (!world.bootImagePolicies().some(({ spec }) => spec?.image?.release !== undefined)) return;
  const domain = failureDomainOf(set, world, platforms);
  const own = wishOf(set, platform, ports);
  if (domain === undefined || own === undefined) return;
  for (const other of world.machineSets()) {
    if (idOf(other) === idOf(set) || exemptionOf(other) !== undefined) continue;
    if (failureDomainOf(other, world, platforms) !== domain) continue;
    const wish = wishOf(other, platform, ports);
    if (wish === undefined || wish.release === own.release) continue;
    throw new BootImageError(
      'PolicyConflict',
      `${setText(set)} is to have ${said(own)} and ${setText(other)} ${said(wish)}, and by swap both start from what bears one name: the images of both stay as they are`,
      {
        retriable: false,
        nextStep: `let one policy decide about both, or have one published by pointer: kubectl edit bootimagepolicy ${own.policy ?? wish.policy}`,
      },
    );
  }
}

interface Wish {
  readonly policy: string | undefined;
  readonly release: string | undefined;
}

/** What is wanted under the name; undefined where the set is not published by swap, or where other words keep it from moving. */
function wishOf(set: KeptSet, platform: Pick<Platform, 'sharedName'>, ports: PolicyPorts): Wish | undefined {
  const { policy, conflict } = verdictOn(set, ports);
  const { publication, image, optOut } = policy?.spec ?? {};
  const swaps = publication === undefined ? platform.sharedName !== undefined : publication === 'Swap';
  if (!swaps || conflict !== undefined || optOut !== undefined) return undefined;
  return { policy: policy?.metadata.name, release: image?.release };
}

function said({ policy, release }: Wish): string {
  return `${release ?? "the cluster's release"}${policy === undefined ? '' : ` by bootimagepolicy ${policy}`}`;
}
