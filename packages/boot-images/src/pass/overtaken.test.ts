import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ClusterVersion, ConfigMap, ControlPlaneMachineSet, Deployment } from '@drydock/api';
import { upstreamController } from '../decide/coexistence.ts';
import { platformWith } from '../gcp/platform.ts';
import {
  bothManaged,
  computed,
  controlPlane,
  type FakeCluster,
  fakeCluster,
  gcpInfrastructure,
  gcpSet,
  gcpStream,
  machineSet,
  managed,
  newRelease,
  oldRelease,
  published,
  stream,
  stub22,
} from '../testing/index.ts';
import { goldenName, goldenNamespace } from '../wakes/triggers.ts';
import { runPass } from './pass.ts';
import type { PassPorts } from './pass-state.ts';

/** What a person or another controller does while an image is being made. */
const meanwhile: readonly (readonly [what: string, act: (c: FakeCluster) => void, reason: string])[] = [
  [
    'the label by which it was selected is taken off',
    (c) => c.edit.set('wk-a', (set) => ({ ...set, metadata: { ...set.metadata, labels: {} } })),
    'NotSelected',
  ],
  [
    'it gets an owner',
    (c) => {
      const ownerReferences = [{ apiVersion: 'v1', kind: 'MachinePool', name: 'p', uid: 'u' }];
      c.edit.set('wk-a', (set) => ({ ...set, metadata: { ...set.metadata, ownerReferences } }));
    },
    'Owned',
  ],
  ['it is deleted', (c) => c.client.objects.delete('machinesets openshift-machine-api/wk-a'), 'Deleting'],
  [
    'another one is created under its name',
    (c) => c.edit.set('wk-a', (set) => ({ ...set, metadata: { ...set.metadata, uid: 'u-2' } })),
    'Deleting',
  ],
  [
    'an upgrade of the cluster begins',
    (c) =>
      c.client.put(ClusterVersion, {
        metadata: { name: 'version' },
        status: { history: [{ state: 'Partial', version: '4.23.0' }] },
      }),
    'ClusterNotStable',
  ],
  [
    'the upstream controller comes',
    (c) => c.client.put(Deployment, { metadata: upstreamController } as Deployment),
    'LeftToUpstream',
  ],
];

for (const [what, act, reason] of meanwhile) {
  test(`a set is left alone when ${what} while its image is made`, async () => {
    const c = fakeCluster({
      managers: managed('Partial', { matchLabels: { update: 'true' } }),
      sets: [machineSet('wk-a', {}, { labels: { update: 'true' } })],
    });
    c.store.onPublish = () => act(c);
    await c.pass();
    assert.deepEqual(c.client.writes, []);
    const told = c.last('wk-a');
    assert.equal(told !== undefined && 'reason' in told ? told.reason : told?.kind, reason);
    if (reason === 'Deleting') return;
    assert.ok(c.store.templates.has(published), 'the image is there for the next time');
    assert.equal(c.template('wk-a'), computed);
  });
}

const golden = { namespace: goldenNamespace, name: goldenName };
const wants = (c: FakeCluster, text: string): void =>
  c.client.put(ConfigMap, { metadata: golden, data: { stream: text } });
const third = '9.9.20260903-0';

/** What becomes of the release while its image is being made. */
const releases: readonly (readonly [what: string, act: (c: FakeCluster) => void, reason: string, then: string])[] = [
  ['another one', (c) => wants(c, stream.replaceAll(newRelease, third)), 'ImageChanged', third],
  ['the one of before', (c) => wants(c, stream.replaceAll(newRelease, oldRelease)), 'ImageChanged', oldRelease],
  ['one that cannot be read', (c) => wants(c, '{'), 'StreamInvalid', oldRelease],
  ['none', (c) => c.client.objects.delete(`configmaps ${goldenNamespace}/${goldenName}`), 'ImageChanged', oldRelease],
];

