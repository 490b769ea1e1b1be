import { Gauge, type Registry } from 'prom-client';
import { type Clock, systemClock } from '../clock.ts';
import type { HealthCheck } from '../manager/health.ts';
import type { KubeObject, Resource } from '../resource.ts';
import type { EventRecorder } from './events.ts';

/** What became of a status, as whoever writes it tells. */
export type StatusNotice<T extends KubeObject> = {
  readonly resource: Resource<T>;
  readonly uid: string;
  /** Absent: it is gone. */
  readonly object?: T;
} /** Written without some values, which the live schema cannot hold. */ & (
  | {
      readonly kind: 'degraded';
      readonly places: readonly string[];
      readonly values: number;
      /** An earlier process has told it: it is no news, and no Event. */
      readonly again?: boolean;
    }
  /** Written whole again. */
  | { readonly kind: 'restored' }
  /** Not written. */
  | { readonly kind: 'blocked'; readonly why: string; readonly causes: readonly string[] }
  /** Written again. */
  | { readonly kind: 'unblocked' }
  | { readonly kind: 'gone' }
);

/** How one status stands, in {@link StatusNote}. */
export interface NotedStatus {
  /** Plural and group, such as `bootimages.drydock.dev`. */
  readonly definition: string;
  /** `namespace/name`. */
  readonly object: string;
  readonly state: 'degraded' | 'blocked';
  /** RFC 3339. */
  readonly since: string;
  /** What is left out, or why nothing is written. */
  readonly why: string;
}

/** What the annotation on a Lease says; `more` are not named for want of room. */
export interface StatusNote {
  readonly degraded: number;
  readonly blocked: number;
  readonly named: readonly NotedStatus[];
  readonly more: number;
}

/**
 * A way to tell how statuses stand that shares no schema with them: Events about the objects, gauges, and a note that the role's Lease carries.
 */
export interface StatusChannel {
  readonly tell: <T extends KubeObject>(notice: StatusNotice<T>) => void;
  /** For the Lease, see `LeaderOptions.annotations`. */
  readonly annotations: () => Readonly<Record<string, string | undefined>>;
  /** For `/readyz`: says what is blocked, and never fails, since a restart would not help. */
  readonly check: HealthCheck;
}

/** What a channel is made of. */
export interface StatusChannelOptions {
  readonly registry: Registry;
  readonly events: Pick<EventRecorder, 'record'>;
  readonly clock?: Clock;
}

/** The annotation of a Lease that says how the statuses stand which its holder writes. JSON, see {@link StatusNote}. */
export const STATUS_NOTE = 'drydock.dev/status-writes';

const NAMED = 20;
const WHY_LENGTH = 300;

