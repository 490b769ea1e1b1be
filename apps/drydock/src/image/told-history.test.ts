import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BootImagePolicy } from '@drydock/api';
import { bootImageOf, idOf, keptSets, type Platform, vspherePlatform, type World } from '@drydock/boot-images';
import {
  computed,
  infrastructure,
  machineSet,
  newRelease,
  oldRelease,
  published,
  reportingCluster,
} from '@drydock/boot-images/testing';
import { keyOf } from '@drydock/kube';
import { exitCode } from '../exit.ts';
import { pinQuestions } from '../pin-questions.ts';
import { type RevertPlan, type RevertRefusal, revertPlan } from './revert-plan.ts';
import { type ToldEntry, toldHistory } from './told-history.ts';
import { wayBackCell } from './way-back-text.ts';

const signal = new AbortController().signal;

/** A set that was moved, and what a person sees of it who asks at once. */
async function moved(options: Parameters<typeof reportingCluster>[0] = {}, policy?: BootImagePolicy) {
  const c = reportingCluster(options);
  if (policy !== undefined) c.cluster.client.put(BootImagePolicy, policy);
  await c.pass();
  const world: World = c.ports.world;
  const [set] = keptSets(world);
  if (set === undefined) throw new TypeError('there are no sets');
  const { store } = c.cluster;
  const vsphere = (publication: 'pointer' | 'swap'): Platform =>
    vspherePlatform({ store, publication, holder: '', holderIsLive: () => true });
  const platforms = new Map([['VSphere', vsphere(options.publication ?? 'pointer')]]);
  const ports = { ...c.ports, world, platforms, client: c.cluster.client, stubSecret: 'InPlace' as const };
  const keys = { read: true };
  const sight = { world, hasKeys: () => keys.read, ...pinQuestions(ports, vsphere('swap'), signal) };
  const said = () => world.bootImage(keyOf(bootImageOf(set)))?.status;
  const revert = (to: string): Promise<RevertPlan | RevertRefusal> =>
    revertPlan(sight, set, said(), { to, words: {}, allOnName: true });
  const alone = (to: string): Promise<RevertPlan | RevertRefusal> =>
    revertPlan(sight, set, said(), { to, words: {}, allOnName: false });
  return {
    ...{ c, alone },
    keys,
    revert,
    history: (): Promise<readonly ToldEntry[]> => toldHistory(idOf(set), said()?.history ?? [], revert),
  };
}

for (const publication of ['pointer', 'swap'] as const)
  test(`OWN-18 ${publication} mode: a history says what a revert would, also before the operator has looked at the place again`, async () => {
    const { c, history, revert } = await moved({ publication });
    const [, before] = c.image()?.status?.history ?? [];
    assert.equal(before?.revertable, undefined, 'it was moved just now');
    const [inUse, entry] = await history();
    assert.ok(inUse !== undefined && entry !== undefined);
    assert.deepEqual(
      [inUse, entry].map((one) => wayBackCell(one, 'gone')),
      ['in use', 'yes'],
    );
    assert.equal(entry.revert, `drydock image revert ms/wk-a --to ${entry.id}`);
    assert.ok(!('code' in (await revert(entry.id))), 'and it is so');

    const kept = [...c.cluster.store.templates.keys()].filter(
      (name) => name !== (publication === 'swap' ? computed : published),
    );
    for (const name of kept) c.cluster.store.templates.delete(name);
    const [, gone] = await history();
    const refused = await revert(entry.id);
    assert.deepEqual([gone?.revertable, gone?.why, gone?.revert], [false, 'the image is gone', undefined]);
    assert.ok('code' in refused && refused.code === exitCode.blocked);
    assert.match(refused.message, new RegExp(`${oldRelease}.* is not in `));
    assert.equal(inUse.release, newRelease);
  });

