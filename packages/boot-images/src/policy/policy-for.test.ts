import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BootImagePolicy, BootImagePolicySpec } from '@drydock/api';
import { type PolicySubject, policyFor, readPolicy } from './policy-for.ts';

const policy = (name: string, spec: BootImagePolicySpec = {}): BootImagePolicy => ({ metadata: { name }, spec });
const subject: PolicySubject = { kind: 'MachineSet', labels: { tier: 'web' }, failureDomain: 'fd1' };
const decided = (...policies: readonly BootImagePolicy[]): string => {
  const { policy: by, conflict } = policyFor(subject, policies);
  return by?.metadata.name ?? conflict?.join(' and ') ?? 'nobody';
};

test('the highest priority of those that select a set decides; equal ones are named, in whatever order they come', () => {
  assert.equal(decided(), 'nobody');
  assert.equal(decided(policy('all')), 'all');
  assert.equal(decided(policy('all'), policy('web', { priority: 10 })), 'web');
  assert.equal(decided(policy('web', { priority: 10 }), policy('all'), policy('never', { priority: -1 })), 'web');
  assert.equal(decided(policy('b'), policy('low', { priority: -1 }), policy('a')), 'a and b');
  assert.equal(decided(policy('b'), policy('a'), policy('web', { priority: 1 })), 'web');
});

test('a set is selected by kind, failure domain and labels together', () => {
  const chosen = (spec: BootImagePolicySpec, of: Partial<PolicySubject> = {}): boolean =>
    policyFor({ ...subject, ...of }, [policy('p', spec)]).policy !== undefined;
  assert.ok(chosen({ kinds: ['MachineDeployment', 'MachineSet'] }) && !chosen({ kinds: ['MachineDeployment'] }));
  assert.ok(chosen({ failureDomains: ['fd1', 'fd2'] }) && !chosen({ failureDomains: ['fd2'] }));
  assert.ok(!chosen({ failureDomains: ['fd1'] }, { failureDomain: undefined }));
  assert.ok(chosen({ selector: { matchLabels: { tier: 'web' } } }) && chosen({ selector: {} }));
  assert.ok(!chosen({ selector: { matchLabels: { tier: 'db' } } }));
  assert.ok(!chosen({ selector: { matchExpressions: [{ key: 'tier', operator: 'Exists' }] } }, { labels: undefined }));
});

test('a policy that cannot be followed selects what it can be read to select, and says why', () => {
  const broken = policy('broken', {
    priority: 5,
    failureDomains: ['fd1'],
    selector: { matchExpressions: [{ key: 'tier', operator: 'In', values: [] }] },
  });
  assert.equal(decided(policy('all'), broken), 'broken');
  assert.match(readPolicy(broken).fault?.message ?? '', /^spec\.selector: values of tier: must be specified/);
  assert.equal(policyFor({ ...subject, failureDomain: 'fd2' }, [broken]).policy, undefined);
  const never = readPolicy(policy('never', { windows: [{ schedule: '0 0 31 2 *', duration: '1h' }] }));
  assert.equal(never.fault?.reason, 'WindowNeverOpens');
  assert.equal(readPolicy(policy('odd', { hold: { until: 'soon', reason: 'x' } })).fault?.reason, 'HoldInvalid');
  assert.equal(readPolicy(policy('good', { hold: { until: '2026-08-02T00:00:00Z', reason: 'x' } })).fault, undefined);
});
