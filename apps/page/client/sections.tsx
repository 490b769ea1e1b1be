import type { JSX } from 'preact';
import type { ReleaseRow, TimelineRow } from '../src/state/page-state.ts';
import { Badge, Bar, Next, Part, Reasons, Wide } from './parts.tsx';
import { now, section } from './store.ts';
import { age, bytes, clock, counted } from './words.ts';

const [notes, operations, timeline] = [section('notes'), section('operations'), section('timeline')];
const [vcenters, releases] = [section('vcenters'), section('releases')];

/** What holds for all of the page. */
export function Notes(): JSX.Element | null {
  if (notes.value.length === 0) return null;
  return (
    <section class="notes" aria-label="What else is to be known">
      <ul>
        {notes.value.map(({ id, text, nextStep }) => (
          <li key={id}>
            <p>
              <span aria-hidden="true">! </span>
              {text}
            </p>
            <Next step={nextStep} />
          </li>
        ))}
      </ul>
    </section>
  );
}

/** Images on their way. */
export function Operations(): JSX.Element {
  return (
    <Part id="operations" title="In flight">
      {operations.value.length === 0 ? (
        <p class="quiet">No image is on its way.</p>
      ) : (
        <ul class="list">
          {operations.value.map(({ id, set, phase, target, place, since, progress, text }) => (
            <li key={id}>
              <p>
                <strong>{set}</strong> {phase} {target}
                <span class="quiet">
                  {place === '' ? '' : ` · ${place}`}
                  {since === '' ? '' : ` · since ${age(since, now.value)}`}
                </span>
              </p>
              <Bar progress={progress} of={`${set}: ${phase}`} />
              <p class="quiet">{text}</p>
            </li>
          ))}
        </ul>
      )}
    </Part>
  );
}

const KINDS: Readonly<Record<TimelineRow['kind'], string>> = { event: 'Event', image: 'Image', release: 'Release' };

/** What happened. */
export function Timeline(): JSX.Element {
  const rows = timeline.value;
  return (
    <Part id="timeline" title="What happened" note={rows.length === 0 ? '' : `the last ${rows.length}`}>
      {rows.length === 0 ? (
        <p class="quiet">Nothing that the cluster remembers.</p>
      ) : (
        // A region that scrolls must be reachable by keys.
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls
        <ol class="timeline" tabIndex={0} aria-label="What happened, the newest first">
          {rows.map(({ id, time, kind, warning, about, what, text }) => (
            <li key={id} class={warning ? 'warning' : kind}>
              <time dateTime={time} title={clock(time)}>
                {age(time, now.value)} ago
              </time>
              <div>
                <p>
                  {warning ? <span class="mark no">✖ Warning: </span> : <span class="tag">{KINDS[kind]}</span>}{' '}
                  <strong>{what}</strong> <span class="quiet">{about}</span>
                </p>
                <p>{text}</p>
              </div>
            </li>
          ))}
        </ol>
      )}
    </Part>
  );
}

const HEALTH = { yes: 'Fine', no: 'Not fine' } as const;

/** `1.2 GiB of 4.0 GiB (30 %)`. */
function roomOf(free: number, capacity: number | undefined): string {
  if (capacity === undefined || capacity === 0) return bytes(free);
  return `${bytes(free)} of ${bytes(capacity)} (${Math.round((100 * free) / capacity)} %)`;
}

/** How vCenters are, as the operator says. */
export function VCenters(): JSX.Element | null {
  if (vcenters.value.length === 0) return null;
  return (
    <Part id="vcenters" title="vCenters">
      <ul class="list">
        {vcenters.value.map(({ id, server, asOf, version, sessions, answer, because, datastores }) => (
          <li key={id}>
            <p>
              <strong>{server}</strong> <Badge answer={answer} words={HEALTH} />
              <span class="quiet">
                {version === '' ? '' : ` · ${version}`}
                {sessions === undefined ? '' : ` · ${counted(sessions, 'session')} of our user`}
                {asOf === '' ? '' : ` · looked at ${age(asOf, now.value)} ago`}
              </span>
            </p>
            <Reasons because={because} />
            {datastores.length === 0 ? null : (
              <Wide label={`Datastores of templates on ${server}`}>
                <table>
                  <thead>
                    <tr>
                      <th scope="col">Datastore</th>
                      <th scope="col">Failure domains</th>
                      <th scope="col">Free</th>
                      <th scope="col">Wanted</th>
                    </tr>
                  </thead>
                  <tbody>
                    {datastores.map(({ path, failureDomains, accessible, free, capacity, needed }) => (
                      <tr key={path}>
                        <th scope="row">{path}</th>
                        <td>{failureDomains.join(', ')}</td>
                        <td>{accessible ? roomOf(free, capacity) : '✖ not accessible'}</td>
                        <td>{needed === undefined ? 'nothing' : bytes(needed)}</td>
                      </tr>
                    ))}
                  </tbody>
                </table>
              </Wide>
            )}
          </li>
        ))}
      </ul>
    </Part>
  );
}

/** The releases that the cluster has, and whether it could go back. */
export function Releases(): JSX.Element | null {
  if (releases.value.length === 0) return null;
  return (
    <Part id="releases" title="Release and way back">
      <ul class="list">
        {releases.value.map((row) => (
          <Release key={row.id} row={row} />
        ))}
      </ul>
    </Part>
  );
}

/** Conditions that are well when they are False. */
const BAD: ReadonlySet<string> = new Set(['Failing', 'Invalid']);
const QUESTIONS: Readonly<Record<string, string>> = {
  Failing: 'Does it fail?',
  Invalid: 'Is the wish invalid?',
  ReleaseAccepted: 'Is it accepted?',
  Progressing: 'Is it being applied?',
  Upgradeable: 'May the next minor come?',
  Rollbackable: 'Can it go back?',
};
const WORDS: Readonly<Record<string, string>> = { True: 'yes', False: 'no', Unknown: 'unknown' };

function Release({ row }: { readonly row: ReleaseRow }): JSX.Element {
  const { name, version, progress, conditions, waiting, history } = row;
  return (
    <li>
      <p>
        <strong>{name}</strong> {version} <span class="quiet">{progress}</span>
      </p>
      <dl class="conditions">
        {conditions.map(({ type, status, reason, message }) => {
          const well = type === 'Progressing' || (status === 'True') !== BAD.has(type);
          return (
            <div key={type}>
              <dt>{QUESTIONS[type] ?? type}</dt>
              <dd>
                <span class={`mark ${status === 'Unknown' ? 'unknown' : well ? 'yes' : 'no'}`}>
                  {WORDS[status] ?? status}
                </span>
                {well && status !== 'Unknown' ? null : (
                  <span>
                    {reason === '' ? '' : ` ${reason}`}
                    {message === '' ? '' : `: ${message}`}
                  </span>
                )}
              </dd>
            </div>
          );
        })}
      </dl>
      {waiting.length === 0 ? null : <p>Waits for {waiting.join('; ')}</p>}
      {history.length === 0 ? null : (
        <p class="quiet">
          Before:{' '}
          {history.map((one) => `${one.version}${one.state === '' ? '' : ` (${one.state.toLowerCase()})`}`).join(', ')}
        </p>
      )}
    </li>
  );
}
