import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import type { Spoken } from '../../testing/conversations/conversation-player.ts';
import { embeddedSpeaker } from '../../testing/conversations/conversation-speakers.ts';
import { createObjectServer } from './objects.ts';

const MAPS = '/api/v1/namespaces/default/configmaps';

interface Made {
  readonly metadata: { readonly name: string; readonly uid: string; readonly ownerReferences?: readonly unknown[] };
}

async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  for (let left = 2000; left > 0; left -= 1) {
    if (await holds()) return;
    await turn();
  }
  assert.fail(`${what} did not happen`);
}

suite('what kube-controller-manager does for all objects', () => {
  async function cluster(): Promise<
    {
      readonly call: (method: string, path: string, body?: unknown) => Promise<Spoken>;
      readonly make: (name: string, owner?: Made, more?: object) => Promise<Made>;
      readonly gone: (path: string) => Promise<void>;
    } & AsyncDisposable
  > {
    const server = createObjectServer({ controllers: { rootCa: 'a certificate' } });
    const speak = embeddedSpeaker(server);
    const call = (method: string, path: string, body?: unknown): Promise<Spoken> => speak({ method, path, body });
    return {
      call,
      make: async (name, owner, more = {}) => {
        const reference = owner && [
          {
            apiVersion: 'v1',
            kind: 'ConfigMap',
            name: owner.metadata.name,
            uid: owner.metadata.uid,
            blockOwnerDeletion: true,
          },
        ];
        const metadata = { name, ...(reference === undefined ? {} : { ownerReferences: reference }), ...more };
        const { code, body } = await call('POST', MAPS, { metadata });
        assert.equal(code, 201, JSON.stringify(body));
        return body as Made;
      },
      gone: (path) => until(`the end of ${path}`, async () => (await call('GET', path)).code === 404),
      [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
    };
  }

  test('dependents go after their last owner, and not before', async () => {
    await using one = await cluster();
    const owner = await one.make('owner');
    const middle = await one.make('middle', owner);
    await one.make('leaf', middle);
    await one.make('other');
    await one.call('DELETE', `${MAPS}/owner`);
    await one.gone(`${MAPS}/leaf`);
    assert.equal((await one.call('GET', `${MAPS}/other`)).code, 200);
  });

  test('what names an owner that never was goes', async () => {
    await using one = await cluster();
    await one.make('lost', { metadata: { name: 'nobody', uid: '00000000-0000-0000-0000-000000000000' } });
    await one.gone(`${MAPS}/lost`);
  });

  test('an owner that is deleted in the foreground waits for its dependents', async () => {
    await using one = await cluster();
    const owner = await one.make('owner');
    await one.make('held', owner, { finalizers: ['drydock.dev/held'] });
    await one.call('DELETE', `${MAPS}/owner`, { propagationPolicy: 'Foreground' });
    await until('the deletion of the dependent', async () => {
      const { body } = await one.call('GET', `${MAPS}/held`);
      return 'deletionTimestamp' in (body as Made).metadata;
    });
    assert.equal((await one.call('GET', `${MAPS}/owner`)).code, 200);
    const patch = { method: 'PUT', path: `${MAPS}/held` };
    await one.call(patch.method, patch.path, { metadata: { name: 'held' } });
    await one.gone(`${MAPS}/owner`);
  });

  test('orphans stay, without their owner', async () => {
    await using one = await cluster();
    const owner = await one.make('owner');
    await one.make('orphan', owner);
    await one.call('DELETE', `${MAPS}/owner`, { propagationPolicy: 'Orphan' });
    await one.gone(`${MAPS}/owner`);
    const { body } = await one.call('GET', `${MAPS}/orphan`);
    assert.equal((body as Made).metadata.ownerReferences, undefined);
  });

  test('a namespace is furnished at its birth, and goes with all that is in it', async () => {
    await using one = await cluster();
    await one.call('POST', '/api/v1/namespaces', { metadata: { name: 'shop' } });
    const inside = '/api/v1/namespaces/shop';
    await until(
      'its ServiceAccount',
      async () => (await one.call('GET', `${inside}/serviceaccounts/default`)).code === 200,
    );
    await until('its CA', async () => (await one.call('GET', `${inside}/configmaps/kube-root-ca.crt`)).code === 200);
    await one.call('POST', `${inside}/secrets`, { metadata: { name: 'kept', finalizers: ['drydock.dev/kept'] } });
    await one.call('DELETE', inside);
    await one.gone(`${inside}/configmaps/kube-root-ca.crt`);
    assert.equal((await one.call('GET', inside)).code, 200);
    await one.call('PUT', `${inside}/secrets/kept`, { metadata: { name: 'kept' } });
    await one.gone(inside);
  });
});
