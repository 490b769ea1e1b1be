import { shortText, shownText } from '@drydock/api/text';
import {
  type Client,
  ifFound,
  isAlreadyExists,
  isConflict,
  isNotFound,
  type Key,
  keyOf,
  type Resource,
} from '@drydock/kube';
import { type CanaryMachine, type CanaryStep, type CanaryVerdict, decideCanary } from '../canary/decide.ts';
import { type CanaryGroup, canaryLabel, isCanaryName } from '../canary/machine.ts';
import { beginWait, type CanaryClocks, type CanaryWaits, elapsedOf, waitedMs } from '../canary/patience.ts';
import { canarySettling, type Settling } from '../canary/settling.ts';
import { MOST_CANARIES } from '../canary/spec.ts';
import {
  type CanaryWords,
  canaryUnsupported,
  creationFailure,
  namesOf,
  outcomeOf,
  stepCanary,
  withGuest,
} from '../canary/steps.ts';
import { labelSelector } from '../decide/selection.ts';
import { BootImageError } from '../errors.ts';
import type { ImageFacts } from '../image-facts.ts';
import { at, nonEmpty, object } from '../observe/json.ts';
import type { SetOutcome } from '../status/subject.ts';
import {
  bootstrapFault,
  bootstrapOf,
  type CanaryParts,
  canaryLabelsOf,
  canaryParts,
  failureIn,
  ownedBy,
  readyNodeIn,
  rotationGroup,
  rotationSeen,
} from './canary-machine.ts';
import { type ClusterApiObject, CORE, type ServedKinds } from './kinds.ts';
import type { Rotation, RotationCanary, RotationStep } from './rotation.ts';
import { idOfRotated, type RotatedSet, referenceOf, setText } from './set.ts';

/** What canaries of Cluster API are made with, and told from. */
export interface RotationCanaryPorts extends CanaryClocks {
  readonly client: Pick<Client, 'get' | 'list' | 'create' | 'delete'>;
  readonly served: Pick<ServedKinds, 'of'>;
  /** Machines as they were seen last. */
  readonly machines: () => Iterable<ClusterApiObject>;
  /** What is recorded of the canary of a group, as it was seen last. */
  readonly recorded: (group: string) => CanaryVerdict | undefined;
  /** Whether a BootImage says that its set waits for this canary, as it was seen last. */
  readonly awaited: (canary: Key) => boolean;
  /** Writes into the set's BootImage how its canary stands. */
  readonly record: (rotation: Pick<Rotation, 'set'>, facts: ImageFacts) => Promise<void>;
  /** How a machine is doing, as the platform itself says, as a clause. */
  readonly guest?: (rotation: Rotation, name: string, call: Call) => Promise<string | undefined>;
  /** Throws where this process may not write any more. */
  readonly mayWrite?: () => void;
}

interface Call {
  readonly signal?: AbortSignal | undefined;
}

/** An image that is there, and that no machine was made from yet. */
export type Untried = Extract<RotationStep, { readonly kind: 'try' }>;

/** The canaries of one process. What it knows besides what it reads can be lost at no cost. */
export interface RotationCanaries {
  /** One step further with the canary of a set: undefined where its image has passed, else how it stands. Throws `CanaryFailed`, and what stands in the way of one. */
  readonly tried: (rotation: Rotation, step: Untried, call: Call) => Promise<SetOutcome | undefined>;
  /**
   * One step further with a canary that runs while nothing else can be found out about its set, and `why`: its time goes on, and none is made. Throws `CanaryFailed`.
   */
  readonly tend: (running: RunningCanary, why: string, call: Call) => Promise<void>;
  /** What is recorded, for a plan. */
  readonly verdict: (group: string) => CanaryVerdict | undefined;
  /** A set wants no image to be tried any more. */
  readonly ended: (set: RotatedSet) => void;
  /** Removes a machine that is a canary, as it is now. */
  readonly remove: (machine: ClusterApiObject, call: Call) => Promise<void>;
}

/** The canary that the BootImage of a set names, where its policy still wants that very one. */
export interface RunningCanary {
  readonly set: RotatedSet;
  readonly group: CanaryGroup;
  readonly wish: RotationCanary;
}

/** Longest reason that a verdict carries, in UTF-16 units. */
const WHY = 512;

