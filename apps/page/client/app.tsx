import { computed } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { Answers } from './answers.tsx';
import { Next, Shares } from './parts.tsx';
import { Notes, Operations, Releases, Timeline, VCenters } from './sections.tsx';
import { Sets } from './sets.tsx';
import { head, link, now, section, state, trouble } from './store.ts';
import { nextTheme, theme } from './theme.ts';
import { Versions } from './versions.tsx';
import { age, counted } from './words.ts';

const answers = section('answers');

/** What the headline counts, in one sentence. */
const sentence = computed(() => {
  const rows = answers.value;
  if (state.value === undefined) return 'Asking the cluster…';
  if (rows.length === 0) return 'There is nothing to scale.';
  const sets = rows.reduce((sum, row) => sum + row.sets, 0);
  return `${counted(sets, 'machine set')} in ${counted(rows.length, 'place')}.`;
});

/** Why what is shown may be old; '' where it is not. */
const stale = computed(() => {
  if (link.value === 'opening') return '';
  if (link.value === 'gone') return 'The connection to the page’s server is gone. What is shown is old.';
  return trouble.value === '' ? '' : `The cluster cannot be read: ${trouble.value}`;
});

/** The page. */
export function App(): JSX.Element {
  useEffect(() => {
    const { text = 'Can I scale now?', title = '' } = head.value ?? {};
    document.title = `${text}${title === '' ? '' : ` · ${title}`} · Drydock`;
  }, [head.value]);
  return (
    <>
      <a class="skip" href="#sets">
        To the machine sets
      </a>
      <Top />
      <main class={stale.value === '' ? '' : 'stale'}>
        <h1>Can I scale now? {head.value === undefined ? null : <Shares share={head.value.share} />}</h1>
        <p class="sentence" role="status" aria-live="polite">
          <span class="hidden">{head.value?.text}: </span>
          {sentence}
        </p>
        <div role="alert" class="alert" hidden={stale.value === ''}>
          {stale}
        </div>
        {state.value === undefined ? null : <Whole />}
      </main>
    </>
  );
}

function Whole(): JSX.Element {
  const { leader } = head.value ?? {};
  return (
    <>
      <p class="leader">{leader?.text}</p>
      <Next step={leader?.nextStep} />
      <Answers />
      <Notes />
      <div class="columns">
        <Operations />
        <Versions />
        <VCenters />
        <Releases />
      </div>
      <Sets />
      <Timeline />
    </>
  );
}

const THEMES = { system: 'as the system', light: 'light', dark: 'dark' } as const;
const LINKS = { opening: '◌ connecting', live: '● live', gone: '✖ not live' } as const;

function Top(): JSX.Element {
  const asOf = state.value?.asOf;
  return (
    <header>
      <p class="title">
        <strong>Drydock</strong> {head.value?.title}
      </p>
      <p class="quiet" id="link">
        <span class={`link ${link.value}`}>{LINKS[link.value]}</span>
        {asOf === undefined ? '' : ` · read ${age(asOf, now.value)} ago`}
      </p>
      <button type="button" onClick={nextTheme}>
        Colours: {THEMES[theme.value]}
      </button>
    </header>
  );
}
