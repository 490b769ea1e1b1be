import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { BootImage, bootImagePhases, Deployment, Lease, type MachineSet } from '@drydock/api';
import { bootImageOf, type Explanation, explainSet, upstreamController } from '@drydock/boot-images';
import {
  computed,
  type FakeCluster,
  fakeCluster,
  machineSet,
  managed,
  newRelease,
  oldRelease,
} from '@drydock/boot-images/testing';
import { pageState, type SetRow, scaleAnswer } from '@drydock/page';
import fc from 'fast-check';
import { fromJSONSchema } from 'zod';
import { clusterStandings } from '../cluster-standings.ts';
import { outputFormat } from '../output/format.ts';
import { checkCode, printStatus } from '../status.ts';
import { clusterTreeNow } from '../tree/cluster-tree.ts';
import { scaleWorld } from './scale-world.ts';
import { pageWorld } from './world.ts';

const leaseNamespace = 'openshift-machine-config-operator';
const newer = `${computed}-${newRelease}-0123abcd`;

/** What a seed makes of one set: the object, and what the operator said of it. */
const set = fc.record({
  template: fc.constantFrom(computed, newer, '/dc1/vm/c1/own-image'),
  owned: fc.constantFrom(false, false, true),
  foreign: fc.constantFrom(false, false, true),
  gone: fc.constantFrom(false, false, false, true),
  said: fc.option(
    fc.record(
      {
        phase: fc.constantFrom(...bootImagePhases),
        current: fc.constantFrom(oldRelease, newRelease),
        target: fc.constantFrom(newRelease, '9.8.20261019-0'),
        reason: fc.constantFrom('NoSpace', 'CanaryFailed', 'VimLoginRefused'),
        message: fc.constantFrom('it said this', 'it said\nthat', '<b>it</b>\u202e said'),
        nextStep: fc.constantFrom('do this', 'drydock explain'),
        progress: fc.constantFrom('-', '41%', 'blocked: NoSpace'),
      },
      { requiredKeys: ['phase'] },
    ),
    { nil: undefined },
  ),
  pinned: fc.constantFrom(false, false, true),
});

const seeds = fc.record({
  sets: fc.array(set, { maxLength: 5 }),
  leads: fc.constantFrom('led', 'given back', 'never'),
  upstream: fc.constantFrom(false, false, false, true),
  all: fc.constantFrom('All', 'All', 'None'),
});

type Seed = typeof seeds extends fc.Arbitrary<infer T> ? T : never;

function world({ sets, leads, upstream, all }: Seed): FakeCluster {
  const objects = sets.map(({ template, owned, foreign }, at): MachineSet => {
    const owner = { apiVersion: 'x/v1', kind: 'Somebody', name: 'else', uid: '1', controller: true };
    const value = foreign ? { template, workspace: { server: 'vc9', datacenter: 'dc9' } } : { template };
    return machineSet(`wk-${at}`, value, owned ? { ownerReferences: [owner] } : {});
  });
  const c = fakeCluster({ sets: objects.filter((_, at) => sets[at]?.gone !== true), managers: managed(all) });
  c.client.answer = { groups: [] };
  for (const [at, { said, pinned, template }] of sets.entries()) {
    const object = objects[at];
    if (said === undefined || object === undefined) continue;
    const image = bootImageOf(object);
    const pin = { release: oldRelease, by: 'alice' };
    c.client.put(BootImage, {
      ...image,
      spec: { ...image.spec, ...(pinned ? { pin } : {}) },
      status: { ...said, set: `ms/wk-${at}`, template: { server: 'vc1', name: template.split('/').at(-1) ?? '' } },
    });
  }
  if (upstream) c.client.put(Deployment, { metadata: upstreamController } as Deployment);
  if (leads !== 'never') {
    const spec = {
      ...{ holderIdentity: leads === 'led' ? 'pod-1' : '', leaseDurationSeconds: 3600 },
      renewTime: new Date().toISOString().replace('Z', '000Z'),
    };
    c.client.put(Lease, { metadata: { namespace: leaseNamespace, name: 'drydock-boot-images' }, spec });
  }
  return c;
}

