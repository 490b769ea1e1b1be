import type { JSX } from 'preact';
import type { ReleaseRow, TimelineRow } from '../src/state/page-state.ts';
import { Badge, Next, Part, ShareBar, Shares, Some, Table, Text, Time } from './parts.tsx';
import { placeOf } from './reasons.tsx';
import { section } from './store.ts';
import { bytes, counted } from './words.ts';

const [answers, timeline, vcenters, releases] = [
  ...([section('answers'), section('timeline')] as const),
  ...([section('vcenters'), section('releases')] as const),
];

/** "Can I scale now?" for each failure domain or region. */
export function FailureDomains(): JSX.Element | null {
  const rows = answers.value;
  if (rows.length === 0) return null;
  const clusters = new Set(rows.map(({ cluster }) => cluster)).size > 1;
  return (
    <Part id="places" title="By failure domain">
      <ul class="cards">
        {rows.map((row) => {
          const { id, cluster, kind, region, failureDomain, sets, share, answer } = row;
          const within = [clusters ? cluster : '', failureDomain === '' ? '' : `${kind} ${region}`.trim()];
          return (
            <li key={id} class={answer}>
              <h3>
                <Text>{placeOf(row)}</Text> <small class="quiet">{counted(sets, 'machine set')}</small>
              </h3>
              <Shares share={share} />
              <ShareBar share={share} />
              <p class="quiet">
                <Text>{within.filter((part) => part !== '').join(' · ')}</Text>
              </p>
            </li>
          );
        })}
      </ul>
    </Part>
  );
}

/** `1.2 GiB of 4.0 GiB (30 %)`. */
function roomOf(free: number, capacity: number | undefined): string {
  if (capacity === undefined || capacity === 0) return bytes(free);
  return `${bytes(free)} of ${bytes(capacity)} (${Math.round((100 * free) / capacity)} %)`;
}

/** The state of vCenters, as the operator reports it. */
export function VCenters(): JSX.Element | null {
  if (vcenters.value.length === 0) return null;
  return (
    <Part id="vcenters" title="vCenters">
      <ul class="wide">
        {vcenters.value.map(({ id, server, asOf, version, sessions, answer, because, datastores }) => (
          <li key={id}>
            <h3>
              <Text>{server}</Text> <Badge answer={answer} word={HEALTH[answer]} />
            </h3>
            <p class="quiet">
              {[version, sessions === undefined ? '' : `${counted(sessions, 'session')} of our user`]
                .filter((part) => part !== '')
                .join(' · ')}
              {asOf === '' ? null : (
                <>
                  {' · as of '}
                  <Time at={asOf} />
                </>
              )}
            </p>
            {because.map(({ text, nextStep }) => (
              <div key={text}>
                <p>
                  <Text>{text}</Text>
                </p>
                <Next step={nextStep} />
              </div>
            ))}
            {datastores.length === 0 ? null : (
              <Table
                label={`Datastores of templates on ${server}`}
                heads={['Datastore', 'Failure domains', 'Free', 'Needed']}
                rows={datastores.map(({ path, failureDomains, accessible, free, capacity, needed }) => ({
                  id: path,
                  cells: [
                    <Text key="path">{path}</Text>,
                    <Text key="domains">{failureDomains.join(', ')}</Text>,
                    accessible ? roomOf(free, capacity) : 'not accessible',
                    needed === undefined ? 'nothing' : bytes(needed),
                  ],
                }))}
              />
            )}
          </li>
        ))}
      </ul>
    </Part>
  );
}

const HEALTH = { yes: 'Fine', no: 'Not fine', unknown: 'Unknown', wait: 'Wait', unmanaged: 'Not managed' } as const;

/** The releases that the cluster has, and whether it could be rolled back. */
export function Releases(): JSX.Element | null {
  if (releases.value.length === 0) return null;
  return (
    <Part id="releases" title="Release and rollback">
      <ul class="wide">
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
  Invalid: 'Is what was asked for invalid?',
  ReleaseAccepted: 'Is it accepted?',
  Progressing: 'Is it being applied?',
  Upgradeable: 'Can the next minor version be installed?',
  Rollbackable: 'Can it be rolled back?',
};
const STATUS: Readonly<Record<string, string>> = { True: 'Yes', False: 'No', Unknown: 'Unknown' };

function Release({ row }: { readonly row: ReleaseRow }): JSX.Element {
  const { name, version, progress, conditions, waiting, history } = row;
  return (
    <li>
      <h3>
        <Text>{`${name} ${version} ${progress}`.trim()}</Text>
      </h3>
      <dl class="conditions">
        {conditions.map(({ type, status, reason, message }) => {
          const well = type === 'Progressing' || (status === 'True') !== BAD.has(type);
          const tone = status === 'Unknown' ? 'unknown' : well ? 'yes' : 'no';
          const why = [reason, message].filter((part) => part !== '').join(': ');
          return (
            <div key={type} class={tone}>
              <dt>{QUESTIONS[type] ?? type}</dt>
              <dd>
                <strong>{STATUS[status] ?? status}</strong>
                {tone === 'yes' || why === '' ? null : <Text>{` ${why}`}</Text>}
              </dd>
            </div>
          );
        })}
      </dl>
      {waiting.length === 0 ? null : (
        <p>
          <Text>{`Waits for ${waiting.join('; ')}`}</Text>
        </p>
      )}
      {history.length === 0 ? null : (
        <p class="quiet">
          Before:{' '}
          <Text>
            {history
              .map((one) => `${one.version}${one.state === '' ? '' : ` (${one.state.toLowerCase()})`}`)
              .join(', ')}
          </Text>
        </p>
      )}
    </li>
  );
}

/** So much of what happened is shown at once. */
const MOST_ROWS = 20;

/** What happened. */
export function Timeline(): JSX.Element {
  const rows = timeline.value;
  return (
    <Part id="timeline" title="What happened" note="newest first, UTC">
      {rows.length === 0 ? (
        <p class="quiet">Nothing that the cluster remembers.</p>
      ) : (
        <Some most={MOST_ROWS}>
          {rows.map((row) => (
            <Happened key={row.id} row={row} />
          ))}
        </Some>
      )}
    </Part>
  );
}

function Happened({ row }: { readonly row: TimelineRow }): JSX.Element {
  const { time, first, count, warning, about, more, what, text } = row;
  return (
    <li class={warning ? 'happened no' : 'happened'}>
      <p class="quiet">
        <Time at={time} />
        {time === first ? null : (
          <small>
            {' from '}
            <Time at={first} />
          </small>
        )}
      </p>
      <p>
        <strong>{warning ? `Warning: ${what}` : what}</strong>
        {count === 1 ? null : <span class="count">{` ${count.toLocaleString('en')} times`}</span>}
      </p>
      <p>
        <Text>{text}</Text>
      </p>
      <p class="quiet">
        <Text>{`${about.join(', ')}${more === 0 ? '' : ` and ${more} more`}`}</Text>
      </p>
    </li>
  );
}
