import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiFailure } from './api-failure.ts';
import { decodeProtobuf } from './protobuf-decoder.ts';

const field = (number: number, value: string | Buffer | number): Buffer => {
  if (typeof value === 'number') return Buffer.from([number * 8, value]);
  const bytes = Buffer.from(value);
  return Buffer.concat([Buffer.from([number * 8 + 2, bytes.length]), bytes]);
};

const all = (...parts: readonly Buffer[]): Buffer => Buffer.concat(parts);

const envelope = (apiVersion: string, kind: string, object: Buffer): Buffer =>
  all(Buffer.from('k8s\0'), field(1, all(field(1, apiVersion), field(2, kind))), field(2, object));

test('an object in protobuf reads as its JSON, without what Go leaves out', () => {
  const metadata = all(
    field(1, 'a'),
    field(2, ''),
    field(3, 'b'),
    field(8, ''),
    field(11, all(field(1, 'k'), field(2, 'v'))),
  );
  const map = envelope('v1', 'ConfigMap', all(field(1, metadata), field(2, all(field(1, 'x'), field(2, 'y')))));
  assert.deepEqual(decodeProtobuf(map, 'ConfigMap'), {
    kind: 'ConfigMap',
    apiVersion: 'v1',
    metadata: { name: 'a', namespace: 'b', labels: { k: 'v' } },
    data: { x: 'y' },
  });
  // A pointer to zero is not the same as none.
  const scaled = envelope('apps/v1', 'Deployment', field(2, field(1, 0)));
  assert.deepEqual(decodeProtobuf(scaled, 'Deployment'), {
    kind: 'Deployment',
    apiVersion: 'apps/v1',
    spec: { replicas: 0 },
  });
});

test('bytes that are no such object are refused, cut at any place', () => {
  const whole = envelope(
    'v1',
    'ConfigMap',
    all(field(1, field(1, 'name')), field(2, all(field(1, 'x'), field(2, 'y')))),
  );
  let read = 0;
  for (let cut = 0; cut < whole.length; cut += 1) {
    try {
      decodeProtobuf(whole.subarray(0, cut), 'ConfigMap');
      read += 1;
    } catch (error) {
      assert.ok(error instanceof ApiFailure && error.status.code === 400, `cut at ${cut}: ${String(error)}`);
    }
  }
  assert.ok(read < 3);
  assert.throws(() => decodeProtobuf(Buffer.from('xxx'), 'ConfigMap'), /expected prefix \[107 56 115 0\] \(787878\)/);
  assert.throws(() => decodeProtobuf(envelope('v9', 'Nope', Buffer.alloc(0)), 'ConfigMap'), /no kind "Nope"/);
});
