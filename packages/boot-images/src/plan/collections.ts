import { errorText } from '../errors.ts';
import { type ExplainPorts, type Look, reachesPlatform } from '../explain.ts';
import { references } from '../pass/collect.ts';
import { neededBy } from '../way-back/needed.ts';
import type { StepOf } from './cluster-step.ts';

/** What a plan says of collections. */
export interface ForeseenCollections {
  readonly steps: readonly StepOf<'collect'>[];
  /** What could not be looked at, as sentences: nothing is collected there. */
  readonly notes: readonly string[];
}

/**
 * The images that nothing needs, where the sets of these looks make machines. What the plan itself uses counts as needed, and so does what its sets are about to leave: that is a way back for now, and
 * the next plan's to tell.
 */
export async function collectionsOf(
  looks: Iterable<Look>,
  used: ReadonlySet<string>,
  { world, now }: Pick<ExplainPorts, 'world' | 'now'>,
  call: { readonly signal?: AbortSignal | undefined },
): Promise<ForeseenCollections> {
  const asked = [...looks].flatMap((look) => (reachesPlatform(look) && look.asked !== undefined ? [look.asked] : []));
  const steps: StepOf<'collect'>[] = [];
  const notes: string[] = [];
  for (const [platform, entries] of Map.groupBy(asked, (entry) => entry.platform)) {
    if (platform.collect === undefined) continue;
    try {
      const refers = references({ world }, new Map());
      const collected = platform.collect(
        entries.map(({ input }) => input),
        {
          referenced: (name) => refers(name) ?? (used.has(name) ? 'this plan' : undefined),
          needed: neededBy(world.bootImages(), now().getTime()),
          dryRun: true,
          ...call,
        },
      );
      for await (const { server, folder, name, removed, reason } of collected)
        if (removed) steps.push({ kind: 'collect', server, folder, name, reason });
    } catch (error) {
      call.signal?.throwIfAborted();
      notes.push(`what could be collected is not known: ${errorText(error)}`);
    }
  }
  return { steps, notes };
}
