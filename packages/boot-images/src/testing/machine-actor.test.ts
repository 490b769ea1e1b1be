import { test } from 'node:test';
import { Machine } from '@drydock/api';
import { machineApiNamespace } from '../user-data/machine-api.ts';
import { fakeClient } from './fake-client.ts';
import { type MachineFate, machineActor } from './machine-actor.ts';
import { MACHINE_SCENARIOS, type MachineRig, playMachine } from './machine-scenarios.ts';

function rig(): MachineRig {
  const client = fakeClient();
  const made = new Map<string, { readonly fate: MachineFate; readonly templates: number }>();
  const actor = machineActor({
    client,
    templates: (name) => made.get(name)?.templates ?? 0,
    fate: ({ metadata }) => made.get(metadata.name)?.fate ?? 'boots',
  });
  return {
    client,
    create: async ({ name, fate, templates, labels }) => {
      made.set(name, { fate, templates });
      await client.create(Machine, {
        metadata: { namespace: machineApiNamespace, name, labels },
        spec: { providerSpec: { value: { template: name } } },
      } as Machine);
    },
    until: async (what, look, seen) => {
      for (let rounds = 0; rounds < 40; rounds += 1) {
        const found = await look();
        if (found !== undefined) return found;
        await actor.round();
      }
      throw new Error(`${what}: ${JSON.stringify(seen())}`);
    },
  };
}

for (const scenario of MACHINE_SCENARIOS)
  test(`OWN-18 the played controllers of machines: ${scenario.name}`, () => playMachine(rig(), scenario));