test('OWN-18 where nobody can look, the operator’s last look counts for history and revert alike; without one both say why, and what to do', async () => {
  const { c, history, revert } = await moved({ templates: { [computed]: { version: oldRelease, ours: true } } });
  c.cluster.store.failInspect = Object.assign(new Error('vc1 does not answer'), { code: 'VIM_UNREACHABLE' });
  const [, unknown] = await history();
  assert.deepEqual(
    [unknown?.revertable, unknown?.why, unknown?.revert, unknown?.next],
    [undefined, 'vc1 does not answer', undefined, 'drydock explain ms/wk-a'],
  );
  const undecided = await revert(unknown?.id ?? '');
  assert.ok('code' in undecided && undecided.code === exitCode.undecided);

  c.cluster.store.failInspect = undefined;
  for (const [template, able] of [
    [true, true],
    [false, false],
  ] as const) {
    if (!template) c.cluster.store.templates.delete(computed);
    c.cluster.clock += 3_700_000;
    await c.pass();
    c.cluster.store.failInspect = Object.assign(new Error('vc1 does not answer'), { code: 'VIM_UNREACHABLE' });
    const [, entry] = await history();
    assert.equal(entry?.revertable, able);
    const plan = await revert(entry?.id ?? '');
    assert.equal('code' in plan, !able);
    if ('code' in plan) assert.deepEqual([plan.code, plan.why], [exitCode.blocked, 'the image is gone']);
    c.cluster.store.failInspect = undefined;
  }
});

test('OWN-18 whoever cannot read the key of marks does not say that nothing proves a template: the operator, which has it, said so or not', async () => {
  const named = infrastructure((spec) => {
    const vsphere = spec.platformSpec?.vsphere;
    const failureDomains = vsphere?.failureDomains?.map((domain) => ({
      ...domain,
      topology: { ...domain.topology, template: '' },
    }));
    return { ...spec, platformSpec: { ...spec.platformSpec, vsphere: { ...vsphere, failureDomains } } } as never;
  });
  const ours = { version: oldRelease, ours: true };
  const { c, keys, history, revert } = await moved({ infrastructure: named, templates: { [computed]: ours } });
  keys.read = false;
  // Only its code proves it, which nobody checks without the key.
  const blind = (): void => void c.cluster.store.templates.set(computed, { ...ours, ours: false });
  blind();
  const [, before] = await history();
  assert.deepEqual([before?.revertable, before?.revert], [undefined, undefined]);
  assert.match(before?.why ?? '', /^the key of marks could not be read here, and without it nothing proves/);
  c.cluster.store.templates.set(computed, ours);
  c.cluster.clock += 3_700_000;
  await c.pass();
  blind();
  const [, entry] = await history();
  assert.equal(entry?.revertable, true, 'by its last look');
  assert.ok(!('code' in (await revert(entry?.id ?? ''))));
  keys.read = true;
  const [, known] = await history();
  assert.equal(known?.revertable, false, 'whoever has the key knows better');
});

test('OWN-18 a revert takes along whom one name serves, as the policies say, and nobody who is published by pointer', async () => {
  const labels = { stable: '' };
  const sets = [machineSet('wk-a', {}, { labels }), machineSet('wk-b', {}, { labels }), machineSet('wk-c')];
  const gold = (publication: 'Pointer' | 'Swap', selector: object = { matchLabels: labels }) => ({
    metadata: { name: 'gold', generation: 1 },
    spec: { selector, publication },
  });
  for (const [told, policy, along] of [
    ['pointer', gold('Swap'), ['ms/wk-b']],
    // Everybody takes over the name, and a word says so of two: the third one refers to it as well.
    ['swap', gold('Swap'), ['ms/wk-b', 'ms/wk-c']],
    ['swap', gold('Pointer', { matchExpressions: [{ key: 'stable', operator: 'DoesNotExist' }] }), ['ms/wk-b']],
    ['swap', gold('Swap', { matchLabels: { none: '' } }), ['ms/wk-b', 'ms/wk-c']],
    ['pointer', gold('Pointer'), []],
  ] as const) {
    const { c, alone } = await moved({ publication: told, sets }, policy);
    const entry = c.image()?.status?.history?.[1]?.id ?? '';
    const plan = await alone(entry);
    const what = `${told}, ${JSON.stringify(policy.spec)}`;
    if (along.length === 0) assert.ok(!('code' in plan), what);
    else {
      assert.ok('code' in plan && plan.code === exitCode.blocked, what);
      assert.match(plan.message, new RegExp(`^${along.join(', ')} (has|have) the same template name as ms/wk-a`), what);
    }
  }
});
