import type { BootImage } from '@drydock/api';
import { exitCode } from '../exit.ts';
import { shell } from '../template/next-command.ts';
import { type PinClient, writePin } from './pin-writer.ts';
import type { RevertPlan, RevertRefusal } from './revert-plan.ts';

/** The BootImages that have the pin. */
export interface WrittenPins {
  readonly images: readonly BootImage[];
}

/** Writes the pin of a plan to each of its sets, the one that was asked about first; ends with the first that cannot have it, and says which have. With `dryRun` nothing is stored. */
export async function writePins(
  client: PinClient,
  plan: RevertPlan,
  options: { readonly signal: AbortSignal; readonly dryRun?: boolean },
): Promise<WrittenPins | RevertRefusal> {
  const images: BootImage[] = [];
  for (const one of plan.sets) {
    const stored = await writePin(client, one, plan.pin, options);
    if (stored === 'moved') return movedMeanwhile(plan, one.id, options.dryRun === true ? [] : images);
    if (stored === 'pruned') return NO_PLACE;
    images.push(stored);
  }
  return { images };
}

const NO_PLACE: RevertRefusal = {
  code: exitCode.blocked,
  message: `this cluster's definition of BootImage has no place for a pin, which the server would drop: nothing was written, and nothing moves`,
  next: 'kubectl apply -f api/crds',
};

/** Somebody else has pinned, released or made the set in between. */
function movedMeanwhile({ set }: RevertPlan, id: string, written: readonly BootImage[]): RevertRefusal {
  const names = written.map(({ metadata }) => metadata.name).join(', ');
  const so = names === '' ? 'so nothing was written' : `so of the sets that have one name only ${names} got the pin`;
  return {
    code: exitCode.moved,
    message: `somebody changed the BootImage of ${id} meanwhile, ${so}: look again`,
    next: shell`drydock image history ${set}`,
  };
}
