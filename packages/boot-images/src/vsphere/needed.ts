import type { NeededTemplate } from '@drydock/templates';
import type { NeededImage } from '../way-back/needed.ts';

/** What pins and histories need, as the collection of templates asks for it. */
export function neededTemplate(needed: NeededImage): NeededTemplate {
  return ({ name, release, digest, stableName }, keep) =>
    needed(
      {
        ...{ image: name, release },
        ...(digest === '' ? {} : { digest }),
        ...(stableName === undefined ? {} : { stableName }),
      },
      keep,
    );
}
