import { type BootImage, Machine, type MachineSet, Node } from '@drydock/api';
import { ApiError, type Client, ifFound, isAlreadyExists, isNotFound, type Key, keyOf } from '@drydock/kube';
import type { ImageFacts } from '../image-facts.ts';
import { idOf, type KeptSet, setText } from '../observe/kept-set.ts';
import type { PointedImage } from '../platform.ts';
import type { SetPolicy } from '../policy/set-policy.ts';
import type { SetOutcome } from '../status/subject.ts';
import { isUntrusted, type StubTrust } from '../stub-authority.ts';
import { machineApiNamespace } from '../user-data/machine-api.ts';
import { cannotJoin } from '../user-data/stub-trust.ts';
import { type CanaryObserved, type CanaryVerdict, canaryMachineOf, decideCanary, isOwnCanary } from './decide.ts';
import { type CanaryGroup, canaryMachine, groupOf, isCanaryName, unsupported } from './machine.ts';
import { beginWait, type CanaryClocks, type CanaryWaits, elapsedOf, waitedMs } from './patience.ts';
import { type CanarySettling, canarySettling, type Settling } from './settling.ts';
import { canarySpec, MOST_CANARIES } from './spec.ts';
import { canaryUnsupported, creationFailure, outcomeOf, stepCanary, withGuest } from './steps.ts';

/** What canaries are made with, and told from. */
export interface CanaryPorts extends CanaryClocks {
  readonly client: Pick<Client, 'get' | 'create' | 'delete'>;
  /** Machines by their names; undefined where they are not known. */
  readonly machines: () => readonly Machine[] | undefined;
  readonly machineSets: () => readonly MachineSet[];
  /** What was said of sets last. */
  readonly images: () => Iterable<BootImage>;
}

/** A set that is about to be pointed at an image. */
export interface CanaryQuestion {
  readonly set: KeptSet;
  readonly policy: SetPolicy;
  readonly image: PointedImage;
  readonly facts: ImageFacts;
  readonly failureDomain: string | undefined;
  readonly architecture: string;
  /** How a machine of the set is doing, as the platform itself says, as a clause; undefined where it says nothing. */
  readonly guest?: (uid: string, call: { readonly signal?: AbortSignal | undefined }) => Promise<string | undefined>;
  /** Whether machines of the set trust the server that they get their configuration from, by a look of now. */
  readonly stub?: () => Promise<StubTrust | undefined>;
  /** Throws where nothing may be done about the set any more. */
  readonly beforeWrite: () => void;
  /** Writes into the set's BootImage what became of the canary. */
  readonly record: (canary: NonNullable<ImageFacts['canary']>) => Promise<void>;
}

/** The canaries of one pass. */
export interface Canaries {
  /** One step further with the canary of a set: undefined where its image has passed, else how it stands. Throws `CanaryFailed`, and what stands in the way of one. */
  readonly tried: (
    asked: CanaryQuestion,
    call?: { readonly signal?: AbortSignal | undefined },
  ) => Promise<SetOutcome | undefined>;
  /**
   * Removes canaries that no set waits for any more. `ended`: sets that exist and were looked at, and for which none is kept; `longestMs`: after which none is of any use to a set that did not come to ask
   * for it, because something else is wrong with it.
   */
  readonly sweep: (
    sets: {
      readonly existing: ReadonlySet<string>;
      readonly ended: ReadonlySet<string>;
      readonly longestMs: number;
      readonly mayRemove: (machine: string) => boolean;
    },
    call?: { readonly signal?: AbortSignal | undefined },
  ) => Promise<void>;
}

/** What one process knows of canaries; losing it costs at most half of the time that one has, once more. */
export interface CanaryMemory {
  /** By group, before the cache shows them. */
  readonly verdicts: Map<string, CanaryVerdict>;
  readonly waits: CanaryWaits;
  readonly settling: CanarySettling;
  /** Machines that this process removed, by uid, before the cache shows that nobody waits for them. */
  readonly removed: Set<string>;
}

/** Nothing is known. */
export function canaryMemory(): CanaryMemory {
  return { verdicts: new Map(), waits: new Map(), settling: canarySettling(), removed: new Set() };
}

