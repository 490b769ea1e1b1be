import assert from 'node:assert/strict';
import { test } from 'node:test';
import { at } from '../observe/json.ts';
import { TAINTED_KINDS, tainted, taintFault } from './bootstrap-taints.ts';

test('OWN-18 each kind has its taints in a place of its own; what would take their place, or is no list, is told', () => {
  const text = 'drydock.dev/canary=true:NoSchedule';
  assert.deepEqual(tainted('KThreesConfigTemplate', {}), { agentConfig: { nodeTaints: [text] } });
  assert.deepEqual(tainted('EKSConfigTemplate', { kubeletExtraArgs: { v: '2' } }), {
    kubeletExtraArgs: { v: '2', 'register-with-taints': text },
  });
  assert.deepEqual(tainted('EKSConfigTemplate', { kubeletExtraArgs: { 'register-with-taints': 'a=b:NoExecute' } }), {
    kubeletExtraArgs: { 'register-with-taints': `a=b:NoExecute,${text}` },
  });
  const faults: readonly (readonly [kind: string, spec: object, says: RegExp | undefined])[] = [
    ['TalosConfigTemplate', {}, /not known where a TalosConfigTemplate has its taints/],
    [
      'KThreesConfigTemplate',
      { agentConfig: { kubeletArgs: ['register-with-taints=a=b:NoSchedule'] } },
      /agentConfig\.kubeletArgs has/,
    ],
    [
      'RKE2ConfigTemplate',
      { agentConfig: { kubelet: { extraArgs: ['--register-with-taints=x'] } } },
      /kubelet\.extraArgs has/,
    ],
    ['RKE2ConfigTemplate', { agentConfig: { nodeTaints: 'a=b:NoSchedule' } }, /nodeTaints is no list/],
    ['EKSConfigTemplate', { kubeletExtraArgs: { 'register-with-taints': ['a'] } }, /is no text/],
    ['EKSConfigTemplate', { nodeType: 'al2023' }, /nodeType is al2023, for which the provider passes no taints/],
    ['EKSConfigTemplate', { nodeType: '' }, undefined],
    ['KubeadmConfigTemplate', {}, undefined],
    ['EKSConfigTemplate', { kubeletExtraArgs: { 'register-with-taints': 'a=b:NoExecute' } }, undefined],
  ];
  for (const [kind, spec, says] of faults)
    if (says === undefined) assert.equal(taintFault(kind, spec as never), undefined);
    else assert.match(taintFault(kind, spec as never) ?? '', says);
});

/** Fields as the definitions of the providers have them, below `spec.template.spec`: what was read, of which release, and in which versions it is served and the same. */
const DEFINED = [
  {
    ...{ kind: 'KubeadmConfigTemplate', of: 'cluster-api v1.14.0', versions: ['v1beta1', 'v1beta2'] },
    fields: {
      'joinConfiguration.nodeRegistration.taints': 'objects',
      'joinConfiguration.nodeRegistration.kubeletExtraArgs': 'args',
    },
  },
  {
    ...{ kind: 'RKE2ConfigTemplate', of: 'cluster-api-provider-rke2 v0.25.0', versions: ['v1beta1', 'v1beta2'] },
    fields: { 'agentConfig.nodeTaints': 'texts', 'agentConfig.kubelet.extraArgs': 'args' },
  },
  {
    ...{ kind: 'KThreesConfigTemplate', of: 'cluster-api-k3s v0.3.1', versions: ['v1beta1', 'v1beta2'] },
    fields: { 'agentConfig.nodeTaints': 'texts', 'agentConfig.kubeletArgs': 'args' },
  },
  {
    // A map of texts, each of which is an argument of the kubelet.
    ...{ kind: 'EKSConfigTemplate', of: 'cluster-api-provider-aws v2', versions: ['v1beta1', 'v1beta2'] },
    fields: { 'kubeletExtraArgs.register-with-taints': 'text' },
  },
] as const;

const TEXT = 'drydock.dev/canary=true:NoSchedule';
const VALUES = {
  objects: [{ key: 'drydock.dev/canary', value: 'true', effect: 'NoSchedule' }],
  texts: [TEXT],
  text: TEXT,
} as const;

test('OWN-18 the taint of a canary is written where the definitions of the providers have it, and nothing else is', () => {
  assert.deepEqual(DEFINED.map(({ kind }) => kind).toSorted(), [...TAINTED_KINDS].toSorted());
  for (const { kind, of: from, versions, fields } of DEFINED) {
    const of = `${from}, ${versions.join(' and ')}`;
    for (const [field, form] of Object.entries(fields) as readonly (readonly [
      string,
      keyof typeof VALUES | 'args',
    ])[]) {
      const path = field.split('.');
      if (form === 'args') {
        const [last = '', ...up] = path.toReversed();
        const args = up.reduce<object>((inner, key) => ({ [key]: inner }), {
          [last]: ['register-with-taints=a=b:NoExecute'],
        });
        assert.match(taintFault(kind, args as never) ?? '', /register-with-taints$/, `${of}: ${field}`);
        continue;
      }
      const made = tainted(kind, {});
      assert.deepEqual(at(made, path), VALUES[form], `${of}: ${field}`);
      const only = path.toReversed().reduce<unknown>((inner, key) => ({ [key]: inner }), VALUES[form]);
      assert.deepEqual(made, only, of);
    }
  }
});
