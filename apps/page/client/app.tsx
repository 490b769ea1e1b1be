import { computed } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { ImageAges } from './ages.tsx';
import { Next, ShareBar, Shares, Text, Time } from './parts.tsx';
import { InProgress, Problems } from './reasons.tsx';
import { FailureDomains, Releases, Timeline, VCenters } from './sections.tsx';
import { Sets } from './sets.tsx';
import { head, link, section, state, trouble } from './store.ts';
import { nextTheme, theme } from './theme.ts';
import { counted } from './words.ts';

const answers = section('answers');

/** What the headline counts, in one sentence. */
const sentence = computed(() => {
  const rows = answers.value;
  if (state.value === undefined) return 'Asking the cluster…';
  if (rows.length === 0) return 'There are no machine sets here, so there is nothing to scale.';
  const sets = rows.reduce((sum, row) => sum + row.sets, 0);
  const where = rows.every(({ failureDomain }) => failureDomain !== '') ? 'failure domain' : 'failure domain or region';
  return `${counted(sets, 'machine set')} in ${counted(rows.length, where)}.`;
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
        <div role="alert" class="alert" hidden={stale.value === ''}>
          {stale}
        </div>
        <Answer />
        {state.value === undefined ? null : <Whole />}
      </main>
    </>
  );
}

function Answer(): JSX.Element {
  const { share, leader } = head.value ?? {};
  const isProblem = answers.value.some(({ because }) => because.some(({ text }) => text === leader?.text));
  return (
    <div class="hero">
      <h1>Can I scale now?</h1>
      <p class="answer" role="status">
        {share === undefined || answers.value.length === 0 ? null : <Shares share={share} />}
      </p>
      {share === undefined ? null : <ShareBar share={share} />}
      <p class="quiet">
        {sentence} {leader === undefined ? null : <Text>{`${leader.text}.`}</Text>}
      </p>
      {isProblem ? null : <Next step={leader?.nextStep} />}
    </div>
  );
}

function Whole(): JSX.Element {
  return (
    <>
      <Problems />
      <InProgress />
      <FailureDomains />
      <Sets />
      <ImageAges />
      <VCenters />
      <Releases />
      <Timeline />
    </>
  );
}

const THEMES = { system: 'Theme: system', light: 'Theme: light', dark: 'Theme: dark' } as const;
const LINKS = { opening: 'Connecting', live: 'Live', gone: 'Not live' } as const;

function Top(): JSX.Element {
  const asOf = state.value?.asOf;
  return (
    <header>
      <svg class="logo" viewBox="0 0 32 32" aria-hidden="true">
        <path d="M10 5h12l-2 10h-8zM13 17h2v4h-2zm4 0h2v4h-2zM4 10h3v13h18V10h3v17H4z" />
      </svg>
      <p class="title">
        <strong>Drydock</strong> <Text>{head.value?.title ?? ''}</Text>
      </p>
      <p class={`link ${link.value}`}>
        {LINKS[link.value]}
        {asOf === undefined ? null : (
          <>
            {', as of '}
            <Time at={asOf} />
          </>
        )}
      </p>
      <button type="button" onClick={nextTheme}>
        {THEMES[theme.value]}
      </button>
    </header>
  );
}
