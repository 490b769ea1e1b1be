import { shortText } from '@drydock/api/text';
import { type KeptSet, setText } from '../observe/kept-set.ts';

/** Set to `Disabled` on a set that is to be left alone. */
export const optOutAnnotation = 'drydock.dev/boot-image';
/** Why it is to be left alone, in words of whoever asks. */
export const optOutReasonAnnotation = 'drydock.dev/boot-image-reason';

/** Longest reason that a table cell shows, in UTF-16 units. */
const CELL = 60;

/** A few words and a sentence for a set that somebody asked to leave alone; undefined where nobody did. What is asked in other words is not acted against either. */
export function askedToLeave(
  set: KeptSet,
): readonly [brief: string, message: string, more: { readonly nextStep: string }] | undefined {
  const { annotations = {} } = set.metadata;
  const [asked, why] = [annotations[optOutAnnotation], annotations[optOutReasonAnnotation]?.trim()];
  if (asked === undefined) return undefined;
  const said =
    asked === 'Disabled' ? '' : `; the annotation has the value ${shortText(asked, CELL)}, and Disabled is expected`;
  const reason = why === undefined || why === '' ? '' : `: ${why}`;
  return [
    shortText(`by request${reason}`, CELL),
    `${setText(set)} is left alone by request, by annotation ${optOutAnnotation}${said}${reason}`,
    { nextStep: `to have it kept current, take annotation ${optOutAnnotation} off ${setText(set)}` },
  ];
}