/** Nothing is asked twice about one group in a pass. */
export function canaries(ports: CanaryPorts, { verdicts, waits, settling, removed }: CanaryMemory): Canaries {
  const { client } = ports;
  const answers = new Map<string, Promise<SetOutcome | undefined>>();
  const asked = new Set<string>();
  const created = new Set<string>();

  async function tried(question: CanaryQuestion, call: { readonly signal?: AbortSignal | undefined } = {}) {
    const { set, policy, image, facts } = question;
    const why = unsupported(set, ports.machineSets());
    if (why !== undefined) throw canaryUnsupported(setText(set), policy.name, why);
    const group = groupOf(set, policy, image, question);
    asked.add(group.machine);
    const settles = settling.wants(idOf(set), group, elapsedOf(ports));
    const outcome = await answers.getOrInsertComputed(group.id, () => look(question, group, settles, call));
    return outcome === undefined ? undefined : { ...outcome, ...facts };
  }

  async function look(
    question: CanaryQuestion,
    group: CanaryGroup,
    settles: Settling | undefined,
    call: { readonly signal?: AbortSignal | undefined },
  ): Promise<SetOutcome | undefined> {
    const { set, policy, image, facts, beforeWrite, record } = question;
    const { timeoutMs, keepOnFailure } = canarySpec(policy.spec);
    const key = keyOf(canaryMachine(set, group, image));
    const end = await stepCanary(group, {
      ...{ verdicts, settling },
      look: async () => {
        const observed = { ...(await observe(group, key, timeoutMs, call)), settling: settles };
        const next = decideCanary(observed, { timeoutMs, keepOnFailure, most: MOST_CANARIES });
        return { machine: observed.machine, next };
      },
      create: async () => {
        beforeWrite();
        await create(canaryMachine(set, group, image), group, policy, call);
        created.add(group.machine);
      },
      judged: async (verdict, machine) => {
        const stub = verdict.verdict === 'Failed' ? await question.stub?.() : undefined;
        // The image is not to blame: nothing is recorded of it.
        if (isUntrusted(stub)) throw cannotJoin(stub, { ...facts, stub });
        const told = await withGuest(verdict, machine, question.guest, call);
        if (stub === undefined || stub.status === 'True') return told;
        return { ...told, message: `${told.message}; ${stub.message}` };
      },
      record: (canary) => {
        beforeWrite();
        return record(canary);
      },
      remove: (uid) => remove(key, uid, call),
    });
    return outcomeOf(end, group, {
      ...{ policy: policy.name, kept: keepOnFailure, namespace: machineApiNamespace, kind: 'machine' },
    });
  }

  async function observe(
    group: CanaryGroup,
    key: Key,
    timeoutMs: number,
    call: { readonly signal?: AbortSignal | undefined },
  ): Promise<CanaryObserved> {
    const live = await ifFound(client.get(Machine, key, call));
    const name = live?.status?.nodeRef?.name;
    const node = name === undefined ? undefined : await ifFound(client.get(Node, { name }, call));
    const images = [...ports.images()];
    const verdict = verdicts.get(group.id) ?? recordedOf(group.id, images);
    const there = new Set([...created, ...(ports.machines() ?? []).map(({ metadata }) => metadata.name)]);
    there.delete(group.machine);
    const machine = live && canaryMachineOf(live, node, group.id);
    return {
      ...(machine === undefined ? {} : { machine }),
      ...(verdict === undefined ? {} : { verdict }),
      awaited:
        machine !== undefined &&
        !removed.has(machine.uid) &&
        images.some(({ status }) => status?.canary?.machine === machine.name),
      others: [...there].filter(isCanaryName).length,
      waitedMs: machine === undefined ? 0 : waitedMs(waits, machine, timeoutMs, ports),
    };
  }

  async function create(
    machine: Machine,
    group: CanaryGroup,
    policy: SetPolicy,
    call: { readonly signal?: AbortSignal | undefined },
  ): Promise<void> {
    try {
      const { metadata } = await client.create(Machine, machine, call);
      settling.made(group);
      beginWait(waits, metadata.uid ?? '', ports);
    } catch (error) {
      // Somebody was faster, perhaps this process's predecessor: the next look tells.
      if (isAlreadyExists(error)) return;
      throw creationFailure(error, { grant: 'deploy/rbac/canary', policy: policy.name });
    }
  }

  async function remove(key: Key, uid: string, call: { readonly signal?: AbortSignal | undefined }): Promise<void> {
    removed.add(uid);
    try {
      await client.delete(Machine, key, { uid }, call);
    } catch (error) {
      if (!isNotFound(error) && !(error instanceof ApiError && error.code === 'Conflict')) throw error;
    }
  }

  async function sweep(
    { existing, ended, longestMs, mayRemove }: Parameters<Canaries['sweep']>[0],
    call: { readonly signal?: AbortSignal | undefined } = {},
  ): Promise<void> {
    const left = (ports.machines() ?? []).filter(
      ({ metadata }) => isCanaryName(metadata.name) && !asked.has(metadata.name) && mayRemove(metadata.name),
    );
    if (left.length === 0) return;
    const waitedFor = new Set<string>();
    const kept = new Set<string>();
    for (const { status } of ports.images()) {
      const { set = '', canary } = status ?? {};
      if (canary?.machine === undefined || !existing.has(set) || ended.has(set)) continue;
      (canary.verdict === 'Failed' ? kept : waitedFor).add(canary.machine);
    }
    for (const { metadata } of left) {
      const { uid = '', creationTimestamp = '' } = metadata;
      const young = waitedMs(waits, { uid, made: Date.parse(creationTimestamp) }, longestMs, ports) < longestMs;
      if (kept.has(metadata.name) || (young && waitedFor.has(metadata.name))) continue;
      const key = keyOf({ metadata });
      const machine = await ifFound(client.get(Machine, key, call));
      if (machine === undefined || machine.metadata.deletionTimestamp !== undefined) continue;
      if (isOwnCanary(machine)) await remove(key, machine.metadata.uid ?? '', call);
    }
  }

  return { tried, sweep };
}

/** What became of the canary of a group, as any of its sets says; undefined where nothing is recorded. */
export function recordedOf(group: string, images: Iterable<BootImage>): CanaryVerdict | undefined {
  for (const { status } of images) {
    const { canary } = status ?? {};
    if (canary?.group !== group) continue;
    const { verdict, message = '' } = canary;
    if (verdict === 'Passed' || verdict === 'Failed') return { verdict, message };
  }
  return undefined;
}