/** See {@link RotationCanaries}. */
export function rotationCanaries(ports: RotationCanaryPorts): RotationCanaries {
  const { client, served } = ports;
  const verdicts = new Map<string, CanaryVerdict>();
  const waits: CanaryWaits = new Map();
  const settling = canarySettling();
  const created = new Set<string>();
  const complete = new Set<string>();
  /** Machines that this process removed, before the cache shows that nobody waits for them. */
  const removed = new Set<string>();
  const verdict = (group: string): CanaryVerdict | undefined => verdicts.get(group) ?? ports.recorded(group);

  async function tried(rotation: Rotation, step: Untried, call: Call): Promise<SetOutcome | undefined> {
    const { set } = rotation;
    const { wish, image, facts } = step;
    const group = rotationGroup(set, wish, image);
    const settles = settling.wants(idOfRotated(set), group, elapsedOf(ports));
    const guest = (): Promise<string | undefined> =>
      ports.guest?.(rotation, group.machine, call) ?? Promise.resolve(undefined);
    let live: ClusterApiObject | undefined;
    const end = await stepCanary(group, {
      ...{ verdicts, settling },
      look: async () => {
        const counted = { others: othersOf(group.machine), most: MOST_CANARIES, settling: settles };
        const seen = await look({ set, group, wish }, counted, call);
        live = seen.live;
        return seen;
      },
      create: () => {
        created.add(group.machine);
        return create(rotation, step, group, call);
      },
      judged: (verdict, machine) => withGuest(verdict, machine, guest, call),
      record: (canary) => {
        ports.mayWrite?.();
        return ports.record(rotation, { ...facts, canary });
      },
      remove: (uid) => remove({ namespace: set.namespace, name: group.machine }, uid, call),
    });
    if (end.kind === 'wait' && live !== undefined && !complete.has(live.metadata.uid ?? '')) {
      const { parts } = await partsOf(rotation, step, group, call);
      await give(live, parts, step, call);
    }
    return outcomeOf(end, group, { ...wordsOf(set, wish), facts });
  }

  async function tend(running: RunningCanary, why: string, call: Call): Promise<void> {
    const { set, group, wish } = running;
    const late = `; its set could not be looked at meanwhile: ${shownText(shortText(why, WHY))}`;
    const end = await stepCanary(group, {
      ...{ verdicts, settling },
      // So that none is made.
      look: () => look(running, { others: 0, most: 0 }, call),
      judged: async ({ verdict: is, message }) => ({
        ...{ verdict: is, message: is === 'Failed' ? `${message}${late}` : message },
      }),
      record: (canary) => {
        ports.mayWrite?.();
        return ports.record(running, { canary });
      },
      remove: (uid) => remove({ namespace: set.namespace, name: group.machine }, uid, call),
    });
    if (end.kind === 'fail') outcomeOf(end, group, wordsOf(set, wish));
  }

  /** How it stands. */
  async function look(
    { set, group, wish }: RunningCanary,
    counted: { readonly others: number; readonly most: number; readonly settling?: Settling | undefined },
    call: Call,
  ): Promise<{
    readonly live: ClusterApiObject | undefined;
    readonly machine: CanaryMachine | undefined;
    readonly next: CanaryStep;
  }> {
    const live = await found(resourceOf(CORE, 'Machine'), set.namespace, group.machine, call);
    const machine = live && seenMachine(live, group.id, await infrastructureOf(live, call));
    // After the machine: it goes once its verdict is known.
    const known = verdict(group.id);
    const awaited = ports.awaited({ namespace: set.namespace, name: group.machine });
    const next = decideCanary(
      {
        ...(machine === undefined ? {} : { machine }),
        ...(known === undefined ? {} : { verdict: known }),
        awaited: machine !== undefined && awaited && !removed.has(machine.uid),
        ...{ others: counted.others, settling: counted.settling },
        ...{ waitedMs: machine ? waitedMs(waits, machine, wish.timeoutMs, ports) : 0 },
      },
      { ...wish, most: counted.most },
    );
    return { live, machine, next };
  }

  /** The machine first, because it owns the rest: whatever becomes of this process, what goes with the machine goes. */
  async function create(rotation: Rotation, step: Untried, group: CanaryGroup, call: Call): Promise<void> {
    const { facts } = step;
    const { parts, resource } = await partsOf(rotation, step, group, call);
    await mayCount(rotation, step, group, call);
    const canary = { ...namesOf(group), message: `canary ${group.machine} is made` };
    await ports.record(rotation, { ...facts, canary });
    const machine = await made(resource, parts.machine, step, call);
    if (machine === undefined) return;
    settling.made(group);
    beginWait(waits, machine.metadata.uid ?? '', ports);
    await give(machine, parts, step, call);
  }

  async function give(machine: ClusterApiObject, parts: CanaryParts, step: Untried, call: Call): Promise<void> {
    for (const part of [parts.bootstrap, parts.infrastructure]) {
      const { apiVersion = '', kind = '' } = part;
      await made(resourceOf(apiVersion.split('/')[0] ?? '', kind), ownedBy(part, machine), step, call);
    }
    complete.add(machine.metadata.uid ?? '');
  }

  /** Undefined where it is there already: perhaps this process's predecessor was faster, and the next look tells. */
  async function made(
    resource: Resource<ClusterApiObject>,
    one: ClusterApiObject,
    { wish, facts }: Untried,
    call: Call,
  ): Promise<ClusterApiObject | undefined> {
    call.signal?.throwIfAborted();
    ports.mayWrite?.();
    try {
      return { ...one, ...(await client.create(resource, one, call)) };
    } catch (error) {
      if (isAlreadyExists(error)) return undefined;
      throw creationFailure(error, { grant: 'deploy/rbac/cluster-api-canary', policy: wish.policy.name, facts });
    }
  }

  async function partsOf(
    rotation: Rotation,
    { leaf, wish }: Untried,
    group: CanaryGroup,
    call: Call,
  ): Promise<{ readonly parts: CanaryParts; readonly resource: Resource<ClusterApiObject> }> {
    const { set } = rotation;
    const reference = bootstrapOf(set);
    const resource = resourceOf(CORE, 'Machine');
    const template = reference && served.of(reference.group, reference.kind);
    const config = template && (await found(template, set.namespace, reference?.name ?? '', call));
    const fault = bootstrapFault(reference?.kind ?? 'bootstrap template', config);
    if (config === undefined || fault !== undefined)
      throw canaryUnsupported(setText(set), wish.policy.name, fault ?? 'it is not there');
    const { group: of, version, kind } = template as Resource<ClusterApiObject>;
    const typed = { ...config, kind, apiVersion: `${of}/${version}` };
    return {
      parts: canaryParts(rotation, group, { leaf, config: typed, machineVersion: resource.version }),
      resource,
    };
  }

  /** Whoever selects it by what every machine of its cluster bears would count it as one of his own. */
  async function mayCount({ set }: Rotation, { wish }: Untried, group: CanaryGroup, call: Call): Promise<void> {
    const labels = canaryLabelsOf(set, group.id);
    for (const kind of ['MachineSet', 'MachineHealthCheck']) {
      const resource = served.of(CORE, kind);
      if (resource === undefined) continue;
      for await (const { metadata, spec } of client.list(resource, { namespace: set.namespace }, call)) {
        if (nonEmpty(object(spec)['clusterName']) !== set.clusterName) continue;
        if (labelSelector(at(spec, ['selector']) as never)(labels))
          throw canaryUnsupported(
            setText(set),
            wish.policy.name,
            `${kind.toLowerCase()} ${metadata.name} would count it as one of its own`,
          );
      }
    }
  }

  /** Asked for until there is a node: from then on the machine says all. */
  async function infrastructureOf(
    { metadata, spec, status }: ClusterApiObject,
    call: Call,
  ): Promise<ClusterApiObject | undefined> {
    const reference = referenceOf(at(spec, ['infrastructureRef']));
    const resource = reference && served.of(reference.group, reference.kind);
    if (resource === undefined || reference === undefined || readyNodeIn(status) !== undefined) return undefined;
    return found(resource, metadata.namespace ?? '', reference.name, call);
  }

  async function remove(machine: Key, uid: string, call: Call): Promise<void> {
    ports.mayWrite?.();
    removed.add(uid);
    try {
      await client.delete(resourceOf(CORE, 'Machine'), machine, { uid }, call);
    } catch (error) {
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
  }

  function othersOf(own: string): number {
    const there = new Set([...created, ...Array.from(ports.machines(), ({ metadata }) => metadata.name)]);
    there.delete(own);
    return [...there].filter(isCanaryName).length;
  }

  function resourceOf(group: string, kind: string): Resource<ClusterApiObject> {
    const resource = served.of(group, kind);
    if (resource === undefined)
      throw new BootImageError('CanaryUnsupported', `${kind} of ${group} is not served`, { retriable: false });
    return resource;
  }

  async function found(
    resource: Resource<ClusterApiObject>,
    namespace: string,
    name: string,
    call: Call,
  ): Promise<ClusterApiObject | undefined> {
    return await ifFound(client.get(resource, { namespace, name }, call));
  }

  return {
    ...{ tried, tend, verdict },
    ended: (set) => settling.ended(idOfRotated(set)),
    remove: ({ metadata }, call) => remove(keyOf({ metadata }), metadata.uid ?? '', call),
  };
}

function wordsOf({ namespace }: RotatedSet, { policy, keepOnFailure }: RotationCanary): CanaryWords {
  return { policy: policy.name, kept: keepOnFailure, namespace, kind: `machines.${CORE}` };
}

/** A machine of Cluster API, as far as it decides about a canary. Its cluster may own it: that counts it nowhere. */
export function seenMachine(live: ClusterApiObject, group: string, infrastructure?: ClusterApiObject): CanaryMachine {
  const { name, uid = '', labels = {}, creationTimestamp = '', deletionTimestamp } = live.metadata;
  const { status } = live;
  const phase = nonEmpty(object(status)['phase']);
  const { reason, message } = failureIn(status);
  return {
    ...{ name, uid, phase, seen: rotationSeen(live, infrastructure), going: deletionTimestamp !== undefined },
    own: labels[canaryLabel] === group && !isTaken(live),
    made: Date.parse(creationTimestamp),
    failed: phase === 'Failed' || reason !== undefined || message !== undefined,
    ready: readyNodeIn(status),
  };
}

/** Whether a machine of Cluster API is a canary of ours, of any group. */
export function isRotationCanary(machine: ClusterApiObject): boolean {
  const { name, labels } = machine.metadata;
  return isCanaryName(name) && labels?.[canaryLabel] === name.slice(-12) && !isTaken(machine);
}

function isTaken({ metadata }: ClusterApiObject): boolean {
  return metadata.ownerReferences?.some(({ controller }) => controller === true) === true;
}
