import type { ProjectionEvent } from '@drydock/crd';
import type { KubeObject, Resource } from '@drydock/kube';
import { Gauge, Registry } from 'prom-client';
import type { JudgedWay } from './way-back-judge.ts';

/** What is measured of releases and of the statuses that speak of them. */
export interface ReleaseMetrics {
  /** What became of a status. */
  readonly told: (resource: Resource<never>, event: ProjectionEvent) => void;
  /** A status is stored as it was meant, or as far as the schema lets it. */
  readonly written: (resource: Resource<never>, object: KubeObject) => void;
  readonly judged: (name: string, way: JudgedWay) => void;
  readonly gone: (object: { readonly uid: string; readonly name: string }) => void;
}

/** Fields of which a refusal is counted one by one. */
const MOST_FIELDS = 10;

/** Puts the metrics into a registry. `now`: ms since the epoch. */
export function releaseMetrics(registry: Registry = new Registry(), now: () => number = Date.now): ReleaseMetrics {
  const blocked = new Map<
    string,
    { readonly name: string; readonly resource: Resource<never>; readonly fields: readonly string[] }
  >();
  const cut = new Map<string, number>();
  const writes = new Map<string, { readonly resource: Resource<never>; readonly name: string; readonly at: number }>();
  const ways = new Map<string, JudgedWay>();
  const gauge = (name: string, help: string, labelNames: readonly string[], collect: (gauge: Gauge) => void): void => {
    new Gauge({
      ...{ name, help, labelNames: [...labelNames], registers: [registry] },
      collect() {
        this.reset();
        collect(this);
      },
    });
  };
  gauge(
    'payload_status_write_blocked',
    'A status that the server refuses, by the field that it refuses.',
    ['group', 'resource', 'name', 'field'],
    (of) => {
      for (const { name, resource, fields } of blocked.values())
        for (const field of fields) of.set({ group: resource.group, resource: resource.plural, name, field }, 1);
    },
  );
  gauge(
    'payload_status_quarantined_values',
    'Values that are kept in a ledger because the live schema cannot hold them.',
    [],
    (of) => {
      of.set([...cut.values()].reduce((sum, one) => sum + one, 0));
    },
  );
  gauge(
    'payload_status_write_age_seconds',
    'Seconds since the status was stored last as it was meant.',
    ['resource', 'name'],
    (of) => {
      for (const { resource, name, at } of writes.values())
        of.set({ resource: resource.plural, name }, Math.max(0, (now() - at) / 1000));
    },
  );
  gauge(
    'payload_rollback_preflight_findings',
    'What stands against going back to the release before, by class of finding.',
    ['name', 'class'],
    (of) => {
      for (const [name, { findings }] of ways)
        for (const [kind, all] of Map.groupBy(findings, (one) => one.class)) of.set({ name, class: kind }, all.length);
    },
  );
  const forget = (uid: string): void => {
    blocked.delete(uid);
    cut.delete(uid);
    writes.delete(uid);
  };
  return {
    told: (resource, event) => {
      const { uid, object } = event;
      if (event.kind === 'blocked') {
        const fields = event.causes.map((cause) => /^\S*/.exec(cause)?.[0] ?? '').slice(0, MOST_FIELDS);
        blocked.set(uid, { resource, name: nameOf(object), fields: fields.length === 0 ? [''] : fields });
      } else if (event.kind === 'quarantined') cut.set(uid, event.lost.length);
      else if (event.kind === 'unblocked') blocked.delete(uid);
      else if (event.kind === 'restored') cut.delete(uid);
      else forget(uid);
    },
    written: (resource, object) =>
      void writes.set(object.metadata.uid ?? '', { resource, name: object.metadata.name, at: now() }),
    judged: (name, way) => void ways.set(name, way),
    gone: ({ uid, name }) => {
      forget(uid);
      ways.delete(name);
    },
  };
}

function nameOf(object: unknown): string {
  return (object as KubeObject | undefined)?.metadata.name ?? '';
}
