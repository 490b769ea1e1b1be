import assert from 'node:assert/strict';
import { BootImage, Machine, type Node } from '@drydock/api';
import { bootImageOf, livePin, type Pin, samePin } from '@drydock/boot-images';
import { type FakeCluster, type MachineActor, machineSet } from '@drydock/boot-images/testing';
import { type KubeObject, keyOf } from '@drydock/kube';
import { BIRTH_KEY } from '@drydock/templates';
import type { MachineSnapshot, MemoryInventory } from '@drydock/vsphere/testing';
import { pinsObeyed } from '../../apps/drydock/src/image/pin-wait.ts';

/** Images that stay as a way back. */
export const KEEP = 1;

/** What a ledger is kept of. */
export interface LedgerWorld {
  readonly cluster: FakeCluster;
  readonly inventory: MemoryInventory;
  readonly names: readonly string[];
  readonly publication: 'pointer' | 'swap';
  readonly actor: MachineActor;
  /** What the cluster's release asks for. */
  release: string;
}

/** What is known of a world besides what its servers hold, and what was seen in it that must never be. */
export interface WayLedger {
  readonly wrong: string[];
  /** Releases of which the last machine that tried one became a node that is ready. */
  readonly booted: Set<string>;
  /** What reverts were answered, the last word of each. */
  readonly answers: string[];
  /** The image that a revert was told that its set has, as long as nobody wants another one. */
  readonly done: Map<string, Pin>;
  /** BootImages of whose pins somebody waits to be told. */
  readonly waiting: (readonly BootImage[])[];
  /** What each set started from before its name was absent, where it is. */
  readonly absent: () => ReadonlyMap<string, string>;
  /** Begins to look at every change. */
  watch(): void;
  /** Goes on from another one. */
  take(from: WayLedger): void;
  /** The pins that hold now, of each set. */
  pins(): Pins;
  /** A call takes effect now, that of the operator with the pins that held when it was made. */
  begin(by: 'operator' | 'person', issued: Pins): void;
  /** Whoever waits looks. */
  look(): Promise<void>;
  /** What must hold once nobody does anything any more. */
  settled(): void;
  /** As far as later checks depend on it. */
  state(): unknown;
}

/** See {@link WayLedger.pins}. */
export type Pins = ReadonlyMap<string, readonly Pin[]>;

interface Known {
  readonly by: 'operator' | 'person';
  readonly issued: Pins;
  /** Pins that held when it took effect. */
  readonly held: Pins;
  /** What each set started from last; undefined while its name was absent. */
  readonly from: Map<string, string | undefined>;
  /** What it started from before that. */
  readonly last: Map<string, string>;
  /** Pins that held when a swap began that is under way. */
  readonly between: Map<string, readonly Pin[]>;
  readonly templates: Map<string, MachineSnapshot>;
}