const schema = fromJSONSchema(
  closed(
    JSON.parse(readFileSync(new URL('../../../../docs/schemas/page-state.json', import.meta.url), 'utf8')),
  ) as Parameters<typeof fromJSONSchema>[0] & object,
);

/** The same with no field but those that it names. */
function closed(of: unknown): unknown {
  if (Array.isArray(of)) return of.map(closed);
  if (typeof of !== 'object' || of === null) return of;
  const inner = Object.fromEntries(Object.entries(of).map(([key, value]) => [key, closed(value)]));
  return inner['type'] === 'object' ? { ...inner, additionalProperties: false } : inner;
}

type Words = Pick<SetRow, 'phase' | 'reason' | 'message' | 'nextStep' | 'progress'>;

const noVCenters = { kind: 'read', value: [] } as const;

const STEPS: Partial<Record<Explanation['step'], string>> = {
  skip: 'Skipped',
  wait: 'Pending',
  blocked: 'Blocked',
  failed: 'Failed',
};

test('the page, status and explain say the same of each set of any world', async () => {
  const seen = { sets: 0, explained: 0, phases: new Set<string>(), answers: new Set<string>() };
  const signal = new AbortController().signal;
  await fc.assert(
    fc.asyncProperty(seeds, async (seed) => {
      const c = world(seed);
      const { images, now, leader } = await clusterStandings(c.client, { leaseNamespace }, signal);
      const page = pageState(await pageWorld(c.client, { leaseNamespace }, signal));
      const { error } = schema.safeParse(JSON.parse(JSON.stringify(page)));
      assert.equal(error, undefined);
      const rows = new Map(page.sections.sets.map((row) => [row.set, row]));
      const printed = JSON.parse(
        printStatus(images, outputFormat('json', { names: true }), { headers: true, now: now.getTime() }),
      ) as {
        readonly items: readonly BootImage[];
      };
      assert.equal(rows.size, printed.items.length);
      for (const { status = {}, metadata } of printed.items) {
        const row = rows.get(status.set ?? metadata.name) ?? assert.fail(`the page lacks ${status.set}`);
        assert.deepEqual(wordsOf(row), wordsOf({ ...status }), row.set);
        seen.sets += 1;
        seen.phases.add(row.phase);
        if (row.answer === 'yes') assert.equal(row.phase, 'Current');
      }
      for (const object of c.ports.world.machineSets()) {
        const explained = await explainSet(object, c.ports);
        const row = rows.get(explained.set) ?? assert.fail(`the page lacks ${explained.set}`);
        const phase = STEPS[explained.step];
        // What the vCenter was asked, by the one who explains, the API objects do not have.
        const decided = explained.answers.find(({ answer }) => answer !== 'yes')?.question;
        if (phase === undefined || decided === 'image' || decided === 'stub') continue;
        seen.explained += 1;
        const said = { message: explained.why, nextStep: explained.nextStep ?? '', phase };
        assert.deepEqual({ message: row.message, nextStep: row.nextStep, phase: row.phase }, said, explained.set);
      }
      const checked = scaleAnswer(
        scaleWorld(await clusterTreeNow(c.client, { leaseNamespace }, signal), [], noVCenters),
      );
      assert.deepEqual([checked.answer, checked.text], [page.head.answer, page.head.text]);
      assert.equal(checkCode(checked) === 0, ['yes', 'unmanaged'].includes(page.head.answer));
      seen.answers.add(page.head.answer);
      if (leader.state !== 'led') for (const { answer } of page.sections.answers) assert.notEqual(answer, 'yes');
    }),
    { numRuns: 150 },
  );
  assert.ok(
    seen.sets > 100 && seen.explained > 20 && seen.phases.size >= 5 && seen.answers.size >= 2,
    JSON.stringify({ ...seen, phases: [...seen.phases], answers: [...seen.answers] }),
  );
});

function wordsOf(of: Partial<Words>): Words {
  const clean = (text: string | undefined): string => (text ?? '').replaceAll(/[\p{Cc}\p{Cf}]+/gu, ' ').trim();
  return {
    phase: clean(of.phase),
    reason: clean(of.reason),
    message: clean(of.message),
    nextStep: clean(of.nextStep),
    progress: clean(of.progress),
  };
}
