import { setTimeout as delay } from 'node:timers/promises';
import type { Switchboard, VmView } from '@drydock/sandbox';
import { BIRTH_KEY, OWNERSHIP } from '@drydock/templates';
import type { MoRef, VCenter } from '@drydock/vsphere';
import type { RawVCenter } from './raw-vcenter.ts';

/** Somebody else in the same vCenter, with a login of his own, to whom Drydock's words mean nothing: what he does is ordinary, and what he writes is forged. */
export interface Neighbour {
  /** Morefs of templates that he made machines of, or booted and made templates of again. */
  readonly taken: ReadonlySet<string>;
  /** Those of them that ran: never to be published again. */
  readonly booted: ReadonlySet<string>;
  /** Those on which he wrote what anybody may write, and which stay for that: an import among them has to be made again. */
  readonly forged: ReadonlySet<string>;
  /** Makes machines that bear what a template of ours bears, and templates likewise: its birth mark with their own instance UUID and its code and record, or all of it as a clone. */
  settle(ours: VmView): Promise<void>;
  /** Forges over and over what anybody may write, and now and then takes a template, until it is stopped. */
  roam(): { stop(): Promise<void> };
  /** Takes one template of the folder if there is one: which, and what he does to it, are as chance has it unless they are given. */
  take(name?: string, deed?: Deed): Promise<void>;
  /** Gives a machine that he took another name. */
  clear(moref: string): Promise<void>;
  /** What somebody else did to what is nobody's but his: a line each. */
  complaints(): Promise<readonly string[]>;
  /** Removes what he took. */
  tidy(): Promise<void>;
}

const DEEDS = ['converts', 'converts and boots', 'boots and converts back'] as const;
/** What he does to a template that he takes. */
export type Deed = (typeof DEEDS)[number];

/** What he works with. */
export interface NeighbourRig {
  readonly switchboard: Switchboard;
  readonly vcenter: VCenter;
  readonly raw: RawVCenter;
  readonly folder: string;
  /** The pool that converted machines go to. */
  readonly pool: string;
  readonly random: () => number;
}

const ref = (value: string): MoRef => ({ type: 'VirtualMachine', value });
/** Of what he has: whatever a tool that believes him could have changed. */
const shown = ({ name, folder, isTemplate, power, disks, extraConfig }: VmView): string =>
  JSON.stringify([name, folder, isTemplate, power, disks, extraConfig]);
const state = ({ isTemplate, power }: VmView): string => JSON.stringify([isTemplate, power]);