/** See {@link WayLedger}. */
export function wayLedger(world: LedgerWorld): WayLedger {
  const { cluster, inventory, names, publication } = world;
  const wrong: string[] = [];
  const booted = new Set<string>();
  const answers: string[] = [];
  const done = new Map<string, Pin>();
  const waiting: (readonly BootImage[])[] = [];
  const client = cluster.client.cluster.client();
  let known: Known = {
    ...{ by: 'person', issued: new Map(), held: new Map(), from: new Map() },
    ...{ last: new Map(), between: new Map(), templates: new Map() },
  };

  const imageOf = (name: string): BootImage | undefined =>
    cluster.client.peek(BootImage, keyOf(bootImageOf(machineSet(name))));
  const reference = (name: string): string => String(cluster.template(name));
  const named = (template: string) =>
    [...inventory.state.machines.values()].find((one) => one.name === template && one.isTemplate && one.complete);
  const startsFrom = (name: string): string | undefined => named(reference(name))?.productVersion;

  function pins(): Pins {
    const now = cluster.clock;
    const own = names.map((name) => [name, livePin(imageOf(name), now)] as const);
    const all = own.flatMap(([, pin]) => pin ?? []);
    return new Map(own.map(([name, pin]) => [name, publication === 'swap' ? all : pin === undefined ? [] : [pin]]));
  }

  /** Of what new machines start, after each change of either server. */
  function moved(): void {
    const now = pins();
    for (const name of names) {
      const [from, to] = [known.from.get(name), startsFrom(name)];
      if (from === to) continue;
      known.from.set(name, to);
      if (from !== undefined) known.last.set(name, from);
      if (known.by === 'person') continue;
      const issued = known.between.get(name) ?? known.issued.get(name) ?? [];
      if (to === undefined) {
        if (publication === 'pointer') wrong.push(`${name} starts from ${reference(name)}, which is not there`);
        known.between.set(name, issued);
      } else known.between.delete(name);
      const pin = done.get(name);
      if (pin !== undefined && to !== pin.release)
        wrong.push(`${name} went to ${to}, and a revert was told that it has ${pin.release}`);
      if (to === undefined) continue;
      const held = issued.filter((one) => now.get(name)?.some((other) => samePin(one, other)));
      if (held.length > 0 && !held.some(({ release }) => release === to))
        wrong.push(`${name} is pinned to ${held[0]?.release} and went to ${to}`);
      // A swap that is taken back moves nobody, and one that is ended for a pin, which came since it began, was begun by another process.
      const back = from === undefined && to === known.last.get(name);
      const unpinned = issued.length === 0 && (known.issued.get(name) ?? []).length === 0;
      if (unpinned && !back && !booted.has(to)) wrong.push(`${name} went to ${to}, which no machine has tried`);
    }
  }

  function absent(): ReadonlyMap<string, string> {
    return new Map([...known.last].filter(([name]) => startsFrom(name) === undefined));
  }

  function removed(): void {
    const { machines, broken } = inventory.snapshot();
    const there = new Set(machines.map(({ ref }) => ref));
    for (const [ref, template] of known.templates) if (!there.has(ref)) destroyed(template);
    known.templates.clear();
    for (const one of machines) if (one.isTemplate && one.complete) known.templates.set(one.ref, one);
    if (broken.length > 0) wrong.push(`${broken.join()} lost a disk`);
  }

  function destroyed({ name, productVersion: release = '' }: MachineSnapshot): void {
    const now = pins();
    for (const one of names) {
      if (reference(one) === name) wrong.push(`${name} is destroyed, and ${one} starts from it`);
      const pin = known.issued.get(one)?.find((held) => held.release === release);
      if (pin !== undefined && now.get(one)?.some((held) => samePin(held, pin)))
        wrong.push(`${name} is destroyed, and ${one} is pinned to ${release}`);
      if (wayBackOf(imageOf(one)).includes(release)) wrong.push(`${name} is destroyed, and is the way back of ${one}`);
    }
    const trying = [...cluster.client.objects].filter(([id]) => id.startsWith('machines '));
    for (const [id, machine] of trying)
      if ((machine as Machine).spec?.providerSpec?.value?.['template'] === name)
        wrong.push(`${name} is destroyed, and ${id} is made from it`);
  }

  /** A person may write another pin, or take it off; the operator takes off nobody's. */
  function pinned(): void {
    const now = pins();
    const gone = (name: string, pin: Pin): boolean => now.get(name)?.some((one) => samePin(one, pin)) !== true;
    for (const name of names) {
      const pin = done.get(name);
      if (known.by === 'person' && pin !== undefined && gone(name, pin)) done.delete(name);
      if (known.by === 'operator' && known.held.get(name)?.some((one) => gone(name, one)) === true)
        wrong.push(`the pin of ${name} was taken off`);
    }
  }

  function tried(machine: Machine | undefined, well: boolean): void {
    const template = machine?.spec?.providerSpec?.value?.['template'];
    const release = named(String(template))?.productVersion;
    if (release === undefined) return;
    if (well) booted.add(release);
    else booted.delete(release);
  }

  function settled(): void {
    assert.deepEqual([...new Set(wrong)], []);
    assert.deepEqual(world.actor.adopted, [], 'a set counts the machine of a canary');
    const left = [...cluster.client.objects].map(([id]) => id).filter((id) => /^(machines|nodes) /.test(id));
    assert.deepEqual(left, [], 'something of a canary is left');
    const { machines, leases } = inventory.snapshot();
    assert.deepEqual(
      leases.filter(({ state }) => state === 'ready'),
      [],
      'an upload is left',
    );
    const half = machines.filter(({ isTemplate, complete }) => !complete || !isTemplate);
    assert.deepEqual(
      half.map(({ name }) => name),
      [],
      'something half-made is left',
    );
    const needed = new Set<string | undefined>();
    for (const name of names) for (const release of outcomeOf(name)) needed.add(release);
    const spare = machines.filter(
      ({ isTemplate, productVersion, extraConfig }) =>
        isTemplate && extraConfig[BIRTH_KEY] !== undefined && !needed.has(productVersion),
    );
    // The newest stays, whether or not a set ever had it.
    assert.ok(spare.length <= KEEP, `${spare.map(({ name }) => name).join()} are left, and nothing needs them`);
    const bearers = machines.filter(({ name }) => names.some((one) => reference(one) === name));
    assert.equal(bearers.length, new Set(names.map(reference)).size, 'one template under each name');
    assert.deepEqual(waiting.length, 0, 'somebody still waits for an answer');
  }

  /** One outcome. Resolves to the releases that are needed for it. */
  function outcomeOf(name: string): readonly (string | undefined)[] {
    const [pin, ...others] = pins().get(name) ?? [];
    const release = startsFrom(name);
    const { phase, reason, history = [], canary, message } = imageOf(name)?.status ?? {};
    const says = { phase, reason };
    const said = `${name}: ${message}`;
    if (others.some((one) => !samePin(one, pin))) assert.equal(reason, 'PinConflict', said);
    else if (pin !== undefined && reason === 'PinnedImageGone') assert.notEqual(done.has(name), true, said);
    else if (pin !== undefined) {
      assert.deepEqual(says, { phase: 'Current', reason: 'Pinned' }, said);
      assert.equal(release, pin.release, said);
    } else if (booted.has(world.release)) {
      assert.equal(phase, 'Current', `${said} (${reason})`);
      assert.equal(release, world.release, said);
    } else {
      assert.deepEqual(says, { phase: 'Blocked', reason: 'CanaryFailed' }, said);
      assert.notEqual(release, world.release, said);
    }
    if (phase === 'Current')
      assert.ok(canary === undefined || canary.verdict !== undefined, `${name} says that an image is tried`);
    const imports = inventory.snapshot().machines.map(({ extraConfig }) => extraConfig);
    for (const entry of history)
      for (const { 'drydock.operation': id, 'drydock.release': imported } of imports)
        if (id === entry.id)
          assert.equal(entry.release, imported, `the history of ${name}: ${id} imported another image`);
    const open = history.filter(({ until }) => until === undefined);
    assert.deepEqual(
      open.map((entry) => entry.release),
      [release],
      `the history of ${said}`,
    );
    const failed = canary?.verdict === 'Failed' ? [world.release] : [];
    return [release, pin?.release, ...others.map((one) => one.release), ...wayBackOf(imageOf(name)), ...failed];
  }

  return {
    ...{ wrong, booted, answers, done, waiting, absent, pins, settled },
    watch: () => {
      for (const name of names) known.from.set(name, startsFrom(name));
      removed();
      cluster.client.cluster.subscribe(({ resource, now }) => {
        const machine = { namespace: 'openshift-machine-api', name: now?.metadata.name ?? '' };
        if (resource === 'nodes' && isReady(now)) tried(cluster.client.peek(Machine, machine), true);
        if (resource.startsWith('machines.') && (now as Machine | undefined)?.status?.phase === 'Failed')
          tried(now as Machine, false);
        if (resource.startsWith('machinesets.')) moved();
        if (resource.startsWith('bootimages.')) pinned();
      });
      inventory.subscribe(() => {
        moved();
        removed();
      });
    },
    take: (from) => {
      wrong.push(...from.wrong);
      answers.push(...from.answers);
      for (const release of from.booted) booted.add(release);
      for (const [name, pin] of from.done) done.set(name, pin);
      waiting.push(...from.waiting);
      for (const [name, release] of from.absent()) known.last.set(name, release);
    },
    begin: (by, issued) => {
      known = { ...known, by, issued, held: pins() };
    },
    look: async () => {
      for (const images of waiting.splice(0)) {
        const answer = await pinsObeyed(client, images, { waitMs: -1, signal: new AbortController().signal });
        if (answer.kind === 'underway') waiting.push(images);
        else answers.push(answer.kind);
        if (answer.kind !== 'obeyed') continue;
        for (const { metadata, spec } of images) {
          const name = names.find((one) => bootImageOf(machineSet(one)).metadata.name === metadata.name);
          if (name !== undefined && spec?.pin !== undefined) done.set(name, spec.pin);
        }
      }
    },
    state: () => [
      [...booted].toSorted(),
      [...done].map(([name, { release }]) => [name, release]),
      [...absent()],
      waiting.map((images) => images.map(({ metadata, spec }) => [metadata.name, spec?.pin?.release])),
    ],
  };
}

/** The releases before the one in use that the last image kept needs, by what the history says. */
function wayBackOf(image: BootImage | undefined): readonly string[] {
  const [current, ...others] = image?.status?.history ?? [];
  const before = others.filter(({ release }) => release !== current?.release);
  return [...new Set(before.flatMap(({ release }) => release ?? []))].slice(0, KEEP);
}

function isReady(node: KubeObject | undefined): boolean {
  const { conditions = [] } = (node as Node | undefined)?.status ?? {};
  return conditions.some(({ type, status }) => type === 'Ready' && status === 'True');
}