for (const [what, act, reason, then] of releases) {
  test(`KEEP-8c the release becomes ${what} while the image of before is made: no set is pointed at that one`, async () => {
    const c = fakeCluster();
    let made = 0;
    c.store.onPublish = () => {
      made += 1;
      if (made === 1) act(c);
    };
    await c.pass();
    assert.deepEqual(c.client.writes, []);
    const said = c.last('wk-a');
    assert.equal(said !== undefined && 'reason' in said ? said.reason : said?.kind, reason);
    c.clock += 3_600_000;
    await c.pass();
    const template = String(c.template('wk-a'));
    assert.equal(c.store.templates.get(template)?.version, then);
  });
}

for (const [what, act] of releases) {
  test(`KEEP-8c the release becomes ${what} during an upload: the process goes on`, async () => {
    const c = fakeCluster();
    const news = new AbortController();
    const { publish } = c.store;
    c.store.publish = async (wish, options) => {
      options.onProgress?.({ step: 'Uploading' });
      act(c);
      news.abort();
      // Longer than the interval at which it is looked whether the upload is still wanted.
      await new Promise((resolve) => setTimeout(resolve, 1_500));
      options.signal?.throwIfAborted();
      return publish(wish, options);
    };
    await runPass(c.ports, c.state, { reason: 'Test', touched: 'all' }, { news: news.signal });
    assert.deepEqual(c.client.writes, []);
    assert.equal(c.template('wk-a'), computed);
  });
}

test('a set that was selected all along is switched', async () => {
  const c = fakeCluster();
  c.store.onPublish = () => c.edit.set('wk-a', (set) => ({ ...set, spec: { ...set.spec, replicas: 9 } }));
  await c.pass();
  assert.equal(c.template('wk-a'), published);
});

for (const plane of [false, true]) {
  for (const write of ['the BootImage', 'the stub', 'the patch', 'the conditions']) {
    test(`upstream’s controller that appears right before ${write} of ${plane ? 'a control plane' : 'a set'} finds nothing written after it`, async () => {
      const look = { look: async () => ({ kind: 'available' }) as const };
      const c = fakeCluster({
        ...{ platform: platformWith(look), infrastructure: gcpInfrastructure, stream: gcpStream, userData: stub22 },
        ...{ sets: plane ? [] : [gcpSet('wk-a')], managers: bothManaged('All') },
      });
      if (plane) c.client.put(ControlPlaneMachineSet, controlPlane(gcpSet('like')));
      let writes = 0;
      const appear = (): void => {
        c.client.put(Deployment, { metadata: upstreamController } as Deployment);
        writes = c.client.writes.length;
      };
      const { report, client } = c.ports;
      const ports: PassPorts = {
        ...c.ports,
        report: async (set, outcome) => {
          await report(set, outcome);
          // The stub is read next, and then written.
          if (write === 'the BootImage' && outcome.kind === 'step') appear();
        },
        client: {
          ...client,
          get: async (resource, key, call) => {
            const found = await client.get(resource, key, call);
            if (write === 'the stub' && resource.plural === 'secrets' && c.last(plane ? 'cluster' : 'wk-a')) appear();
            return found;
          },
          replace: async (resource, object, call) => {
            const done = await client.replace(resource, object, call);
            if (write === 'the patch') appear();
            return done;
          },
          patch: async (resource, key, patch, call) => {
            const done = await client.patch(resource, key, patch, call);
            if (write === 'the conditions') appear();
            return done;
          },
        },
      };
      await runPass(ports, c.state, { reason: 'Test', touched: 'all' });
      assert.ok(writes > 0 || write === 'the BootImage' || write === 'the stub', 'it has appeared');
      assert.ok(c.ports.world.upstream() !== undefined);
      assert.deepEqual(c.client.writes.slice(writes), [], `after ${write}`);
      assert.deepEqual(c.conditionWrites, []);
      const told = c.last(plane ? 'cluster' : 'wk-a');
      if (write === 'the conditions') assert.equal(told?.kind, 'current');
      else assert.ok(told?.kind === 'skip' && told.reason === 'LeftToUpstream');
    });
  }
}
