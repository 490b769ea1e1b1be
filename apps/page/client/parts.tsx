import { useSignal } from '@preact/signals';
import type { ComponentChildren, JSX } from 'preact';
import { stepParts } from '../src/state/next-step.ts';
import type { Answer, Progress, Share } from '../src/state/page-state.ts';
import { isoTime, progressText, WORDS } from './words.ts';

/** As in the headline's text. */
const ORDER: readonly Answer[] = ['yes', 'wait', 'no', 'unknown', 'unmanaged'];

/** Strokes in a square of 16 units. */
const SIGNS: Readonly<Record<Answer | 'note', string>> = {
  yes: 'M3 8.5 6.5 12 13 4.5',
  wait: 'M8 4v4.5l3 2M8 1.5a6.5 6.5 0 1 1 0 13 6.5 6.5 0 0 1 0-13z',
  no: 'm4 4 8 8m0-8-8 8',
  unknown: 'M5.2 5.6a2.8 2.8 0 1 1 4.2 2.5C8.4 8.7 8 9.2 8 10.3M8 13.6v.1',
  unmanaged: 'M3.5 8h9',
  note: 'M8 2.5v7M8 13.4v.1',
};

/** The sign of an answer, which is told from the others without its colour. */
function Sign({ of }: { readonly of: keyof typeof SIGNS }): JSX.Element {
  return (
    <svg class="sign" viewBox="0 0 16 16" aria-hidden="true">
      <path d={SIGNS[of]} />
    </svg>
  );
}

/** An answer: sign, word and colour. `word`: where the question is another one. */
export function Badge({ answer, word }: { readonly answer: Answer | 'note'; readonly word?: string }): JSX.Element {
  return (
    <span class={`badge ${answer}`}>
      <Sign of={answer} />
      {word ?? WORDS[answer]}
    </span>
  );
}

/** The answers of several machine sets in words: how many have which, or the one that all have. */
export function Shares({ share }: { readonly share: Share }): JSX.Element {
  const there = ORDER.filter((answer) => share[answer] > 0);
  const words = (answer: Answer): string => {
    if (there.length < 2) return WORDS[answer];
    const count = share[answer].toLocaleString('en');
    return answer === 'unmanaged' ? `${count} not managed` : `${WORDS[answer]} for ${count}`;
  };
  return (
    <span class="shares">
      {there.map((answer) => (
        <span key={answer} class={answer}>
          <Sign of={answer} />
          {words(answer)}
        </span>
      ))}
    </span>
  );
}

/** {@link Shares} as a bar, which repeats what the words say. */
export function ShareBar({ share }: { readonly share: Share }): JSX.Element {
  return (
    <div class="share" aria-hidden="true">
      {ORDER.filter((answer) => share[answer] > 0).map((answer) => (
        <span key={answer} class={answer} style={{ flexGrow: share[answer] }} />
      ))}
    </div>
  );
}

/** A browser would break a line after the hyphen of such a word. */
const BREAKABLE = /[-/?]|^.{33}/;

/** A text whose lines break between words alone; a word that is wider than its place is the exception. */
export function Text({ children }: { readonly children: string }): JSX.Element {
  return (
    <>
      {children.split(/( +)/).map((word, at) =>
        BREAKABLE.test(word) ? (
          // Words have no identity but their place.
          <span key={at} class={word.length > 32 ? 'word long' : 'word'}>
            {word}
          </span>
        ) : (
          word
        ),
      )}
    </>
  );
}

/** A time in UTC. */
export function Time({ at }: { readonly at: string }): JSX.Element {
  const time = isoTime(at);
  return (
    <time class="word" dateTime={time}>
      {time}
    </time>
  );
}

/** A command with a button that copies it. */
export function Command({ text }: { readonly text: string }): JSX.Element {
  const copied = useSignal(false);
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(text);
    copied.value = true;
    setTimeout(() => {
      copied.value = false;
    }, 2000);
  };
  return (
    <span class="command">
      <code>
        <Text>{text}</Text>
      </code>
      <button type="button" aria-label={`Copy ${text}`} onClick={() => void copy()}>
        {copied.value ? 'Copied' : 'Copy'}
      </button>
    </span>
  );
}

/** What to do: prose, and commands that can be copied. The frame of a command stands for the comma after it. */
export function Next({ step }: { readonly step: string | undefined }): JSX.Element | null {
  if (step === undefined || step === '') return null;
  return (
    <p class="next">
      <strong>Next: </strong>
      {stepParts(step).map(({ command, text }) =>
        command ? <Command key={text} text={text} /> : <Text key={text}>{text.replace(/^,/, '')}</Text>,
      )}
    </p>
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

/** A part of the page with its heading. */
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

/** The first items of a list; the others are opened by a click. */
export function Some({
  most,
  children,
}: {
  readonly most: number;
  readonly children: readonly JSX.Element[];
}): JSX.Element {
  const others = children.slice(most);
  return (
    <>
      <ul class="list">{children.slice(0, most)}</ul>
      {others.length === 0 ? null : (
        <details>
          <summary>Show {others.length} more</summary>
          <ul class="list">{others}</ul>
        </details>
      )}
    </>
  );
}

/** A table, whose rows are cards on a phone. The first cell names its row. */
export function Table({
  label,
  heads,
  rows,
}: {
  readonly label: string;
  readonly heads: readonly (string | { readonly name: string; readonly head: JSX.Element })[];
  readonly rows: readonly { readonly id: string; readonly cells: readonly ComponentChildren[] }[];
}): JSX.Element {
  const names = heads.map((head) => (typeof head === 'string' ? head : head.name));
  return (
    <table aria-label={label}>
      <thead>
        <tr>
          {heads.map((head) =>
            typeof head === 'string' ? (
              <th key={head} scope="col">
                {head}
              </th>
            ) : (
              head.head
            ),
          )}
        </tr>
      </thead>
      <tbody>
        {rows.map(({ id, cells: [first, ...others] }) => (
          <tr key={id}>
            <th scope="row">{first}</th>
            {others.map((cell, at) => (
              <td key={names[at + 1]} data-label={names[at + 1]}>
                {cell}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
