import {
  type Cache,
  type CallOptions,
  type Client,
  type Controller,
  controller,
  type EventRecorder,
  generationChanged,
  isNotFound,
  type Key,
  type KubeObject,
  keyOf,
  statusWriter,
  type WithStatus,
} from '@drydock/kube';
import { MADE_BY } from '../apply/merge/metadata.ts';
import type { UpgradeRisk } from '../state/upgradeable.ts';
import { abandoned } from './abandoned.ts';
import type { Projected } from './definitions.ts';
import { type Face, ownerName } from './face.ts';
import { type ReleaseMemory, releaseMemory } from './memory.ts';
import { runPass } from './pass.ts';
import type { ReleasePorts } from './ports.ts';
import { type ManagedBy, whileAlone } from './upstream-manager.ts';

/** What reconciles the releases of one kind. */
export interface ReleaseControllerOptions<T extends KubeObject & WithStatus> {
  readonly name: string;
  readonly face: Face<T>;
  readonly cache: Cache<T>;
  readonly client: Client;
  readonly projected: Projected;
  readonly ports: ReleasePorts;
  readonly events: Pick<EventRecorder, 'record'>;
  /** Who manages the object instead, as a clause; undefined: nobody. Asked before each pass. */
  readonly managedBy?: ManagedBy;
  /** What of the cluster stands against another minor. */
  readonly risks?: (object: T, call: CallOptions) => Promise<readonly UpgradeRisk[]>;
}

/** Passes at the same time: who waits for its turn to be read or applied says so meanwhile. */
const AT_ONCE = 64;
/** ms that a pass may take before it counts as hanging: an attempt has eight minutes. */
const HANGS = 600_000;
/** ms until somebody else is looked for again. */
const ELSEWHERE = 60_000;

/** Brings each object's release about, and writes its status. */
export function releaseController<T extends KubeObject & WithStatus>(options: ReleaseControllerOptions<T>): Controller {
  const { face, cache, client, projected, ports } = options;
  const { projector } = projected;
  const { recall, project, refused, written, failed } = projector;
  const writer = statusWriter<T>({ client, resource: face.resource, recall, project, refused, written, failed });
  const memories = new Map<string, ReleaseMemory>();
  cache.subscribe(({ old, now }) => {
    const { uid = '', name = '' } = old?.metadata ?? {};
    if (old === undefined || now?.metadata.uid === uid) return;
    memories.delete(uid);
    projector.forget(uid);
    ports.metrics.gone({ uid, name });
    ports.watches.forget(uid);
  });
  const all = () => Array.from(cache.all(), keyOf);
  const { clock } = ports;
  const isHere = (key: Key): boolean => cache.get(key) !== undefined;
  const warn = (error: unknown): void => ports.warn('whose inventories there are cannot be looked at', error);
  return controller<T>({
    name: options.name,
    for: cache,
    when: generationChanged,
    watches: [projected.changes(all), abandoned(ports.inventory, face.resource, { clock, isHere, warn })],
    concurrency: AT_ONCE,
    hangsAfter: HANGS,
    backOff: { first: 1_000, longest: 120_000 },
    reconcile: async (key, { signal, stopping, log }) => {
      const object = cache.get(key);
      if (object === undefined) return endClaims(options, key, { signal });
      if (object.metadata.deletionTimestamp !== undefined) return undefined;
      const elsewhere = await options.managedBy?.({ signal });
      if (elsewhere !== undefined) {
        log.info({}, `${ownerName(face.resource, object)} is only read: ${elsewhere}`);
        return { after: ELSEWHERE };
      }
      using alone = whileAlone(options.managedBy, { clock, signal });
      const uid = object.metadata.uid ?? '';
      const memory = memories.get(uid) ?? releaseMemory();
      memories.set(uid, memory);
      const risks = (await options.risks?.(object, { signal })) ?? [];
      let last: T = object;
      const write = async (compute: (current: T) => NonNullable<T['status']> | undefined): Promise<void> => {
        try {
          // The stop of the process is told, too: only the loss of the lease keeps it from being written.
          const result = await writer.write(key, compute, { current: cache.get(key) ?? last, signal: alone.signal });
          announce(options, last, result.object);
          last = result.object;
          if (projector.retryIn(uid) === undefined) ports.metrics.written(face.resource as never, result.object);
        } catch (error) {
          // It was deleted meanwhile.
          if (!isNotFound(error)) throw error;
        }
      };
      const blocked = projector.retryIn(uid) !== undefined;
      const pass = runPass({
        face,
        object,
        remembered: projector.remembered(object),
        blocked,
        memory,
        ports,
        cache,
        risks,
        write,
        signal: alone.signal,
        stopping,
      });
      const after = await pass.catch((error: unknown) => {
        if (alone.instead === undefined) throw error;
        log.info({}, `${ownerName(face.resource, object)} is only read from now on: ${alone.instead}`);
        return ELSEWHERE;
      });
      return { after: Math.max(100, Math.min(after, projector.retryIn(uid) ?? after)) };
    },
  });
}

/** What a deleted object had applied stays, and is nobody's any more: others may have it. */
async function endClaims<T extends KubeObject & WithStatus>(
  { face, client, ports, events }: ReleaseControllerOptions<T>,
  key: Key,
  call: { readonly signal: AbortSignal },
): Promise<undefined> {
  const name = ownerName(face.resource, { metadata: { name: key.name } });
  if (!(await ports.inventory.owners(call.signal)).includes(name)) return;
  try {
    // A cache may be older than an object that was made again under this name.
    await client.get(face.resource, key, call);
    return;
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
  const count = await ports.inventory.remove({ name }, call.signal);
  events.record(face.resource, { metadata: { name: key.name } } as T, {
    type: 'Normal',
    reason: 'ReleaseLeftBehind',
    action: 'ManageRelease',
    note: `${name} is gone. What it applied stays (${count} ${count === 1 ? 'object' : 'objects'}), and is nobody's now; what it made has the annotation ${MADE_BY}.`,
  });
}

/** What has become true, as Events. */
function announce<T extends KubeObject & WithStatus>(
  { face, events }: ReleaseControllerOptions<T>,
  before: T,
  now: T,
): void {
  const [was, is] = [face.recordOf(before), face.recordOf(now)];
  const accepted = (record: typeof was) => record.conditions.find(({ type }) => type === 'ReleaseAccepted');
  const [old, condition] = [accepted(was), accepted(is)];
  const action = 'ManageRelease';
  // Unknown as long as it is being read.
  if (
    condition !== undefined &&
    condition.status !== 'Unknown' &&
    (condition.reason !== old?.reason || condition.status !== old?.status)
  ) {
    const taken = condition.status === 'True';
    events.record(face.resource, now, {
      type: taken ? 'Normal' : 'Warning',
      reason: taken ? 'ReleaseAccepted' : 'ReleaseRefused',
      action,
      note: condition.message ?? '',
    });
  }
  const [first, head] = [was.history[0], is.history[0]];
  if (
    head?.state !== 'Completed' ||
    (first?.state === 'Completed' && first.image === head.image && first.startedTime === head.startedTime)
  )
    return;
  events.record(face.resource, now, {
    type: 'Normal',
    reason: 'ReleaseCompleted',
    action,
    note: `Release ${head.version} was applied to its end.`,
  });
}
