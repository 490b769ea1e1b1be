import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Infrastructure, Secret } from '@drydock/api';
import { ApiError, type Change, keyText } from '@drydock/kube';
import { credentialSecrets } from '../observe/credential-secrets.ts';
import { type PlatformWatch, watchOfPlatform } from './platform-watch.ts';

interface Rig {
  readonly watch: PlatformWatch<Secret>;
  /** By `namespace/name`, as long as it is watched. */
  readonly open: Map<string, { readonly refuse: (error: unknown) => void; readonly tell: (secret: Secret) => void }>;
}

function rig(type: string): Rig {
  const open: Rig['open'] = new Map();
  const now = { metadata: { name: 'cluster' }, status: { platformStatus: { type } } } as Infrastructure;
  const infrastructures = {
    synced: Promise.resolve(),
    subscribe: (on: (change: Change<Infrastructure>) => void): Disposable => {
      on({ key: { name: 'cluster' }, now, initial: true });
      return { [Symbol.dispose]: () => undefined };
    },
  };
  const watch = watchOfPlatform<Secret>(infrastructures, credentialSecrets, (key, refuse) => {
    const listeners = new Set<(change: Change<Secret>) => void>();
    const { promise: synced, resolve } = Promise.withResolvers<void>();
    let found: Secret | undefined;
    open.set(keyText(key), {
      refuse,
      tell: (secret) => {
        found = secret;
        for (const listener of listeners) listener({ key, now: secret, initial: true });
        resolve();
      },
    });
    return {
      synced,
      get: () => found,
      subscribe: (on) => {
        listeners.add(on);
        return { [Symbol.dispose]: () => void listeners.delete(on) };
      },
      [Symbol.asyncDispose]: async () => void open.delete(keyText(key)),
    };
  });
  return { watch, open };
}

const forbidden = new ApiError({ code: 'Forbidden', action: 'list', said: 'no', status: 403 });
const ours = { namespace: 'drydock', name: 'drydock-cloud-credentials' };
const secret = (metadata: Secret['metadata']): Secret => ({ metadata });

async function isSynced({ watch }: Rig): Promise<boolean> {
  let synced = false;
  void watch.synced.then(() => {
    synced = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  return synced;
}

test('the Secrets of the cluster’s platform are watched, and of no other', async () => {
  for (const [type, keys] of [
    ['VSphere', ['kube-system/vsphere-creds']],
    ['GCP', ['drydock/drydock-cloud-credentials', 'openshift-machine-api/gcp-cloud-credentials']],
    ['OpenStack', []],
    ['constructor', []],
  ] as const) {
    const { watch, open } = rig(type);
    assert.deepEqual([...open.keys()], keys);
    await watch[Symbol.asyncDispose]();
    assert.equal(open.size, 0);
  }
});

test('on a cloud one that may not be read is one that is not there; on vSphere, and after any other failure, it is waited for', async () => {
  const cloud = rig('GCP');
  cloud.open.get('drydock/drydock-cloud-credentials')?.tell(secret(ours));
  const theirs = cloud.open.get('openshift-machine-api/gcp-cloud-credentials');
  theirs?.refuse(new ApiError({ code: 'ServerError', action: 'list', said: 'no', status: 500 }));
  assert.equal(await isSynced(cloud), false);
  theirs?.refuse(forbidden);
  assert.equal(await isSynced(cloud), true);
  assert.deepEqual(cloud.watch.get(ours)?.metadata, ours);
  const vsphere = rig('VSphere');
  vsphere.open.get('kube-system/vsphere-creds')?.refuse(forbidden);
  assert.equal(await isSynced(vsphere), false);
});

test('a change of a Secret is told to all who listen, until they stop', () => {
  const { watch, open } = rig('GCP');
  const told: (string | undefined)[] = [];
  const listening = watch.subscribe(({ now }) => void told.push(now?.metadata.name));
  open.get('drydock/drydock-cloud-credentials')?.tell(secret(ours));
  listening[Symbol.dispose]();
  open.get('drydock/drydock-cloud-credentials')?.tell(secret(ours));
  assert.deepEqual(told, [ours.name]);
});
