import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { embeddedSpeaker } from '../../testing/conversations/conversation-speakers.ts';
import { createObjectServer } from './objects.ts';

const pod = { metadata: { name: 'p' }, spec: { containers: [{ name: 'c', image: 'i' }] } };

suite('limits that the embedded API server does not enforce', () => {
  const cases = [
    ['no limits', { metadata: { name: 'n' } }, undefined, 201, /"Pod"/],
    [
      ...(['a LimitRange of containers', { metadata: { name: 'n' } }] as const),
      { metadata: { name: 'l' }, spec: { limits: [{ type: 'Container', max: { cpu: '1' } }] } },
      ...([501, /does not enforce LimitRanges/] as const),
    ],
    [
      ...(['a LimitRange of claims', { metadata: { name: 'n' } }] as const),
      { metadata: { name: 'l' }, spec: { limits: [{ type: 'PersistentVolumeClaim', max: { storage: '1Gi' } }] } },
      ...([201, /"Pod"/] as const),
    ],
    ...(['privileged', 'baseline', 'restricted'] as const).map(
      (level) =>
        [
          `the level ${level}`,
          { metadata: { name: 'n', labels: { 'pod-security.kubernetes.io/enforce': level } } },
          undefined,
          level === 'privileged' ? 201 : 501,
          level === 'privileged' ? /"Pod"/ : new RegExp(`the Pod Security level ${level}`),
        ] as const,
    ),
  ] as const;
  for (const [name, namespace, limits, code, said] of cases) {
    test(`a pod in a namespace with ${name}`, async () => {
      await using server = createObjectServer();
      const speak = embeddedSpeaker(server);
      assert.equal((await speak({ method: 'POST', path: '/api/v1/namespaces', body: namespace })).code, 201);
      const path = '/api/v1/namespaces/n';
      if (limits !== undefined)
        assert.equal((await speak({ method: 'POST', path: `${path}/limitranges`, body: limits })).code, 201);
      const answer = await speak({ method: 'POST', path: `${path}/pods`, body: pod });
      assert.equal(answer.code, code);
      assert.match(JSON.stringify(answer.body), said);
    });
  }
});
