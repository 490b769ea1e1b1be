import { ConfigMap, VirtualMachine } from '@drydock/api';
import {
  createLedger,
  LEDGER_COMPONENT,
  type Ledger,
  ledgerName,
  type ProjectionEvent,
  type StatusKeeping,
} from '@drydock/crd';
import {
  type Client,
  type Clock,
  configMapStore,
  configMapStoreRules,
  type EventRecorder,
  isNotFound,
  type KubeObject,
  keyText,
  type PolicyRule,
  type Resource,
  type Service,
  type StatusChannel,
  type StatusNotice,
} from '@drydock/kube';
import type { Logger } from 'pino';

/** What {@link statusKeeping} needs. */
export interface StatusKeepingOptions {
  readonly client: Client;
  /** Where the ledgers are: beside the Lease. */
  readonly namespace: string;
  readonly channel: StatusChannel;
  readonly events: Pick<EventRecorder, 'record'>;
  readonly log: Pick<Logger, 'warn' | 'info'>;
  readonly clock: Clock;
  /** Who writes, for the ledger. */
  readonly release: string;
}

/** What a role needs so that its statuses are never blocked unheard, and nothing that is left out of them is lost. */
export interface StatusKeepers {
  /** For the kinds whose statuses the role writes. */
  readonly of: (resource: Resource<never>) => StatusKeeping;
  /** Forgets what ledgers hold of objects that are gone. */
  readonly sweeper: Service;
}

/** Of these kinds there can be thousands of objects: one ConfigMap would not do. */
const MANY: Readonly<Record<string, number>> = { [VirtualMachine.plural]: 8 };
/** ms */
const FIRST_SWEEP = 5 * 60_000;
const SWEEP_AGAIN = 60 * 60_000;

/** Gives a role its ledgers, and passes what happens to its statuses on to the second channel. */
export function statusKeeping(role: string, options: StatusKeepingOptions): StatusKeepers {
  const { client, namespace, channel, events, log, clock, release } = options;
  const ledgers = new Map<string, { readonly ledger: Ledger; readonly resource: Resource<KubeObject> }>();
  return {
    of: (of) => {
      const resource = of as Resource<KubeObject>;
      const where = { name: ledgerName(resource), shards: MANY[resource.plural] ?? 1 };
      const known = ledgers.get(where.name);
      const store = configMapStore({ client, namespace, component: LEDGER_COMPONENT, clock, ...where });
      const ledger =
        known?.ledger ??
        createLedger({
          store,
          onProblem: ({ what, key, error }) => {
            log.warn({ err: error, ledger: where.name, uid: key }, what);
            const note = `${what}${key === '' ? '' : ` (key ${key})`}${error instanceof Error ? `: ${error.message}` : ''}`;
            const event = { type: 'Warning', reason: 'LedgerProblem', action: 'KeepStatus', note } as const;
            events.record(ConfigMap, { metadata: { name: where.name, namespace } }, event);
          },
        });
      ledgers.set(where.name, { ledger, resource });
      return { ledger, release, tell: (event) => channel.tell(noticeOf(resource, event)) };
    },
    sweeper: {
      name: `sweep-ledgers-${role}`,
      run: async (signal) => {
        for (let wait = FIRST_SWEEP; !signal.aborted; wait = SWEEP_AGAIN) {
          await clock.sleep(wait, { background: true, signal }).catch(() => undefined);
          for (const { ledger, resource } of signal.aborted ? [] : ledgers.values()) {
            try {
              const swept = await ledger.sweep((subject) => exists(client, resource, subject, signal));
              if (swept > 0) log.info({ definition: resource.plural, swept }, 'objects that are gone were forgotten');
            } catch (error) {
              if (!signal.aborted) log.warn({ err: error, definition: resource.plural }, 'a ledger cannot be swept');
            }
          }
        }
      },
    },
  };
}

/** What a role may do to its ledgers, in the namespace of its Lease. */
export function statusKeepingRules(resources: readonly Resource<never>[]): readonly PolicyRule[] {
  return configMapStoreRules(
    resources.map((resource) => ({ name: ledgerName(resource), shards: MANY[resource.plural] ?? 1 })),
  );
}

/** Whether the very object is still there. */
async function exists(
  client: Pick<Client, 'get'>,
  resource: Resource<KubeObject>,
  { uid, object }: { readonly uid: string; readonly object: string },
  signal: AbortSignal,
): Promise<boolean> {
  const [name = '', namespace] = object.split('/').toReversed();
  const key = namespace === undefined ? { name } : { namespace, name };
  if (object !== keyText(key)) return true;
  try {
    return (await client.get(resource, key, { signal })).metadata.uid === uid;
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}

function noticeOf(resource: Resource<KubeObject>, event: ProjectionEvent): StatusNotice<KubeObject> {
  const object = event.object as KubeObject | undefined;
  const about = { resource, uid: event.uid, ...(object === undefined ? {} : { object }) };
  switch (event.kind) {
    case 'quarantined':
      return { ...about, kind: 'degraded', places: event.places, values: event.lost.length, again: event.again };
    case 'blocked':
      return { ...about, kind: 'blocked', why: event.why, causes: event.causes };
    default:
      return { ...about, kind: event.kind };
  }
}
