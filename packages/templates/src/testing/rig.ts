import assert from 'node:assert/strict';
import {
  type MachineSnapshot,
  type MemoryInventory,
  type MemoryOptions,
  memoryInventory,
} from '@drydock/vsphere/testing';
import type { Clock } from '../clock.ts';
import { isTemplateError, type TemplateErrorCode } from '../errors.ts';
import type { PublishedTemplate, PublishOptions, TemplateStore } from '../store.ts';
import { type TemplateStoreOptions, templateStore } from '../store-vsphere.ts';
import type { TemplateWish } from '../wish.ts';
import { TEST_KEYS } from './keys.ts';
import { testUptime } from './memory-ledger.ts';
import { type MemoryOvaSpec, memoryOva, testWish } from './wishes.ts';

/** A store on an in-memory vCenter. */
export interface TestRig {
  readonly inventory: MemoryInventory;
  readonly store: TemplateStore;
  /** Servers that a session was asked for, in order. */
  readonly logins: readonly string[];
  publish(wish?: Partial<TemplateWish>): Promise<PublishedTemplate>;
  /** By a swap onto a stable name, templates without a mark being retired. */
  swap(
    name: string,
    wish?: Partial<TemplateWish>,
    options?: Pick<PublishOptions, 'beforeSwap'>,
  ): Promise<PublishedTemplate>;
  /** Machines of a folder. */
  in(folder: string): readonly MachineSnapshot[];
}

/** See {@link TestRig}. The clock decides what time vCenter has, too. The store has the tests' key unless `proofs` says otherwise. */
export function testRig(
  clock: Clock,
  options: MemoryOptions = {},
  ova: MemoryOvaSpec = {},
  proofs: Pick<TemplateStoreOptions, 'markKeys' | 'cluster' | 'fence' | 'pacemaker' | 'ledger'> = {
    markKeys: async () => TEST_KEYS,
  },
): TestRig {
  const inventory = memoryInventory({ now: () => clock.now(), ...options });
  const logins: string[] = [];
  const vcenters = async (server: string) => {
    logins.push(server);
    return inventory.client();
  };
  const store = templateStore({
    vcenters,
    cacheDir: '/nonexistent',
    clock,
    ovas: memoryOva(ova),
    uptime: testUptime(clock),
    ...proofs,
  });
  const publish = (wish?: Partial<TemplateWish>, more: Pick<PublishOptions, 'beforeSwap'> = {}) =>
    store.publish(testWish(wish), { holderIsLive: () => true, ...more });
  return {
    inventory,
    store,
    logins,
    publish: (wish) => publish(wish),
    swap: (name, wish, more) => publish({ publication: { kind: 'swap', name, unmarked: 'retire' }, ...wish }, more),
    in: (folder) => inventory.snapshot().machines.filter((machine) => machine.folder === folder),
  };
}

/** Asserts that something fails with a code, that the text starts so (or matches), and that what to do next is said. */
export async function fails(promise: Promise<unknown>, code: TemplateErrorCode, text: string | RegExp): Promise<void> {
  await assert.rejects(promise, (error) => {
    assert.ok(isTemplateError(error, code), String(error));
    if (typeof text === 'string') assert.ok(error.text.startsWith(text), error.text);
    else assert.match(error.text, text);
    assert.ok(error.message.endsWith(error.next) && error.next.length > 10);
    return true;
  });
}

/** How often the rig's vCenter was asked to change something. */
export function mutations({ inventory }: TestRig): number {
  const { byMethod } = inventory.counters;
  const methods = [
    'startImport',
    'reconfigure',
    'markAsTemplate',
    'rename',
    'destroy',
    'tags.attach',
    'setCustomValue',
  ];
  return methods.reduce((sum, name) => sum + (byMethod.get(name) ?? 0), 0);
}
