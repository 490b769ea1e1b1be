import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadPayload } from '../payload/payload.ts';
import { manifestText, payloadFiles } from '../testing/payload-files.ts';
import { type Audience, openshiftAudience } from './annotations.ts';
import { capabilitiesFor, implicitlyEnabled, withImplicit } from './capabilities.ts';
import { select } from './selection.ts';

const profile = { 'include.release.openshift.io/self-managed-high-availability': 'true' };
const manifestsOf = (...texts: readonly string[]) =>
  loadPayload(
    payloadFiles(Object.fromEntries(texts.map((text, at) => [`release-manifests/0000_10_a_${at}.yaml`, text]))),
  ).manifests;
/** Why a manifest is left out; undefined where it is not. */
const why = (annotations: Readonly<Record<string, string>>, audience: Partial<Audience> = {}, kind = 'ConfigMap') =>
  select(manifestsOf(manifestText(kind, 'a', annotations)), { audience: { ...openshiftAudience, ...audience } })
    .excluded[0]?.why;

test('RB-R6 one object in two files is refused with both, unless one of them is for somebody else', () => {
  const twice = manifestsOf(manifestText('ConfigMap', 'a'), manifestText('ConfigMap', 'a'));
  assert.throws(() => select(twice, { audience: openshiftAudience }), {
    code: 'DUPLICATE',
    message:
      /^ConfigMap a is in release-manifests\/0000_10_a_0\.yaml:1 and in release-manifests\/0000_10_a_1\.yaml:1\. Leave one of them out/,
  });
  const forOthers = manifestsOf(
    manifestText('ConfigMap', 'a'),
    manifestText('ConfigMap', 'a', { ...profile, 'release.openshift.io/feature-set': 'TechPreviewNoUpgrade' }),
  );
  assert.equal(select(forOthers, { audience: openshiftAudience }).included.length, 1);
});

test('RB-R7 only what says "true" for the profile is included', () => {
  assert.match(why({}) ?? '', /no annotation/);
  assert.match(
    why({ 'include.release.openshift.io/self-managed-high-availability': 'yes' }) ?? '',
    /does not include self-managed/,
  );
  assert.equal(why(profile), undefined);
  assert.match(
    why({ ...profile, 'exclude.release.openshift.io/self-managed-high-availability': 'true' }) ?? '',
    /excludes/,
  );
  assert.equal(why({}, { profile: undefined }), undefined, 'a payload of others need not say for whom it is');
});

test('RB-R8 feature sets and gates', () => {
  const [set, gate] = ['release.openshift.io/feature-set', 'release.openshift.io/feature-gate'];
  assert.throws(() => why({ ...profile, [set]: 'Default', [gate]: 'A' }), {
    code: 'BAD_ANNOTATION',
    message: /0000_10_a_0\.yaml:1 has both/,
  });
  assert.match(
    why({ ...profile, [set]: 'TechPreviewNoUpgrade,Bogus' }, { featureSet: 'TechPreviewNoUpgrade' }) ?? '',
    /Bogus, which is not known/,
  );
  assert.equal(why({ ...profile, [set]: '' }), undefined);
  assert.match(
    why({ ...profile, [set]: 'Default' }, { featureSet: 'TechPreviewNoUpgrade' }) ?? '',
    /feature set Default/,
  );
  assert.equal(why({ ...profile, [gate]: 'A,-B' }, { gates: new Set(['A']) }), undefined);
  assert.match(why({ ...profile, [gate]: 'A,-B' }, { gates: new Set(['A', 'B']) }) ?? '', /gate B is on/);
  assert.match(why({ ...profile, [gate]: 'A' }) ?? '', /gate A is off/);
});

test('the major version tells apart definitions and feature gates, and nothing else', () => {
  const crd = 'apiextensions.k8s.io/v1 CustomResourceDefinition';
  const major = (text: string) => ({ ...profile, 'release.openshift.io/major-version': text });
  assert.equal(why(major('4,5'), {}, crd), undefined);
  assert.match(why(major('5'), {}, crd) ?? '', /major version 5/);
  assert.match(why(major('-4'), {}, crd) ?? '', /major version -4/);
  assert.equal(why(major('-5'), {}, crd), undefined);
  assert.equal(why(major('5'), {}), undefined);
  assert.throws(() => why(major('four'), {}, crd), /has four, which is no number/);
});

test('RB-R9 all capabilities of a manifest must be enabled; an unknown one is never, but where all count as enabled', () => {
  const named = (name: string) =>
    manifestsOf(manifestText('ConfigMap', 'a', { ...profile, 'capability.openshift.io/name': name }));
  const capabilities = capabilitiesFor({ baseline: 'None', additional: ['Storage'] }, []);
  const reason = (name: string) => select(named(name), { audience: openshiftAudience, capabilities }).excluded[0]?.why;
  assert.match(reason('Storage+CSISnapshot') ?? '', /CSISnapshot is not enabled/);
  assert.equal(reason('Storage'), undefined);
  assert.match(reason('NeverHeardOf') ?? '', /NeverHeardOf is not known/);
  assert.equal(select(named('NeverHeardOf'), { audience: openshiftAudience }).included.length, 1);
});

test('an override takes an object out, a word for delete that is no "true" is refused', () => {
  const manifests = manifestsOf(manifestText('ConfigMap', 'a'));
  const override = { group: '', kind: 'ConfigMap', namespace: '', name: 'a', unmanaged: true };
  const { excluded } = select(manifests, { audience: openshiftAudience, overrides: [override] });
  assert.match(excluded[0]?.why ?? '', /an override/);
  const remove = manifestsOf(manifestText('ConfigMap', 'a', { ...profile, 'release.openshift.io/delete': 'True' }));
  assert.throws(() => select(remove, { audience: openshiftAudience }), {
    code: 'BAD_ANNOTATION',
    message: /neither absent nor "true"/,
  });
});

test('RB-R17 an object that is managed today does not lose its manager when it becomes optional', () => {
  const optional = { ...profile, 'capability.openshift.io/name': 'Build' };
  const current = manifestsOf(manifestText('ConfigMap', 'a'));
  const next = manifestsOf(
    manifestText('ConfigMap', 'a', optional),
    manifestText('ConfigMap', 'new', { ...profile, 'capability.openshift.io/name': 'Console' }),
  );
  const before = capabilitiesFor({ baseline: 'None' }, []);
  const implied = implicitlyEnabled(current, next, before);
  assert.deepEqual(implied, ['Build'], 'what is not there today needs no manager');
  const after = withImplicit(before, implied);
  assert.deepEqual([after.enabled, after.implicit], [['Build'], ['Build']]);
});

test('RB-R18 a capability that nobody asks for any more stays enabled, and is told as implicit', () => {
  const { enabled, implicit } = capabilitiesFor(
    { baseline: 'v4.11', additional: ['Storage'] },
    ['Console', 'Storage'],
    ['Ingress'],
  );
  assert.deepEqual(enabled, ['Console', 'Ingress', 'Storage', 'baremetal', 'marketplace', 'openshift-samples']);
  assert.deepEqual(implicit, ['Console', 'Ingress']);
});
