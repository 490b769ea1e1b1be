import type { JSX } from 'preact';
import type { AnswerRow } from '../src/state/page-state.ts';
import { Bar, Reasons, Shares } from './parts.tsx';
import { section } from './store.ts';
import { counted } from './words.ts';

const answers = section('answers');

/** "Can I scale now?": a card for each failure domain or region. */
export function Answers(): JSX.Element {
  const rows = answers.value;
  const clusters = new Set(rows.map(({ cluster }) => cluster)).size;
  if (rows.length === 0) return <p class="quiet">There are no machine sets here, so that there is nothing to scale.</p>;
  return (
    <section aria-labelledby="places">
      <h2 id="places" class="hidden">
        By failure domain or region
      </h2>
      <ul class="cards">
        {rows.map((row) => (
          <Card key={row.id} row={row} cluster={clusters > 1} />
        ))}
      </ul>
    </section>
  );
}

function Card({ row, cluster }: { readonly row: AnswerRow; readonly cluster: boolean }): JSX.Element {
  const { answer, kind, region, failureDomain, sets, share, because, progress } = row;
  const place = failureDomain === '' ? region : failureDomain;
  const within = [cluster ? row.cluster : '', failureDomain === '' || region === '' ? '' : `${kind} ${region}`.trim()];
  return (
    <li class={`card ${answer}`}>
      <div class="top">
        <h3>{place === '' ? 'Place not known' : place}</h3>
        <Shares share={share} />
      </div>
      <p class="quiet">{within.filter((part) => part !== '').join(' · ')}</p>
      <p class="count">{counted(sets, 'machine set')}</p>
      {progress === undefined ? null : <Bar progress={progress} of={`Image on its way to ${place}`} />}
      <Reasons because={because} />
    </li>
  );
}
