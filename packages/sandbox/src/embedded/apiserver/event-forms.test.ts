import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { embeddedSpeaker } from '../../testing/conversations/conversation-speakers.ts';
import type { WatchEvent } from './contract.ts';
import { createObjectServer } from './objects.ts';

test('a watch of either group sees events of both, each in its own form', async () => {
  await using server = createObjectServer();
  const speak = embeddedSpeaker(server);
  const seen: Record<string, WatchEvent[]> = { '/api/v1': [], '/apis/events.k8s.io/v1': [] };
  const user = { username: 'admin', groups: [] };
  const { signal } = new AbortController();
  using watches = new DisposableStack();
  for (const [root, events] of Object.entries(seen)) {
    const path = `${root}/events?watch=true&resourceVersion=${server.version}`;
    const request = { method: 'GET', path, agent: 'drydock', user, signal };
    watches.use(await server.watch(request, { event: (event) => events.push(event), end: () => undefined }));
  }
  const about = { kind: 'Pod', name: 'a', namespace: 'default' };
  const core = { metadata: { name: 'core' }, involvedObject: about, message: 'said by the core group' };
  await speak({ method: 'POST', path: '/api/v1/namespaces/default/events', body: core });
  const grouped = {
    ...{
      metadata: { name: 'grouped' },
      regarding: about,
      note: 'said by the other',
      reason: 'Why',
      action: 'Do',
      type: 'Normal',
    },
    ...{ reportingController: 'a/b', reportingInstance: 'c', eventTime: '2026-01-01T00:00:00.000000Z' },
  };
  await speak({ method: 'POST', path: '/apis/events.k8s.io/v1/namespaces/default/events', body: grouped });
  for (let left = 100; left > 0 && (seen['/apis/events.k8s.io/v1']?.length ?? 0) < 2; left -= 1) await turn();
  const said = (root: string, field: string): unknown =>
    seen[root]?.map(({ type, object }) => [type, object['apiVersion'], object[field]]);
  const texts = ['said by the core group', 'said by the other'];
  assert.deepEqual(
    said('/api/v1', 'message'),
    texts.map((text) => ['ADDED', 'v1', text]),
  );
  assert.deepEqual(
    said('/apis/events.k8s.io/v1', 'note'),
    texts.map((text) => ['ADDED', 'events.k8s.io/v1', text]),
  );
});