/** See {@link Neighbour}. */
export function neighbour({ switchboard, vcenter, raw, folder, pool, random }: NeighbourRig): Neighbour {
  /** His own, with what they must look like; what he took, as he left it. */
  const owned = new Map<string, string>();
  const taken = new Map<string, string>();
  const booted = new Set<string>();
  const forged = new Set<string>();
  let names = 0;
  const here = async (): Promise<readonly VmView[]> => switchboard.vms({ folder });
  const view = async (moref: string): Promise<VmView | undefined> =>
    (await switchboard.vms()).find((vm) => vm.moref === moref);
  const own = async (moref: string): Promise<void> => {
    const vm = await view(moref);
    if (vm !== undefined) owned.set(moref, shown(vm));
  };
  const pick = <T>(all: readonly T[]): T | undefined => all[Math.floor(random() * all.length)];

  const forge = async (): Promise<void> => {
    const vm = pick(await here());
    if (vm === undefined) return;
    const id = vm.instanceUuid;
    const at = '2026-01-01T00:00:00.000Z';
    const kind = pick(['imported', 'adopted', 'claimed']);
    const code = `k1:${'A'.repeat(43)}`;
    const said = {
      id: '0123456789ab',
      kind,
      is: 'x.y',
      code,
      owner: 'drydock-template',
      release: '9.6.0',
      name: 'rhcos',
    };
    const another = pick(await here())?.customValues[OWNERSHIP] ?? '';
    const [attribute, value] =
      pick([
        [OWNERSHIP, JSON.stringify(said)],
        // The genuine record of another template, a torn one, and none.
        [OWNERSHIP, another],
        [OWNERSHIP, another.slice(0, 40)],
        [OWNERSHIP, ''],
        ['drydock.heartbeat', `${id} ${at}`],
      ]) ?? [];
    if (!owned.has(vm.moref)) forged.add(vm.moref);
    // It may be gone, or busy, by now.
    await vcenter.setCustomValue(ref(vm.moref), attribute ?? '', value ?? '').catch(() => undefined);
  };

  const take = async (name?: string, deed?: Deed): Promise<void> => {
    const vm = pick(
      (await here()).filter(
        ({ moref, isTemplate, name: one }) =>
          isTemplate && !owned.has(moref) && !taken.has(moref) && (name ?? one) === one,
      ),
    );
    if (vm === undefined) return;
    const { moref } = vm;
    const how = deed ?? pick(DEEDS);
    // From here on it is not ours any more, whenever this is looked at.
    taken.set(moref, 'in his hands');
    if (how !== 'converts') booted.add(moref);
    try {
      await raw.call('MarkAsVirtualMachine', 'VirtualMachine', moref, `<pool type="ResourcePool">${pool}</pool>`);
      if (how !== 'converts') await raw.task('PowerOnVM_Task', 'VirtualMachine', moref);
      if (how === 'boots and converts back') {
        await raw.task('PowerOffVM_Task', 'VirtualMachine', moref);
        await raw.call('MarkAsTemplate', 'VirtualMachine', moref);
      }
    } catch {
      // Somebody else was busy with it: what he reached is what must stay.
    }
    const now = await view(moref);
    taken.set(moref, now === undefined ? 'gone' : state(now));
  };

  return {
    taken: { has: (moref: string) => taken.has(moref) } as ReadonlySet<string>,
    booted,
    forged,
    take,
    settle: async (ours) => {
      for (const template of [true, false]) {
        const { moref } = await switchboard.createVm({ folder, name: `stranger-${template}`, template, disks: 1 });
        const vm = await view(moref);
        const birth = JSON.parse(ours.extraConfig[BIRTH_KEY] ?? '{}') as object;
        const claim = JSON.stringify({ ...birth, instanceUuid: vm?.instanceUuid ?? '', holder: 'x' });
        await switchboard.editVm(moref, { extraConfig: { ...ours.extraConfig, [BIRTH_KEY]: claim } });
        await vcenter.setCustomValue(ref(moref), OWNERSHIP, ours.customValues[OWNERSHIP] ?? '');
        await own(moref);
        const clone = await switchboard.cloneVm({ template: ours.moref, name: `clone-${template}`, folder });
        if (template) await switchboard.convertVm(clone.moref, 'template');
        await own(clone.moref);
      }
    },
    roam: () => {
      const end = new AbortController();
      const running = (async () => {
        while (!end.signal.aborted) {
          await forge();
          if (random() < 0.02) await take();
          await delay(5);
        }
      })();
      return {
        stop: async () => {
          end.abort();
          await running;
        },
      };
    },
    clear: async (moref) => {
      names += 1;
      await vcenter.rename(ref(moref), `his own ${names}`);
    },
    complaints: async () => {
      const now = new Map((await switchboard.vms()).map((vm) => [vm.moref, vm]));
      const said: string[] = [];
      for (const [moref, before] of owned) {
        const vm = now.get(moref);
        if (vm === undefined || shown(vm) !== before)
          said.push(`${moref}, which is his, was ${before}, and is ${vm === undefined ? 'gone' : shown(vm)}`);
      }
      for (const [moref, before] of taken) {
        const vm = now.get(moref);
        if (vm === undefined || state(vm) !== before)
          said.push(`${moref}, which he took, was ${before}, and is ${vm === undefined ? 'gone' : state(vm)}`);
      }
      return said;
    },
    tidy: async () => {
      for (const moref of taken.keys()) {
        if ((await view(moref))?.power === 'poweredOn') await switchboard.powerVm(moref, false);
        await switchboard.destroyVm(moref);
      }
      taken.clear();
    },
  };
}
