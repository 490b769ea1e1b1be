import {
  type ExplainPorts,
  type Explanation,
  explainSet,
  type KeptSet,
  type Pin,
  type Platform,
  type Platforms,
  pinnedWorld,
  platformOf,
  type TemplatePublication,
  underOneName,
} from '@drydock/boot-images';

/** What somebody asks who is about to pin sets, or to lift their pins. */
export interface PinQuestions {
  /** What the operator would do about a set if these sets had this pin, or none; `publication` is how it publishes templates. */
  readonly ifPinned: (
    set: KeptSet,
    pinned: {
      readonly sets: readonly KeptSet[];
      readonly pin: Pin | undefined;
      readonly publication: TemplatePublication;
    },
  ) => Promise<Explanation>;
  /** The other sets that one name serves with this one, where templates take over names. */
  readonly underOneName: (set: KeptSet) => readonly KeptSet[];
}

/** See {@link PinQuestions}. `swapping` stands for its type of platform where templates take over names. */
export function pinQuestions(ports: ExplainPorts, swapping: Platform, signal: AbortSignal): PinQuestions {
  const { world, platforms } = ports;
  const platformsOf = (publication: TemplatePublication): Platforms =>
    publication === 'swap' && platforms.get(swapping.type) !== undefined
      ? new Map([[swapping.type, swapping]])
      : platforms;
  return {
    ifPinned: (set, { sets, pin, publication }) =>
      explainSet(
        set,
        { ...ports, world: pinnedWorld(world, sets, pin), platforms: platformsOf(publication) },
        { signal },
      ),
    underOneName: (set) => underOneName(set, platformsOf('swap').get(platformOf(world) ?? ''), world),
  };
}
