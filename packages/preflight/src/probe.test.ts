import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Crd, ERAS, type Finding, readCrd } from '@drydock/crd';
import { ApiError, type KubeObject } from '@drydock/kube';
import { PreflightError } from './errors.ts';
import { type ProbeRequest, probe, probeRequests } from './probe.ts';
import { leftShadows, type ShadowManifest, sweepShadows } from './shadow.ts';

interface Cause {
  readonly reason: string;
  readonly field: string;
  readonly message?: string;
}

const failed = (code: ApiError['code']): ApiError => new ApiError({ code, action: 'delete', said: 'no' });
const refusal = (...causes: readonly Cause[]): ApiError =>
  new ApiError({ code: 'Invalid', action: 'create', said: 'no', details: { causes } });

function definition(openAPIV3Schema: object): Crd {
  const version = {
    name: 'v1',
    served: true,
    storage: true,
    subresources: { status: {} },
    schema: { openAPIV3Schema },
  };
  const names = { kind: 'Thing', plural: 'things' };
  const spec = { group: 'example.com', scope: 'Namespaced', names, versions: [version] };
  return readCrd({ metadata: { name: 'things.example.com' }, spec } as never, 'test');
}

const withSize = (size: object): Crd =>
  definition({
    type: 'object',
    properties: {
      spec: {
        type: 'object',
        properties: { phase: { type: 'string', enum: ['a'] }, size: { type: 'string', ...size } },
      },
    },
  } as never);
/** A rule that nobody but a server can evaluate, which is not asked today, and an enum that anybody can. */
const target = withSize({ 'x-kubernetes-validations': [{ rule: 'no.such.function(self)' }] });
const today = withSize({});
const options = { now: ERAS.E2, target: ERAS.E1, run: 'r1' };
const requests: readonly ProbeRequest[] = [{ crd: today, target, objects: new Set(['n/x']) }];

function thing(name: string, phase = 'a'): KubeObject {
  const metadata = { name, namespace: 'n', uid: name, resourceVersion: '7' };
  return { apiVersion: 'example.com/v1', kind: 'Thing', metadata, spec: { phase, size: '1' } } as KubeObject;
}

/** A cluster that keeps definitions, and answers to dry runs as it is told. */
function world(answer: () => Promise<unknown>, objects: readonly KubeObject[] = [thing('x'), thing('legal')]) {
  const stored = new Map<string, KubeObject>();
  const installed: KubeObject[] = [];
  const immortal = new Set<string>();
  const cluster = {
    async *list() {
      yield* [...stored.values()];
    },
    create: async (_resource: unknown, created: KubeObject, { dryRun = false }: { readonly dryRun?: boolean } = {}) => {
      if (dryRun) await answer();
      else {
        stored.set(created.metadata.name, created);
        installed.push(created);
      }
      return created;
    },
    get: () => Promise.reject(failed('NotFound')),
    async *pages() {
      yield { items: objects, resourceVersion: '1' };
    },
    delete: (_resource: unknown, { name }: { readonly name: string }) => {
      if (immortal.has(name)) return Promise.reject(failed('Forbidden'));
      stored.delete(name);
      return Promise.resolve();
    },
    raw: () => Promise.resolve({}),
  };
  return { cluster: cluster as never, stored, installed, immortal };
}

async function verdicts(of: ReturnType<typeof world>, asked = requests): Promise<readonly string[]> {
  const all: Finding[] = [];
  for await (const findings of probe(of.cluster, asked, options)) all.push(...findings);
  return all.map((finding) => `${finding.class} ${finding.rule} ${finding.object} ${finding.path}`);
}

test('RB-R74: the probe gives the verdict of the server, and its definition is gone afterwards, also after an interruption', async () => {
  const refusing = world(() => Promise.reject(refusal({ reason: 'FieldValueInvalid', field: 'spec.size' })));
  assert.deepEqual(await verdicts(refusing), ['BLOCK_SPEC N15 n/x spec.size']);
  assert.deepEqual([refusing.installed.length, refusing.stored.size], [1, 0]);
  const accepting = world(() => Promise.resolve());
  assert.deepEqual(await verdicts(accepting), []);

  const controller = new AbortController();
  const interrupted = world(() => {
    controller.abort(new DOMException('SIGINT', 'AbortError'));
    return Promise.reject(controller.signal.reason as Error);
  });
  const run = Array.fromAsync(probe(interrupted.cluster, requests, { ...options, signal: controller.signal }));
  await assert.rejects(run, { name: 'AbortError' });
  assert.deepEqual([interrupted.installed.length, interrupted.stored.size], [1, 0]);
});

