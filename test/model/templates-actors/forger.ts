import { BIRTH_KEY, CONTENT_KEY, OWNERSHIP, retiredName } from '@drydock/templates';
import type { MoRef } from '@drydock/vsphere';
import { refKey } from '@drydock/vsphere';
import type { MachineSnapshot } from '@drydock/vsphere/testing';
import { fingerprintOf } from '../../../packages/templates/src/fingerprint.ts';
import { identityKey, identityOf } from '../../../packages/templates/src/mark/identity.ts';
import type { World } from '../templates-world.ts';
import { FOLDER, NAME } from '../templates-world.ts';

/** What everybody in vCenter may read of an import of ours. */
export interface PublicData {
  readonly name: string;
  readonly extraConfig: ReadonlyMap<string, string>;
  /** A template that was published before, with all that it bears. */
  readonly bearer: MachineSnapshot;
}

/**
 * Writes what is public of ours onto strangers: a birth mark with a copied code on a machine that is off and on a template that calls itself finished; ownership records that fit their VM but for the
 * code, which is copied, on a template, on one that bears a retired name, and on a machine; and all that the published template bears, as it is. All of it is foreign.
 */
export async function forge(world: World, { name, extraConfig, bearer }: PublicData): Promise<void> {
  const { inventory } = world;
  const folder = inventory.at(FOLDER);
  const tail = name.slice('rhcos'.length);
  const fields = (text = '{}'): Record<string, string> => JSON.parse(text) as Record<string, string>;
  const { code: birthCode } = fields(bearer.extraConfig[BIRTH_KEY]);
  const born = (uuid: string, more: object = {}): Record<string, string> => {
    const birth = { ...fields(extraConfig.get(BIRTH_KEY)), instanceUuid: uuid, holder: 'somebody', code: birthCode };
    return { ...Object.fromEntries(extraConfig), [BIRTH_KEY]: JSON.stringify(birth), ...more };
  };
  const uuid = (digit: string): string => `${digit.repeat(8)}-0000-4000-8000-000000000000`;
  const old = { createDate: '2025-01-01T00:00:00Z', productVersion: '9.6' };
  const made: MoRef[] = [];
  const add = (machine: Parameters<typeof inventory.add>[1]): MoRef => {
    const ref = inventory.add(folder, machine);
    made.push(ref);
    return ref;
  };
  add({ ...old, name: `stranger${tail}`, instanceUuid: uuid('a'), extraConfig: born(uuid('a')) });
  const extra = born(uuid('b'), { [CONTENT_KEY]: bearer.extraConfig[CONTENT_KEY] ?? '' });
  add({ ...old, name: `forged${tail}`, instanceUuid: uuid('b'), template: true, extraConfig: extra });
  const client = inventory.client();
  const { code } = fields(bearer.customValues[OWNERSHIP]);
  for (const [digit, kind, isTemplate] of [
    ['c', 'adopted', true],
    ['d', 'claimed', true],
    ['e', 'adopted', false],
  ] as const) {
    const id = uuid(digit);
    const named = kind === 'claimed' ? retiredName(NAME, id) : `attributed-${digit}`;
    const ref = add({ ...old, name: named, instanceUuid: id, template: isTemplate });
    const vm = await client.vm(ref);
    const identity = vm && identityOf(await client.instanceUuid(), vm);
    if (vm === undefined || identity === undefined) throw new TypeError(`${named} has no identity`);
    const said = { id: identityKey(identity).slice(0, 12), kind, is: fingerprintOf(vm), code };
    await client.setCustomValue(
      ref,
      OWNERSHIP,
      JSON.stringify({ ...said, owner: 'cluster-uid', release: '9.6', name: NAME }),
    );
  }
  const copy = add({
    ...old,
    name: `copied${tail}`,
    instanceUuid: uuid('f'),
    template: true,
    extraConfig: bearer.extraConfig,
  });
  for (const [attribute, text] of Object.entries(bearer.customValues))
    await client.setCustomValue(copy, attribute, text);
  const { machines } = inventory.snapshot();
  for (const ref of made) {
    const key = refKey(ref);
    world.foreign.set(key, JSON.stringify(machines.find((machine) => machine.ref === key)));
  }
}
