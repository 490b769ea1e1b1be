import assert from 'node:assert/strict';
import { BootImage, bootImageName } from '@drydock/api';
import { livePin, type Pin, samePin } from '@drydock/boot-images';
import { capiKind } from '@drydock/boot-images/testing';
import type { KubeObject } from '@drydock/kube';
import type { MemoryCluster } from '@drydock/kube/testing';
import { pinsObeyed } from '../../apps/drydock/src/image/pin-wait.ts';

/** What is known of a cluster of Cluster API besides what its server holds, and what was seen in it that must never be. */
export interface RotationLedger {
  readonly wrong: string[];
  /** Images of which a machine became a node that is ready. */
  readonly booted: Set<string>;
  readonly answers: string[];
  /** The pin of which a revert was told that its set has it, as long as nobody wants another one. */
  readonly done: Map<string, Pin>;
  readonly waiting: (readonly BootImage[])[];
  /** Clients of whoever runs as the operator. */
  readonly operators: WeakSet<object>;
  watch(): void;
  take(from: RotationLedger): void;
  /** The pin of each set that holds now. */
  pins(): Pins;
  /** A call takes effect now, that of the operator with the pins that held when it was made. */
  begin(by: 'operator' | 'person', issued: Pins): void;
  look(): Promise<void>;
  imageOfMachine(name: string): string | undefined;
  settled(): void;
  state(): unknown;
}

/** See {@link RotationLedger.pins}. */
export type Pins = ReadonlyMap<string, Pin | undefined>;

/** What a ledger is kept of. */
interface Kept {
  readonly strategy: string;
  readonly actor: { readonly adopted: readonly string[] };
  readonly wanted: string;
  readonly done: ReadonlySet<string>;
  readonly now: number;
}

interface Condition {
  readonly type?: string;
  readonly status?: string;
}

type Loose = { readonly [key: string]: Loose } & {
  readonly name?: string;
  readonly id?: string;
  readonly type?: string;
};

const namespace = 'ns';
const sets = ['worker-a', 'worker-b'];
const LINE = 'drydock.dev/rotated-from';
const CLONED = 'cluster.x-k8s.io/cloned-from-name';
/** Images that stay as a way back. */
const KEEP = 1;