/** Makes a channel. */
export function statusChannel({ registry, events, clock = systemClock }: StatusChannelOptions): StatusChannel {
  interface State {
    readonly definition: string;
    readonly object: string;
    readonly degraded?: { readonly since: string; readonly why: string; readonly values: number };
    readonly blocked?: { readonly since: string; readonly why: string };
  }
  const states = new Map<string, State>();
  const definitions = new Set<string>();
  const gauge = (name: string, help: string, measure: (state: State) => number): Gauge =>
    new Gauge({
      name,
      help,
      labelNames: ['definition'],
      registers: [registry],
      collect() {
        for (const definition of definitions) {
          const own = [...states.values()].filter((state) => state.definition === definition);
          this.set(
            { definition },
            own.map(measure).reduce((sum, one) => sum + one, 0),
          );
        }
      },
    });
  gauge(
    'drydock_status_write_blocked',
    'Objects whose status the server refuses, or that cannot be cut safely.',
    (state) => (state.blocked === undefined ? 0 : 1),
  );
  gauge(
    'drydock_status_quarantined_values',
    'Values that are kept in a ledger because the live schema cannot hold them.',
    ({ degraded }) => degraded?.values ?? 0,
  );

  function note(): StatusNote {
    const all = [...states.values()].flatMap(({ definition, object, degraded, blocked }): readonly NotedStatus[] => {
      if (blocked !== undefined) return [{ definition, object, state: 'blocked', ...blocked }];
      if (degraded === undefined) return [];
      const { since, why } = degraded;
      return [{ definition, object, state: 'degraded', since, why }];
    });
    const sorted = all.toSorted((a, b) => Number(b.state === 'blocked') - Number(a.state === 'blocked'));
    return {
      degraded: all.filter(({ state }) => state === 'degraded').length,
      blocked: all.filter(({ state }) => state === 'blocked').length,
      named: sorted.slice(0, NAMED),
      more: Math.max(0, all.length - NAMED),
    };
  }

  return {
    tell: (notice) => {
      const { resource, object, uid } = notice;
      const definition = resource.group === '' ? resource.plural : `${resource.plural}.${resource.group}`;
      definitions.add(definition);
      const event = eventOf(notice);
      if (event !== undefined && object !== undefined) events.record(resource, object, event);
      const key = `${definition} ${uid}`;
      const { degraded, blocked, ...known } = states.get(key) ?? { definition, object: nameOf(object) };
      const since = clock.date().toISOString();
      const next: State = {
        ...known,
        ...(notice.kind === 'degraded'
          ? { degraded: { since: degraded?.since ?? since, why: placesText(notice.places), values: notice.values } }
          : notice.kind === 'restored' || degraded === undefined
            ? {}
            : { degraded }),
        ...(notice.kind === 'blocked'
          ? { blocked: { since: blocked?.since ?? since, why: whyText(notice) } }
          : notice.kind === 'unblocked' || blocked === undefined
            ? {}
            : { blocked }),
      };
      if (notice.kind === 'gone' || (next.degraded === undefined && next.blocked === undefined)) states.delete(key);
      else states.set(key, next);
    },
    annotations: () => ({ [STATUS_NOTE]: states.size === 0 ? undefined : JSON.stringify(note()) }),
    check: () => {
      const { blocked, degraded, named } = note();
      const [first] = named;
      if (first === undefined) return undefined;
      const counts = [blocked > 0 ? `${blocked} not written` : '', degraded > 0 ? `${degraded} cut` : ''];
      return {
        remark: `statuses: ${counts.filter((text) => text !== '').join(', ')}; ${first.definition} ${first.object} is ${first.state}: ${first.why}`,
      };
    },
  };
}

/** Reads the note of a Lease; undefined: it has none that can be read. */
export function readStatusNote(annotations: Readonly<Record<string, string>> | undefined): StatusNote | undefined {
  const text = annotations?.[STATUS_NOTE];
  if (text === undefined) return undefined;
  try {
    const note = JSON.parse(text) as Partial<StatusNote> | null;
    if (typeof note !== 'object' || note === null || !Array.isArray(note.named)) return undefined;
    const named = (note.named as readonly Partial<NotedStatus>[]).filter((one): one is NotedStatus =>
      [one.definition, one.object, one.state, one.since, one.why].every((part) => typeof part === 'string'),
    );
    return { degraded: Number(note.degraded), blocked: Number(note.blocked), named, more: Number(note.more) };
  } catch {
    return undefined;
  }
}

function nameOf(object: KubeObject | undefined): string {
  const { name, namespace } = object?.metadata ?? { name: '' };
  return namespace === undefined ? name : `${namespace}/${name}`;
}

function placesText(places: readonly string[]): string {
  return `left out: ${places.join(', ')}`.slice(0, WHY_LENGTH);
}

function whyText({ why, causes }: { readonly why: string; readonly causes: readonly string[] }): string {
  return (causes.length === 0 ? why : `${why}: ${causes.join('; ')}`).slice(0, WHY_LENGTH);
}

function eventOf<T extends KubeObject>(notice: StatusNotice<T>): Parameters<EventRecorder['record']>[2] | undefined {
  const action = 'WriteStatus';
  switch (notice.kind) {
    case 'degraded': {
      if (notice.again === true) return undefined;
      const note = `The live schema cannot hold the whole status. Until it can, these values are kept in a ledger: ${notice.places.join(', ')}`;
      return { type: 'Warning', reason: 'StatusDegraded', action, note };
    }
    case 'restored':
      return { type: 'Normal', reason: 'StatusRestored', action, note: 'The whole status is written again.' };
    case 'blocked': {
      const note = `The status is not written, the work goes on. ${whyText(notice)}`;
      return { type: 'Warning', reason: 'StatusWriteBlocked', action, note };
    }
    case 'unblocked':
      return { type: 'Normal', reason: 'StatusWriteResumed', action, note: 'The status is written again.' };
    case 'gone':
      return undefined;
  }
}
