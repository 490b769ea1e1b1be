import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isInstallerName } from './names.ts';
import { resolveTemplate } from './resolve.ts';

test('BI-V153 a newer template is kept by default, and replaced by policy', () => {
  const state = { kind: 'present', name: 't', version: '9.8.20260802-0', isTemplate: true, ours: true } as const;
  const facts = {
    set: 's',
    reference: 't',
    referenced: state,
    computed: { kind: 'absent' },
    computedName: 'c',
    computedNamed: true,
    release: '418.94.202511191518-0',
  } as const;
  assert.equal(resolveTemplate({ ...facts, downgrade: 'keep' }).kind, 'skip');
  assert.equal(resolveTemplate({ ...facts, downgrade: 'replace' }).kind, 'publish');
});

test('where the reference leads nowhere, a computed template that is there is pointed at, also a newer one', () => {
  const facts = {
    set: 's',
    reference: 'gone',
    referenced: { kind: 'absent' },
    computedName: 'c',
    computedNamed: true,
    release: '9.8.20260802-0',
    downgrade: 'keep',
  } as const;
  const at = (version: string): string =>
    resolveTemplate({ ...facts, computed: { kind: 'present', name: 'c', version, isTemplate: true, ours: false } })
      .kind;
  assert.deepEqual(['9.8.20260802-0', '9.9.20260901-0', '9.6.20260512-0'].map(at), ['point', 'point', 'publish']);
});

test('OWN-1 OWN-2 in place of our template that somebody made a machine of, or that ran, a new one is made; a stranger is left alone', () => {
  const at = (ours: boolean): string => {
    const referenced = { kind: 'present', name: 't', version: '9.8.20260802-0', isTemplate: false, ours } as const;
    const facts = {
      set: 's',
      reference: 't',
      referenced,
      computed: { kind: 'absent' },
      computedName: 'c',
      computedNamed: true,
    } as const;
    return resolveTemplate({ ...facts, release: '9.8.20260802-0', downgrade: 'keep' }).kind;
  };
  assert.deepEqual([true, false].map(at), ['publish', 'current']);
  const version = '9.8.20260802-0';
  const ran = {
    kind: 'present',
    ...{ name: 't', version, isTemplate: true, ours: true },
    estranged: 'it was powered on since it was published',
  } as const;
  const facts = {
    set: 's',
    reference: 't',
    computedName: 'c',
    computedNamed: true,
    release: version,
    downgrade: 'keep',
  } as const;
  assert.equal(resolveTemplate({ ...facts, referenced: ran, computed: { kind: 'absent' } }).kind, 'publish');
  // Nor is it pointed at under the installer's name.
  const old = { ...ran, name: 'o', version: '9.6.20260512-0' } as const;
  assert.equal(resolveTemplate({ ...facts, referenced: old, computed: ran }).kind, 'publish');
  assert.equal(resolveTemplate({ ...facts, referenced: { kind: 'absent' }, computed: ran }).kind, 'publish');
});

test('installer names of all ages are recognised', () => {
  const domain = {
    name: 'fd1',
    region: 'r',
    zone: 'z',
    server: 'v',
    topology: { datacenter: '', computeCluster: '', datastore: '' },
  };
  const names = ['i-rhcos-fd1', 'i-rhcos', 'i-rhcos-r-z', 'i-rhcos-fd2', 'mine'];
  assert.deepEqual(
    names.map((name) => isInstallerName(name, 'i', domain)),
    [true, true, true, false, false],
  );
});

test('TRUTH-2 a machine under the name is called a machine, a template without a version a template', () => {
  const at = (isTemplate: boolean) => {
    const referenced = { kind: 'present', name: 't', version: undefined, isTemplate, ours: false } as const;
    const facts = {
      set: 's',
      reference: 't',
      referenced,
      computed: { kind: 'absent' },
      computedName: 'c',
      computedNamed: true,
    } as const;
    return () => resolveTemplate({ ...facts, release: '9.8.20260802-0', downgrade: 'keep' });
  };
  assert.throws(at(false), { code: 'NotATemplate', message: 't is a machine, not a template: t', retriable: false });
  assert.throws(at(true), { code: 'TemplateVersionUnknown' });
});
