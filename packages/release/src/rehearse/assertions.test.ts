import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Crd, type JsonObject, readCrd } from '@drydock/crd';
import { assertionsOn, type Proof } from './assertions.ts';
import type { AuditedCall } from './audit.ts';
import type { Scene } from './evidence.ts';
import type { RehearsedObject } from './subject.ts';

const schemaOf = (phases: readonly string[]) => ({
  openAPIV3Schema: {
    type: 'object',
    properties: { status: { type: 'object', properties: { phase: { type: 'string', enum: phases } } } },
  },
});
const shops = (phases: readonly string[], stored = 'v1'): Crd =>
  readCrd(
    {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'shops.example.com' },
      spec: {
        ...{ group: 'example.com', scope: 'Cluster', names: { kind: 'Shop', plural: 'shops' } },
        versions: [
          { name: 'v1', served: true, storage: true, subresources: { status: {} }, schema: schemaOf(phases) },
          { name: 'v0', served: false, storage: false, schema: schemaOf(phases) },
        ],
      },
      status: { storedVersions: [stored] },
    } as never,
    'test',
  );
const release = (version: string, phases: readonly string[]) => ({
  ...{ version, files: new Map<string, string>() },
  crds: new Map([['shops.example.com', shops(phases)]]),
});

const SCENES: readonly Scene[] = ['Older', 'Forward', 'Use', 'Back', 'Idle', 'Again', 'Control'];
const at = (scene: Scene): number => SCENES.indexOf(scene) * 1_000 + 500;
const call = (more: Partial<AuditedCall>): AuditedCall => ({
  ...{ at: at('Use'), user: 'operator-example-1.0.0', verb: 'update', group: 'example.com', resource: 'shops/status' },
  ...{ namespace: '', name: 'shop', code: 200, message: '', dryRun: false },
  ...more,
});
const narrowing = call({
  ...{ at: at('Back'), user: 'system:serviceaccount:drydock:drydock-payloads', name: 'shops.example.com' },
  ...{ group: 'apiextensions.k8s.io', resource: 'customresourcedefinitions', sent: {} },
});
const shop = (phase: string): ReadonlyMap<string, JsonObject> =>
  new Map([['shops.example.com shop', { labels: {}, status: { phase } }]]);

const entry = (version: string, state: string, startedTime: string) => ({ id: version, version, state, startedTime });
const condition = (type: string, status: string) => ({ type, status, reason: 'R', message: 'm' });
const payload = {
  metadata: { name: 'rehearsal', generation: 3 },
  status: {
    observedGeneration: 3,
    history: [
      entry('1.0.0', 'Completed', '2026-01-03T00:00:00Z'),
      entry('1.1.0', 'Completed', '2026-01-02T00:00:00Z'),
      entry('1.0.0', 'Completed', '2026-01-01T00:00:00Z'),
    ],
    conditions: [condition('Available', 'True'), condition('Progressing', 'False'), condition('Failing', 'False')],
  },
} as unknown as RehearsedObject;

/** A way on which everything holds: going back `Sold` is left out of a status, and kept. */
function proof(): Proof {
  const kept = { at: ['phase'], value: 'Sold', schemaHash: '', firstSeen: '', release: '1.1.0' };
  return {
    ...{ calls: [narrowing, call({})], managerLog: '{"level":30}\n', wholly: true, components: ['example'] },
    ...{ older: release('1.0.0', ['Open']), newer: release('1.1.0', ['Open', 'Sold']) },
    narrowed: new Map([['shops.example.com', shops(['Open'])]]),
    control: [
      {
        ...{ definition: 'shops.example.com', object: 'shop', write: 'status', said: '' },
        prepared: { taken: 1, refused: 0 },
        ...{ predicted: 'refused', observed: 'refused' },
      },
    ],
    evidence: {
      scenes: SCENES.map((scene, index) => ({ scene, from: index * 1_000, to: index * 1_000 + 1_000 })),
      ...{ exercises: [], unexercised: [], reached: 100, webhookFailures: [], left: [] },
      ...{ settings: ['both'], retired: ['kept'] },
      subjects: new Map([['Back', payload]]),
      ...{ managed: undefined, killed: [], serverKilled: false, heldUp: undefined },
      snapshots: new Map([
        ['Use', shop('Sold')],
        ['Back', new Map([['shops.example.com shop', { labels: {}, status: {} }]])],
        ['Again', shop('Sold')],
      ]),
      kept: [{ object: 'shop', entry: kept }],
      acknowledged: new Map([['Back', 200]]),
    },
  };
}

const withStatus = (status: object): RehearsedObject => ({
  ...payload,
  status: { ...payload.status, ...status },
});
const back = (of: Proof, status: object): unknown => of.evidence.subjects.set('Back', withStatus(status));

