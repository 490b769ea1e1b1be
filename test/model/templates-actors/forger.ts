import { retiredName } from '@drydock/templates';
import type { MoRef } from '@drydock/vsphere';
import { refKey } from '@drydock/vsphere';
import type { World } from '../templates-world.ts';
import { FOLDER, NAME } from '../templates-world.ts';

/** What everybody in vCenter may read of an import of ours. */
export interface PublicData {
  readonly name: string;
  readonly extraConfig: ReadonlyMap<string, string>;
}

/**
 * Writes what is public of ours onto strangers: a mark of birth with a copied code on a machine that is off and on a template, the custom attributes on a
 * template, on one that bears a retired name, and on a machine. `template: false` leaves out what counts where there is no key. All of it is foreign.
 */
export async function forge(world: World, { name, extraConfig }: PublicData, template: boolean): Promise<void> {
  const { inventory } = world;
  const folder = inventory.at(FOLDER);
  const tail = name.slice('rhcos'.length);
  const born = (uuid: string, more: object = {}): Record<string, string> => ({
    ...Object.fromEntries(extraConfig),
    'drydock.instanceUuid': uuid,
    'drydock.holder': 'somebody',
    ...more,
  });
  const uuid = (digit: string): string => `${digit.repeat(8)}-0000-4000-8000-000000000000`;
  const old = { createDate: '2025-01-01T00:00:00Z', productVersion: '9.6' };
  const made: MoRef[] = [];
  const add = (machine: Parameters<typeof inventory.add>[1]): MoRef => {
    const ref = inventory.add(folder, machine);
    made.push(ref);
    return ref;
  };
  add({ ...old, name: `stranger${tail}`, instanceUuid: uuid('a'), extraConfig: born(uuid('a')) });
  const verified = { 'drydock.verified': extraConfig.get('drydock.digest') ?? '' };
  if (template) {
    const extra = born(uuid('b'), verified);
    add({ ...old, name: `forged${tail}`, instanceUuid: uuid('b'), template: true, extraConfig: extra });
  }
  const client = inventory.client();
  const proof = extraConfig.get('drydock.proof') ?? '';
  for (const [digit, role, isTemplate] of [
    ['c', 'adopted', true],
    ['d', 'retired', true],
    ['e', 'staged', false],
  ] as const) {
    const id = uuid(digit);
    const named = role === 'retired' ? retiredName(NAME, id) : `attributed-${role}`;
    const ref = add({ ...old, name: named, instanceUuid: id, template: isTemplate });
    const said = { id, owner: 'cluster-uid', role, at: '2026-01-01T00:30:00Z', name: NAME, release: '9.6' };
    await client.setCustomValue(ref, 'drydock', JSON.stringify(said));
    await client.setCustomValue(ref, 'drydock.proof', JSON.stringify(proof));
    if (isTemplate) await client.setCustomValue(ref, 'drydock.record', `${id} template 2026-01-01T00:30:00Z x.y z`);
  }
  const { machines } = inventory.snapshot();
  for (const ref of made) {
    const key = refKey(ref);
    world.foreign.set(key, JSON.stringify(machines.find((machine) => machine.ref === key)));
  }
}
