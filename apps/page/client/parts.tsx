import type { ComponentChildren, JSX } from 'preact';
import type { Answer, Because, Progress, Share } from '../src/state/page-state.ts';
import { ANSWERS, progressText } from './words.ts';

/** An answer: word, sign and colour. */
export function Badge({
  answer,
  large = false,
  words = {},
}: {
  readonly answer: Answer;
  readonly large?: boolean;
  /** Other words for an answer to another question. */
  readonly words?: Partial<Record<Answer, string>>;
}): JSX.Element {
  const { word, sign } = ANSWERS[answer];
  return (
    <span class={`badge ${answer}${large ? ' large' : ''}`}>
      <span class="sign" aria-hidden="true">
        {sign}
      </span>
      <span>{words[answer] ?? word}</span>
    </span>
  );
}

const ORDER: readonly Answer[] = ['yes', 'wait', 'no', 'unknown', 'unmanaged'];

/** The answers of several machine sets: how many have which, or the one that all have. */
export function Shares({ share }: { readonly share: Share }): JSX.Element {
  const there = ORDER.filter((answer) => share[answer] > 0);
  const [first = 'unmanaged'] = there;
  if (there.length < 2) return <Badge answer={first} large />;
  const words = (answer: Answer): string =>
    answer === 'unmanaged' ? `${share[answer]} not managed` : `${ANSWERS[answer].word} for ${share[answer]}`;
  return (
    <span class="shares">
      {there.map((answer) => (
        <Badge key={answer} answer={answer} large words={{ [answer]: words(answer) }} />
      ))}
    </span>
  );
}

/** A table that may be wider than a phone: whoever has no finger scrolls it by keys. */
export function Wide({
  label,
  children,
}: {
  readonly label: string;
  readonly children: ComponentChildren;
}): JSX.Element {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls
    <section class="wide" tabIndex={0} aria-label={label}>
      {children}
    </section>
  );
}

/** What to do: a command stands in a box of its own, from which it can be copied. */
export function Next({ step }: { readonly step: string | undefined }): JSX.Element | null {
  if (step === undefined || step === '') return null;
  return (
    <p class="next">
      <span class="label">Next</span> <code>{step}</code>
    </p>
  );
}

/** Why an answer is what it is. */
export function Reasons({ because }: { readonly because: readonly Because[] }): JSX.Element | null {
  if (because.length === 0) return null;
  return (
    <ul class="reasons">
      {because.map(({ answer, text, nextStep, sets, more }) => (
        <li key={`${answer} ${text}`}>
          <p>
            {answer === 'yes' || answer === 'unmanaged' ? null : (
              <span class={`mark ${answer}`}>
                <span aria-hidden="true">{ANSWERS[answer].sign} </span>
                <span class="hidden">{ANSWERS[answer].word}: </span>
              </span>
            )}
            {text}
          </p>
          {sets.length === 0 ? null : (
            <p class="quiet">
              {sets.join(', ')}
              {more === 0 ? '' : ` and ${more} more`}
            </p>
          )}
          <Next step={nextStep} />
        </li>
      ))}
    </ul>
  );
}

/** Bytes on their way, as a bar and in words. */
export function Bar({ progress, of }: { readonly progress: Progress; readonly of: string }): JSX.Element | null {
  const text = progressText(progress);
  if (text === '') return null;
  const { bytes, total } = progress;
  return (
    <div class="bar">
      {bytes !== undefined && total !== undefined && total > 0 ? (
        <progress max={total} value={Math.min(bytes, total)} aria-label={of} />
      ) : null}
      <span>{text}</span>
    </div>
  );
}

/** A part of the page with its heading, by which it is found. */
export function Part({
  id,
  title,
  note,
  children,
}: {
  readonly id: string;
  readonly title: string;
  readonly note?: string;
  readonly children: ComponentChildren;
}): JSX.Element {
  return (
    <section id={id} aria-labelledby={`${id}-title`}>
      <h2 id={`${id}-title`}>
        {title}
        {note === undefined ? null : <small> {note}</small>}
      </h2>
      {children}
    </section>
  );
}