/** See {@link RotationLedger}. */
export function rotationLedger(cluster: MemoryCluster, kept: () => Kept): RotationLedger {
  const wrong: string[] = [];
  const booted = new Set<string>();
  const answers: string[] = [];
  const done = new Map<string, Pin>();
  const waiting: (readonly BootImage[])[] = [];
  const client = cluster.client();
  const from = new Map<string, string | undefined>();
  let by: 'operator' | 'person' = 'person';
  let issued: Pins = new Map();
  let held: Pins = new Map();

  const named = (set: string): BootImage | undefined =>
    cluster.peek(BootImage, { namespace, name: bootImageName('capi-md', set) });
  const peek = (kind: string, name: string): KubeObject | undefined =>
    cluster.peek(capiKind(kind), { namespace, name });
  const all = (kind: string): readonly KubeObject[] => {
    const { plural, group } = capiKind(kind);
    return Object.entries(cluster.snapshot()).flatMap(([id, one]) =>
      id.startsWith(`${plural}.${group} `) ? [one] : [],
    );
  };
  const template = (name: string | undefined): KubeObject | undefined =>
    name === undefined ? undefined : peek('AWSMachineTemplate', name);
  const startsFrom = (set: string): string | undefined =>
    imageIn(template(referenceIn(peek('MachineDeployment', set))));
  const pins = (): Pins => new Map(sets.map((set) => [set, livePin(named(set), kept().now)]));

  function moved(): void {
    const now = pins();
    for (const set of sets) {
      const [before, to] = [from.get(set), startsFrom(set)];
      if (before === to) continue;
      from.set(set, to);
      if (by === 'person') continue;
      const told = done.get(set);
      if (told !== undefined && to !== told.image)
        wrong.push(`${set} went to ${to}, and a revert was told that it has ${told.image}`);
      const pin = issued.get(set);
      if (pin !== undefined && samePin(pin, now.get(set)) && to !== pin.image)
        wrong.push(`${set} is pinned to ${pin.image} and went to ${to}`);
      if (pin === undefined && !booted.has(to ?? '')) wrong.push(`${set} went to ${to}, which no machine has tried`);
    }
    for (const kind of ['MachineDeployment', 'MachineSet'])
      for (const one of all(kind)) {
        const reference = referenceIn(one);
        if (template(reference) === undefined) wrong.push(`${one.metadata.name} needs ${reference}, which is gone`);
      }
  }

  function destroyed(one: KubeObject): void {
    const { name, annotations = {} } = one.metadata;
    const [image, line] = [imageIn(one) ?? '', annotations[LINE]];
    if (line === undefined) wrong.push(`${name}, which a person made, is gone`);
    const user = all('AWSMachine').find(({ metadata }) => metadata.annotations?.[CLONED] === name);
    if (user !== undefined) wrong.push(`${name} is gone, and ${user.metadata.name} was made of it`);
    const now = pins();
    for (const set of sets) {
      if (lineOf(set) !== line) continue;
      const pin = issued.get(set);
      if (pin !== undefined && pin.image === image && samePin(pin, now.get(set)))
        wrong.push(`${name} is gone, and ${set} is pinned to ${image}`);
      if (wayBackOf(named(set)).includes(image)) wrong.push(`${name} is gone, and is the way back of ${set}`);
    }
  }

  const lineOf = (set: string): string | undefined => {
    const reference = referenceIn(peek('MachineDeployment', set));
    return template(reference)?.metadata.annotations?.[LINE] ?? reference;
  };

  function pinned(): void {
    const now = pins();
    for (const set of sets) {
      const pin = done.get(set);
      if (by === 'person' && pin !== undefined && !samePin(pin, now.get(set))) done.delete(set);
      const before = held.get(set);
      if (by === 'operator' && before !== undefined && !samePin(before, now.get(set)))
        wrong.push(`the pin of ${set} was taken off`);
    }
  }

  function imageOfMachine(name: string): string | undefined {
    const { infrastructureRef } = (peek('Machine', name)?.['spec' as never] ?? {}) as Loose;
    const made = infrastructureRef?.name === undefined ? undefined : peek('AWSMachine', infrastructureRef.name);
    return ((made?.['spec' as never] ?? {}) as Loose)['ami']?.id;
  }

  function settled(): void {
    assert.deepEqual([...new Set(wrong)], []);
    assert.deepEqual(kept().actor.adopted, [], 'a set counts the machine of a canary');
    const left = ['Machine', 'KubeadmConfig'].flatMap((kind) => all(kind).map(({ metadata }) => metadata.name));
    assert.deepEqual(left, [], 'something of a canary is left');
    const needed = new Set<string | undefined>();
    for (const kind of ['MachineDeployment', 'MachineSet']) for (const one of all(kind)) needed.add(referenceIn(one));
    for (const { metadata } of all('AWSMachine')) {
      assert.ok(metadata.annotations?.[CLONED] !== undefined, `${metadata.name} of a canary is left`);
      needed.add(metadata.annotations[CLONED]);
    }
    const images = new Set(sets.flatMap((set) => outcomeOf(set)));
    const spare = all('AWSMachineTemplate').filter(
      (one) => isOurs(one) && !needed.has(one.metadata.name) && !images.has(imageIn(one) ?? ''),
    );
    // The newest of each line stays, whether or not a set ever named it.
    for (const [line, ones] of Map.groupBy(spare, ({ metadata }) => metadata.annotations?.[LINE]))
      assert.ok(ones.length <= KEEP, `${ones.map(({ metadata }) => metadata.name).join()} of ${line} are left`);
    if (kept().done.has('edits')) {
      const { template: of } = (template(referenceIn(peek('MachineDeployment', 'worker-b')))?.['spec' as never] ??
        {}) as Loose;
      assert.equal(of?.['spec']?.['instanceType'], 'big', 'what somebody pointed at is lost');
    }
    assert.equal(waiting.length, 0, 'somebody still waits for an answer');
  }

  /** One outcome. Resolves to the images that are needed for it. */
  function outcomeOf(set: string): readonly string[] {
    const { phase, reason, history = [], canary, message } = named(set)?.status ?? {};
    const pin = pins().get(set);
    const image = startsFrom(set);
    const { wanted } = kept();
    const said = `${set}: ${message}`;
    if (pin !== undefined) {
      assert.deepEqual([phase, reason, image], ['Current', 'Pinned', pin.image], said);
    } else if (booted.has(wanted)) assert.deepEqual([phase, image], ['Current', wanted], said);
    else {
      assert.deepEqual([phase, reason], ['Blocked', 'CanaryFailed'], said);
      assert.notEqual(image, wanted, said);
    }
    if (phase === 'Current')
      assert.ok(canary === undefined || canary.verdict !== undefined, `${set} says that an image is tried`);
    const open = history.filter(({ until }) => until === undefined);
    assert.deepEqual(
      open.map((entry) => entry.image),
      [image],
      `the history of ${said}`,
    );
    return [image ?? '', ...wayBackOf(named(set))];
  }

  return {
    ...{ wrong, booted, answers, done, waiting, operators: new WeakSet(), pins, settled, imageOfMachine },
    watch: () => {
      for (const set of sets) from.set(set, startsFrom(set));
      cluster.subscribe(({ resource, old, now }) => {
        const [plural = ''] = resource.split('.');
        if (plural === 'machines' && now !== undefined && isReady(now))
          booted.add(imageOfMachine(now.metadata.name) ?? '');
        if (['machinedeployments', 'machinesets', 'awsmachinetemplates'].includes(plural)) moved();
        if (plural === 'awsmachinetemplates' && now === undefined && old !== undefined) destroyed(old);
        if (plural === 'bootimages') pinned();
      });
    },
    take: (other) => {
      wrong.push(...other.wrong);
      answers.push(...other.answers);
      waiting.push(...other.waiting);
      for (const image of other.booted) booted.add(image);
      for (const [set, pin] of other.done) done.set(set, pin);
    },
    begin: (who, pinsThen) => {
      by = who;
      issued = pinsThen;
      held = pins();
    },
    look: async () => {
      for (const images of waiting.splice(0)) {
        const answer = await pinsObeyed(client, images, { waitMs: -1, signal: new AbortController().signal });
        if (answer.kind === 'underway') waiting.push(images);
        else answers.push(answer.kind);
        if (answer.kind !== 'obeyed') continue;
        for (const { metadata, spec } of images) {
          const set = sets.find((one) => bootImageName('capi-md', one) === metadata.name);
          if (set !== undefined && spec?.pin !== undefined) done.set(set, spec.pin);
        }
      }
    },
    state: () => [
      [...booted].toSorted(),
      [...done].map(([set, { image }]) => [set, image]),
      waiting.map((images) => images.map(({ metadata, spec }) => [metadata.name, spec?.pin?.image])),
    ],
  };
}

const isOurs = ({ metadata }: KubeObject): boolean => metadata.annotations?.[LINE] !== undefined;

/** What a template has its machines start from. */
function imageIn(template: KubeObject | undefined): string | undefined {
  const { template: of } = (template?.['spec' as never] ?? {}) as Loose;
  return of?.['spec']?.['ami']?.id;
}

function referenceIn(set: KubeObject | undefined): string | undefined {
  const { template } = (set?.['spec' as never] ?? {}) as Loose;
  return template?.['spec']?.['infrastructureRef']?.name;
}

/** Images before the one in use that the last one kept needs. */
function wayBackOf(image: BootImage | undefined): readonly string[] {
  const [current, ...others] = image?.status?.history ?? [];
  const before = others.filter((entry) => entry.image !== current?.image);
  return [...new Set(before.flatMap((entry) => entry.image ?? []))].slice(0, KEEP);
}

function isReady(machine: KubeObject): boolean {
  const { status } = machine as KubeObject & { readonly status?: { readonly conditions?: readonly Condition[] } };
  return status?.conditions?.some(({ type, status: is }) => type === 'NodeReady' && is === 'True') === true;
}
