import { BootImage, MachineSet } from '@drydock/api';
import { bootImageOf, keptSets, livePin, worldNow } from '@drydock/boot-images';
import { computed, machineSet } from '@drydock/boot-images/testing';
import { keyOf } from '@drydock/kube';
import { liftPin } from '../../apps/drydock/src/image/pin-writer.ts';
import { revertPlan } from '../../apps/drydock/src/image/revert-plan.ts';
import { writePins } from '../../apps/drydock/src/image/revert-writes.ts';
import { pinQuestions } from '../../apps/drydock/src/pin-questions.ts';
import { processOf, RELEASES, setNamed, type WayProcess, type WayWorld, wantRelease } from './way-world.ts';

/** What others do: go back to the image before, to one by its release, lift all pins, want another release, find that the image that is wanted does not start, edit a set by hand. */
export const DEEDS = ['reverts', 'reverts to', 'releases', 'newer release', 'bad image', 'edits'] as const;
/** See {@link DEEDS}. */
export type Deed = (typeof DEEDS)[number];

/** How somebody goes back; resolves to whether it was accepted. */
export type Revert = (world: WayWorld, process: WayProcess, to: string | undefined) => Promise<boolean>;

const signal = new AbortController().signal;

/** What `drydock image revert` does of the first set, after its yes: the plan, what it would write, and then writes. */
export const reverting: Revert = async (world, { client, platform }, to) => {
  const now = await worldNow(client, { signal });
  const [set] = keptSets(now);
  if (set === undefined) throw new TypeError('there are no sets');
  const vsphere = platform('pointer');
  const ports = {
    ...{ client, world: now, platforms: new Map([[vsphere.type, vsphere]]), architecture: 'x86_64' },
    ...{ now: () => new Date(world.cluster.clock), stubSecret: 'InPlace' as const },
  };
  const sight = { world: now, ...pinQuestions(ports, platform('swap'), signal) };
  const words = { by: 'alice', since: new Date(world.cluster.clock).toISOString() };
  const said = now.bootImage(keyOf(bootImageOf(set)))?.status;
  const plan = await revertPlan(sight, set, said, { to, words, allOnName: true });
  if ('code' in plan) return false;
  const would = await writePins(client, plan, { signal, dryRun: true });
  if ('code' in would) return false;
  const written = await writePins(client, plan, { signal });
  if ('code' in written) return false;
  world.ledger.waiting.push(written.images);
  return true;
};

/** A mistake: the set is edited as it was, and nobody is told what is wanted. */
export const editing: Revert = async (world, { client }) => {
  const [name = ''] = world.names;
  const before = world.cluster.client.peek(BootImage, keyOf(bootImageOf(machineSet(name))))?.status?.history?.[1];
  if (before?.image === undefined) return false;
  const set = setNamed(world, name);
  const path = '/spec/template/spec/providerSpec/value/template';
  await client.patch(MachineSet, keyOf(set), [{ op: 'replace', path, value: before.image }], { signal });
  world.ledger.done.set(name, { release: before.release ?? '', image: before.image });
  return true;
};

/** Does it whole, at once. Each is done once in a world. */
export async function act(world: WayWorld, deed: Deed, revert: Revert = reverting): Promise<void> {
  if (world.done.has(deed)) return;
  world.done.add(deed);
  switch (deed) {
    case 'reverts':
      await revert(world, processOf(world), undefined);
      return;
    case 'reverts to':
      await revert(world, processOf(world), RELEASES[1]);
      return;
    case 'releases':
      await releasing(world, processOf(world));
      return;
    case 'newer release':
      wantRelease(world, RELEASES[3]);
      return;
    case 'bad image':
      world.fates.set(world.release, 'invalid');
      return;
    case 'edits':
      world.ledger.begin('person', new Map());
      edit(world);
  }
}

/** What `drydock image release` writes, of each set that has a pin. */
export async function releasing(world: WayWorld, { client }: WayProcess): Promise<void> {
  for (const name of world.names) {
    const image = await client.get(BootImage, keyOf(bootImageOf(machineSet(name))), { signal });
    const pin = livePin(image, world.cluster.clock);
    const lifted = { by: 'person', since: new Date(world.cluster.clock).toISOString() };
    if (pin !== undefined) await liftPin(client, image, { pin, lifted }, signal);
  }
}

/** The second set is pointed at the installer's template by hand. */
function edit(world: WayWorld): void {
  const name = world.names.at(-1) ?? '';
  const set = setNamed(world, name);
  const value = { ...set.spec?.template?.spec?.providerSpec?.value, template: computed };
  const template = { ...set.spec?.template, spec: { ...set.spec?.template?.spec, providerSpec: { value } } };
  world.cluster.client.put(MachineSet, { ...set, spec: { ...set.spec, template } } as MachineSet);
}
