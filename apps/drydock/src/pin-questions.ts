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
  publicationWord,
  type TemplatePublication,
  underOneName,
} from '@drydock/boot-images';

/** What somebody asks who is about to pin sets, or to lift their pins. */
export interface PinQuestions {
  /** What the operator would do about a set if these sets had this pin, or none; `publication` is how it publishes templates, by what was seen of the set: the word of a policy counts more. */
  readonly ifPinned: (
    set: KeptSet,
    pinned: {
      readonly sets: readonly KeptSet[];
      readonly pin: Pin | undefined;
      readonly publication: TemplatePublication;
    },
  ) => Promise<Explanation>;
  /** The other sets that one name serves with this one; `publication` as above. */
  readonly underOneName: (set: KeptSet, publication: TemplatePublication) => readonly KeptSet[];
}

/** See {@link PinQuestions}. `swapping` stands for its type of platform where templates take over names. */
export function pinQuestions(ports: ExplainPorts, swapping: Platform, signal: AbortSignal): PinQuestions {
  const { world, platforms } = ports;
  const platform = platforms.get(platformOf(world) ?? '');
  const platformsOf = (set: KeptSet, publication: TemplatePublication): Platforms =>
    publication === 'swap' && platform?.type === swapping.type && publicationWord(set, platform, ports) === undefined
      ? new Map([[swapping.type, swapping]])
      : platforms;
  return {
    ifPinned: (set, { sets, pin, publication }) =>
      explainSet(
        set,
        { ...ports, world: pinnedWorld(world, sets, pin), platforms: platformsOf(set, publication) },
        { signal },
      ),
    underOneName: (set, publication) => underOneName(set, publication === 'swap', platform, ports),
  };
}
