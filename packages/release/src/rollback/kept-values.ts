import {
  createLedger,
  equal,
  isSameLoss,
  LEDGER_COMPONENT,
  type Ledger,
  type LedgerEntry,
  type LedgerStore,
  type LedgerSubject,
  type LedgerView,
  type Loss,
  ledgerName,
  readRecord,
  type Schema,
  schemaAt,
  withKeyed,
} from '@drydock/crd';
import { type Clock, configMapStore, type KubeClient } from '@drydock/kube';
import { ReleaseError } from '../errors.ts';

/** What the definition of a release could not hold, by the definition. */
export interface KeptValues {
  readonly of: (definition: { readonly plural: string; readonly group: string }) => KeptOfKind;
  /** Definitions (`plural.group`) of which something may be kept. */
  readonly definitions: (signal: AbortSignal) => Promise<readonly string[]>;
}

/** Two ledgers, since statuses are shared with those who write them. */
export interface KeptOfKind {
  /** Of statuses; paths are below `status`. */
  readonly status: Ledger;
  /** Of everything else; paths are from the top. */
  readonly rest: Ledger;
  /** Says which records nobody can read. Throws `ReleaseError` BAD_LEDGER. */
  readonly check: () => Promise<void>;
  /** Objects of which anything is kept. */
  readonly subjects: () => Promise<readonly Pick<LedgerSubject, 'uid' | 'object'>[]>;
}

/** Of everything but statuses: every object of a kind may have a field that a definition does not know. */
const SHARDS = 8;
const REST = 'rollback-kept';
const PREFIXES = [`drydock-${LEDGER_COMPONENT}-`, `drydock-${REST}-`];

/** Keeps them in ConfigMaps: those of statuses where their writers have theirs. */
export function configMapKept(options: {
  readonly client: Pick<KubeClient, 'get' | 'create' | 'replace' | 'list'>;
  readonly namespace: string;
  readonly clock?: Clock;
}): KeptValues {
  const { client, namespace, clock } = options;
  const store = (name: string, shards: number) =>
    configMapStore({
      ...{ client, namespace, name, shards, component: LEDGER_COMPONENT },
      ...(clock === undefined ? {} : { clock }),
    });
  return {
    of: (definition) =>
      keptIn(
        { name: `${namespace}/${ledgerName(definition)}`, store: store(ledgerName(definition), 1) },
        {
          name: `${namespace}/drydock-${REST}-${definition.plural}.${definition.group}`,
          store: store(`drydock-${REST}-${definition.plural}.${definition.group}`, SHARDS),
        },
      ),
    definitions: async (signal) => {
      const found = new Set<string>();
      const labels = `app.kubernetes.io/component=${LEDGER_COMPONENT}`;
      const resource = {
        group: '',
        version: 'v1',
        kind: 'ConfigMap',
        plural: 'configmaps',
        scope: 'Namespaced',
      } as const;
      for await (const { metadata, ...map } of client.list(resource, { namespace, labels }, { signal })) {
        const prefix = PREFIXES.find((one) => metadata.name.startsWith(one));
        if (prefix === undefined || Object.keys((map as { readonly data?: object }).data ?? {}).length === 0) continue;
        const name = metadata.name.slice(prefix.length);
        found.add(name);
        // A ledger of several ConfigMaps has their numbers at the ends of their names.
        found.add(name.replace(/-\d+$/, ''));
      }
      return [...found].toSorted();
    },
  };
}

/** Ledgers on stores, which are named in errors. */
export function keptIn(
  status: { readonly name: string; readonly store: LedgerStore },
  rest: { readonly name: string; readonly store: LedgerStore },
): KeptOfKind {
  const broken: string[] = [];
  const ledger = ({ name, store }: typeof status): Ledger =>
    createLedger({
      store,
      onProblem: ({ what, key, error }) => {
        broken.push(`ConfigMap ${name}${key === '' ? '' : `, key ${key}`}: ${what}${reason(error)}`);
      },
    });
  const both = { status: ledger(status), rest: ledger(rest) };
  return {
    ...both,
    check: async () => {
      await both.status.view('');
      await both.rest.view('');
      const [first] = broken;
      if (first !== undefined) throw new ReleaseError('BAD_LEDGER', first);
    },
    subjects: async () => {
      const texts = [...(await status.store.read()), ...(await rest.store.read())];
      const objects = texts.map(([uid, text]) => [uid, readRecord(text).object] as const);
      return [...new Map(objects)].map(([uid, object]) => ({ uid, object })).filter(({ object }) => object !== '');
    },
  };
}

function reason(error: unknown): string {
  return error instanceof Error ? `: ${error.message}` : '';
}

/** Who keeps something, and when. */
export interface KeepOptions {
  readonly subject: LedgerSubject;
  readonly lost: readonly Loss[];
  readonly schemaHash: string;
  readonly release: string;
  readonly now: Date;
  /** What is stored in the place that the paths are in. */
  readonly stored: Readonly<Record<string, never>>;
  /** Of that place, as its writers know it. */
  readonly schema: Schema | undefined;
}

/** Whether all of it is kept, and nothing older at the same places. */
export function isKept({ entries }: LedgerView, losses: readonly Loss[], schema: Schema | undefined): boolean {
  const lost = losses.map((loss) => withEarlier(loss, entries, schema));
  return lost.every((loss) => entries.some((entry) => isSameLoss(entry, loss))) && stale(entries, lost).length === 0;
}

/** Keeps losses beside what is kept already; at one place the newer value counts, item by item where items have keys. Rejects where it cannot be kept: then it must not be lost. */
export async function keep(ledger: Ledger, options: KeepOptions): Promise<void> {
  const { subject, schema, schemaHash, release, now, stored } = options;
  const { entries } = await ledger.view(subject.uid, true);
  const lost = options.lost.map((loss) => withEarlier(loss, entries, schema));
  const view = await ledger.grow(subject, lost, { schemaHash, release, firstSeen: now.toISOString() }, stored);
  const old = stale(view.entries, lost);
  if (old.length > 0)
    await ledger.shrink(
      subject,
      view,
      view.entries.filter((entry) => !old.includes(entry)),
    );
}

/** A list or a map with those of its keyed items that are kept: whoever wrote it anew after it was left out whole has not seen them, and took none away. */
function withEarlier(loss: Loss, entries: readonly LedgerEntry[], schema: Schema | undefined): Loss {
  // Of an item there may be several losses at one index.
  if (schema === undefined || typeof loss.at.at(-1) === 'number') return loss;
  const before = entries.find(({ at }) => equal([...at], [...loss.at]))?.value;
  if (before === undefined) return loss;
  return { ...loss, value: withKeyed(loss.value, before, schemaAt(schema, loss.at)?.schema) };
}

/** Entries in whose places something else has come. Of items that were taken out of a list each stands for itself. */
function stale(entries: readonly LedgerEntry[], lost: readonly Loss[]): readonly LedgerEntry[] {
  return entries.filter((entry) =>
    lost.some(
      (loss) =>
        equal([...entry.at], [...loss.at]) &&
        !isSameLoss(entry, loss) &&
        (typeof loss.at.at(-1) !== 'number' || (loss.instead !== undefined && equal(entry.instead, loss.instead))),
    ),
  );
}