test('what was decided without the server is not told again, what it did not get to stays open', async () => {
  const known = { reason: 'FieldValueNotSupported', field: 'spec.phase' };
  const unchecked = { reason: 'FieldValueInvalid', field: '<nil>', message: 'some validation rules were not checked' };
  const stopped = world(() => Promise.reject(refusal(known, unchecked)), [thing('x', 'b')]);
  assert.deepEqual(await verdicts(stopped), ['UNDECIDED N15 n/x spec.size']);
  const root = world(() => Promise.reject(refusal({ reason: 'FieldValueInvalid', field: '<nil>', message: 'no' })));
  assert.deepEqual(await verdicts(root), ['ROOT_CEL N35 n/x <nil>']);
});

test('definitions of one name in several groups are probed side by side, each in the version that it is judged in', async () => {
  const spec = target.manifest['spec'] as { readonly versions: readonly object[] };
  const [version = {}] = spec.versions;
  const of = (group: string): Crd =>
    readCrd(
      {
        metadata: { name: `things.${group}` },
        spec: {
          ...{ group, scope: 'Namespaced', names: { kind: 'T'.repeat(63), plural: 't'.repeat(63) } },
          versions: [version, { ...version, name: 'v2', storage: true }].map((one, at) => ({
            ...one,
            storage: at === 1,
          })),
        },
      } as never,
      'test',
    );
  // It is stored in v1 now, and in v2 then.
  const now = (group: string): Crd => ({ ...of(group), versions: target.versions });
  const both = ['a.example.com', 'b.example.com'].map((group) => ({
    ...{ crd: now(group), target: of(group), objects: new Set(['n/x']) },
  }));
  const seen = world(() => Promise.resolve());
  assert.deepEqual(await verdicts(seen, both), []);
  const shadows = seen.installed as KubeObject[] as ShadowManifest[];
  for (const pick of [
    (shadow: ShadowManifest) => shadow.metadata.name,
    (shadow: ShadowManifest) => shadow.spec.names.kind.toLowerCase(),
  ]) {
    assert.equal(new Set(shadows.map(pick)).size, 2);
    // What a server takes as a name, `List` appended.
    for (const name of shadows.map(pick)) assert.match(`${name.split('.')[0]}list`, /^[a-z]([-a-z0-9]{0,61}[a-z0-9])$/);
  }
  assert.deepEqual(
    shadows.map(({ spec: { versions } }) => versions.map(({ name }) => name)),
    [['v1'], ['v1']],
  );
});

test('a definition that cannot be removed is told with what removes it, and the others are removed', async () => {
  const refusing = world(() => Promise.resolve());
  const two = [...requests, { crd: target, target, objects: new Set(['n/legal']) }];
  const name = (number: number): string => `things-r1-${number}.shadow.drydock.dev`;
  refusing.immortal.add(name(0));
  await assert.rejects(verdicts(refusing, two), (error) => {
    assert.ok(error instanceof PreflightError && error.code === 'SHADOWS_LEFT');
    assert.match(error.message, /run r1 could not be removed.*drydock crd doctor$/);
    return true;
  });
  assert.deepEqual([...refusing.stored.keys()], [name(0)]);
  assert.deepEqual(
    (await leftShadows(refusing.cluster)).map(({ run }) => run),
    ['r1'],
  );
});

test('what a probe is to settle follows from the doubts', () => {
  const doubt = (object: string, crd = target.name): Finding => ({ crd, object }) as Finding;
  const found = probeRequests([doubt('n/a'), doubt('n/b'), doubt('n/a'), doubt('x', 'gone')], [target], [target]);
  assert.deepEqual(
    found.map(({ crd, objects }) => [crd.name, [...objects]]),
    [[target.name, ['n/a', 'n/b']]],
  );
});

test('a sweep takes shadows alone', async () => {
  const { cluster, stored } = world(() => Promise.resolve());
  stored.set('theirs.example.com', { metadata: { name: 'theirs.example.com' } });
  stored.set('a.shadow.drydock.dev', { metadata: { name: 'a.shadow.drydock.dev' } });
  assert.equal(await sweepShadows(cluster), 1);
  assert.deepEqual([...stored.keys()], ['theirs.example.com']);
});