/** What goes wrong, and what alone turns red by it. */
const WRONGS: readonly (readonly [id: string, spoil: (of: { -readonly [K in keyof Proof]: Proof[K] }) => unknown])[] = [
  ['A1', (of) => of.evidence.acknowledged.set('Back', 130_000)],
  ['A2', (of) => back(of, { history: payload.status?.history?.slice(1) })],
  [
    'A3',
    (of) => back(of, { conditions: [...(payload.status?.conditions ?? []), condition('RollbackIncomplete', 'True')] }),
  ],
  ['A4', (of) => back(of, { observedGeneration: 2 })],
  ['A5', (of) => (of.calls = [...of.calls, call({ user: 'drydock-release', code: 422 })])],
  ['A6', (of) => (of.calls = [...of.calls, call({ code: 422 })])],
  ['A7', (of) => (of.managerLog = '{"level":50,"msg":"it broke"}\n')],
  [
    'A8',
    (of) => {
      of.evidence.killed.push('drydock-release');
      const lease = { user: 'drydock-release', resource: 'leases', name: 'drydock-release' };
      // The scene of the way back is as long as nobody leads.
      for (const one of of.evidence.scenes) if (one.scene === 'Back') one.to += 100_000;
      of.calls = [...of.calls, call({ ...lease, at: at('Back') }), call({ ...lease, at: at('Back') + 70_000 })];
    },
  ],
  ['A9', (of) => of.evidence.snapshots.set('Back', shop('Sold'))],
  ['A10', (of) => (of.narrowed = new Map([['shops.example.com', shops(['Open'], 'v0')]]))],
  ['A11', (of) => (of.evidence.kept = [])],
  ['A12', (of) => of.evidence.snapshots.set('Again', shop('Open'))],
  ['A13', (of) => (of.calls = [...of.calls, call({ at: at('Back') + 1, user: 'operator-example-1.1.0' })])],
  ['A13', (of) => (of.evidence.webhookFailures = ['failed calling webhook'])],
  ['A14', (of) => (of.evidence.left = ['Deployment guard'])],
  ['A14', (of) => (of.evidence.settings = ['both', 'more'])],
  ['A14', (of) => (of.evidence.retired = [])],
  ['A15', (of) => (of.calls = [...of.calls, call({ at: at('Idle'), user: 'drydock-release', name: 'x' })])],
  ['A17', (of) => (of.evidence.heldUp = { definitions: ['shops.example.com'], said: 'something else' })],
  ['A17', (of) => (of.evidence.heldUp = { definitions: [], said: 'shops.example.com' })],
  ['A16', (of) => (of.control = of.control.map((one) => ({ ...one, observed: 'taken' as const })))],
];

test('a way on which everything holds is green', () => {
  const failed = assertionsOn(proof()).filter(({ verdict }) => verdict === 'failed');
  assert.deepEqual(failed, []);
});

test('each assertion turns red by what it is about, and by nothing else', () => {
  for (const [id, spoil] of WRONGS) {
    const spoilt = proof();
    spoil(spoilt);
    const failed = assertionsOn(spoilt).filter(({ verdict }) => verdict === 'failed');
    assert.deepEqual(
      failed.map((one) => one.id),
      [id],
      failed.map(({ seen }) => seen).join('; '),
    );
    assert.notEqual(failed[0]?.seen, '');
  }
  assert.equal(new Set(WRONGS.map(([id]) => id)).size, assertionsOn(proof()).length);
});

test('RB-R93 what an operator that looks at no schema holds up is told; who leads when one is killed is told, too', () => {
  const seen = (spoil: (of: Proof) => unknown, id: string): string => {
    const one = proof();
    spoil(one);
    const found = assertionsOn(one).find((each) => each.id === id);
    return `${found?.verdict}: ${found?.seen}`;
  };
  const held = { definitions: ['shops.example.com'], said: 'shops.example.com stays' };
  assert.equal(
    seen((of) => (of.evidence.heldUp = held), 'A17'),
    'passed: shops.example.com until it was mended',
  );
  assert.match(
    seen(() => undefined, 'A17'),
    /^skipped: /,
  );
  assert.match(
    seen(() => undefined, 'A8'),
    /^skipped: one manager ran/,
  );
  const lines = ['{"level":50,"err":{"code":"Connection"}}', '{"level":50,"err":{"code":"Invalid"}}'];
  const logged = (count: number): string => {
    const one = { ...proof(), managerLog: `${lines.slice(0, count).join('\n')}\n` };
    one.evidence.serverKilled = true;
    return assertionsOn(one).find((each) => each.id === 'A7')?.verdict ?? '';
  };
  assert.deepEqual([logged(1), logged(2)], ['passed', 'failed']);
  const killed = 'drydock-release, at the first bridge';
  assert.equal(
    seen((of) => of.evidence.killed.push(killed), 'A8'),
    `passed: 0 led, nobody for at most 0.0 s; killed: ${killed}`,
  );
});
