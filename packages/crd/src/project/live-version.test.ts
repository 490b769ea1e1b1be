import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../schema/json.ts';
import { clusterVersionManifest } from '../testing/cluster-version.ts';
import { liveVersion, SERVER_LAG_MS } from './live-version.ts';
import { createProjector } from './projector.ts';

const olm = 'OperatorLifecycleManagerV1';

function followed() {
  const state = { definition: clusterVersionManifest(16) as unknown, now: 0 };
  const live = liveVersion(() => state.definition, 'v1', { lagMs: SERVER_LAG_MS, now: () => state.now });
  const projector = createProjector({ live });
  /** Of the two that are meant. */
  const written = async (): Promise<unknown> => {
    const intent = {
      ...{
        availableUpdates: null,
        desired: { image: 'i', version: '4.18.0' },
        observedGeneration: 1,
        versionHash: 'h',
      },
      capabilities: { enabledCapabilities: ['Build', olm], knownCapabilities: ['Build', olm] },
    };
    const current = { metadata: { uid: 'u', name: 'version', resourceVersion: '1' }, spec: {}, status: {} };
    const status = (await projector.project(intent, current)) as unknown as typeof intent;
    return status.capabilities.enabledCapabilities;
  };
  return { state, live, written };
}

test('a server that is behind its watch refuses nothing: what a definition newly allows is written once every server goes by it', async () => {
  const { state, live, written } = followed();
  assert.deepEqual(await written(), ['Build']);
  assert.equal(live.settlesIn(), 0, 'of the first definition nothing is awaited');
  state.definition = clusterVersionManifest(18);
  assert.deepEqual(await written(), ['Build'], 'it may not be served yet');
  assert.equal(live.settlesIn(), SERVER_LAG_MS);
  state.now += SERVER_LAG_MS - 1;
  state.definition = { ...(state.definition as JsonObject), status: { storedVersions: ['v1'] } };
  assert.deepEqual([await written(), live.settlesIn()], [['Build'], 1], 'its own status begins nothing anew');
  state.now += 1;
  assert.deepEqual([await written(), live.settlesIn()], [['Build', olm], 0]);
});

test('what a definition does not allow any more is not written from the moment at which it is seen', async () => {
  const { state, written } = followed();
  state.definition = clusterVersionManifest(18);
  await written();
  state.now += SERVER_LAG_MS;
  assert.deepEqual(await written(), ['Build', olm]);
  state.definition = clusterVersionManifest(16);
  assert.deepEqual(await written(), ['Build']);
  // Forward and back again within the time of one: the narrowest of them counts.
  state.definition = clusterVersionManifest(18);
  assert.deepEqual(await written(), ['Build']);
  state.now += 1_000;
  state.definition = {
    ...(clusterVersionManifest(18) as JsonObject),
    metadata: { name: 'clusterversions.config.openshift.io', labels: { a: 'b' } },
  };
  assert.deepEqual(await written(), ['Build']);
});

test('TRUTH-20 of a chain of definitions that take the place of each other within the time of one, all that a server may still go by are kept within', async () => {
  const { state, live, written } = followed();
  const among = (values: readonly string[]): JsonObject => {
    const manifest = structuredClone(clusterVersionManifest(18)) as JsonObject;
    const narrowed = (value: unknown): void => {
      if (typeof value !== 'object' || value === null) return;
      const { enum: allowed } = value as { enum?: unknown };
      if (Array.isArray(allowed) && allowed.includes(olm)) Object.assign(value, { enum: values });
      for (const one of Object.values(value)) narrowed(one);
    };
    narrowed(manifest);
    return manifest;
  };
  const [narrow, wide, wider] = [among(['Build']), among(['Build', olm]), among(['Build', olm, 'Console'])];
  state.definition = narrow;
  assert.deepEqual(await written(), ['Build']);
  for (const next of [wide, wider]) {
    state.now += 1_000;
    state.definition = next;
    assert.deepEqual(await written(), ['Build'], 'a server may go by the first one');
  }
  // The first one was replaced a second before the second one: it ends first.
  assert.equal(live.settlesIn(), SERVER_LAG_MS - 1_000);
  state.now += SERVER_LAG_MS - 1_001;
  assert.deepEqual([await written(), live.settlesIn()], [['Build'], 1]);
  state.now += 1;
  assert.deepEqual([await written(), live.settlesIn()], [['Build', olm], 1_000], 'the second and the third');
  state.now += 1_000;
  assert.deepEqual([await written(), live.settlesIn()], [['Build', olm], 0]);
});

test('a definition that is written in a loop makes no status dear: only the youngest are kept within', () => {
  const state = { definition: clusterVersionManifest(16) as unknown, now: 0 };
  const live = liveVersion(() => state.definition, 'v1', { lagMs: SERVER_LAG_MS, now: () => state.now });
  live();
  for (let count = 0; count < 100; count += 1) {
    const next = structuredClone(clusterVersionManifest(16)) as { spec: { versions: { schema: object }[] } };
    for (const { schema } of next.spec.versions)
      Object.assign((schema as { openAPIV3Schema: object }).openAPIV3Schema, { description: `${count}` });
    state.definition = next;
    live();
  }
  const first = live();
  assert.equal(first?.also?.length, 8);
  assert.equal(live(), first, 'the same object as long as nothing has changed');
});
