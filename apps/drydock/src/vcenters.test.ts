import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import type { Secret } from '@drydock/api';
import { type TemplateStore, templateStore } from '@drydock/templates';
import { memoryOva, testPlacement, testWish } from '@drydock/templates/testing';
import { loginBudget } from '@drydock/vsphere';
import { type MemoryInventory, memoryInventory, simulatedFault } from '@drydock/vsphere/testing';
import { type VCenters, vcenters } from './vcenters.ts';

const server = testPlacement().server;
const secretOf = (password: string): Secret => ({
  metadata: { namespace: 'kube-system', name: 'vsphere-creds', uid: 'u', resourceVersion: password },
  data: {
    [`${server}.username`]: Buffer.from('u').toString('base64'),
    [`${server}.password`]: Buffer.from(password).toString('base64'),
  },
});

interface Rig {
  readonly inventory: MemoryInventory;
  readonly servers: VCenters;
  readonly store: TemplateStore;
  /** `password` of each login, `logout password`. */
  readonly log: string[];
  readonly calls: string[];
  readonly sessions: number[];
  secret: Secret | undefined;
  /** Passwords that the server takes. */
  readonly valid: Set<string>;
  clock: number;
}

function rig(): Rig {
  const inventory = memoryInventory({ tags: [{ name: 'infra', category: 'openshift-infra', id: 'urn:1' }] });
  const log: string[] = [];
  const calls: string[] = [];
  const sessions: number[] = [];
  const logins = loginBudget({ date: () => made.clock });
  const servers = vcenters({
    // Logs in before its first call, as the real client does.
    connect: (_, credentials) => {
      const client = inventory.client();
      let login: Promise<string> | undefined;
      const ready = async (): Promise<string> => {
        const who = await credentials();
        return logins.attempt(server, who, async () => {
          const { password } = who;
          log.push(password);
          if (!made.valid.has(password)) throw simulatedFault('InvalidLogin', 'Login', server);
          return password;
        });
      };
      return new Proxy(client, {
        get: (_client, name) => {
          const value: unknown = Reflect.get(client, name);
          if (name === Symbol.asyncDispose) {
            return async () => {
              if (login !== undefined) log.push(`logout ${await login}`);
              await client[Symbol.asyncDispose]();
            };
          }
          if (typeof value !== 'function') return value;
          return async (...args: readonly unknown[]): Promise<unknown> => {
            login ??= ready();
            await login.catch((error: unknown) => {
              login = undefined;
              throw error;
            });
            return Reflect.apply(value, client, args);
          };
        },
      });
    },
    secret: () => made.secret,
    metrics: {
      vcenterCall: (method, code) => void calls.push(`${method} ${code}`),
      vcenterSessions: (_, count) => void sessions.push(count),
    },
  });
  const store = templateStore({ vcenters: servers.of, cacheDir: '/nowhere', ovas: memoryOva() });
  const made: Rig = {
    inventory,
    servers,
    store,
    log,
    calls,
    sessions,
    secret: secretOf('old'),
    valid: new Set(['old', 'new']),
    clock: 0,
  };
  return made;
}

const inspect = (made: Rig): Promise<unknown> =>
  made.servers.during(server, () => made.store.inspect(testPlacement(), 'any'));

test('a rotated Secret is used at once; an upload ends in the session in which it began, which is then logged out', async () => {
  const made = rig();
  const half = Promise.withResolvers<void>();
  const go = Promise.withResolvers<void>();
  const uploader: string[] = [];
  made.inventory.onCall = async (method, phase, _, { client }) => {
    if (method.startsWith('lease.') && phase === 'before') uploader.push(client.id);
    if (method !== 'lease.upload.half' || phase !== 'before') return;
    half.resolve();
    await go.promise;
  };
  const published = made.servers.during(server, () => made.store.publish(testWish(), { holderIsLive: () => true }));
  await half.promise;
  assert.deepEqual(made.log, ['old']);

  made.secret = secretOf('new');
  await inspect(made);
  assert.deepEqual(made.log, ['old', 'new']);
  assert.equal(made.sessions.at(-1), 2);

  go.resolve();
  assert.equal((await published).uploads, 1);
  assert.deepEqual(new Set(uploader).size, 1);
  assert.equal(made.sessions.at(-1), 1);
  // The logout is nobody's wait.
  for (let turn = 0; made.log.length < 3 && turn < 1000; turn++) await setImmediate();
  assert.deepEqual(made.log, ['old', 'new', 'logout old']);
  await made.servers[Symbol.asyncDispose]();
  assert.deepEqual([made.log.at(-1), made.sessions.at(-1)], ['logout new', 0]);
});

test('control: work that is not told loses its session to the rotation', async () => {
  const made = rig();
  made.inventory.onCall = async (method, phase) => {
    if (method !== 'lease.upload.half' || phase !== 'before') return;
    made.secret = secretOf('new');
    await inspect(made);
  };
  await assert.rejects(made.store.publish(testWish(), { holderIsLive: () => true }));
});

test('a Secret that is written again with the same credentials changes nothing', async () => {
  const made = rig();
  await inspect(made);
  made.secret = secretOf('old');
  await inspect(made);
  assert.deepEqual(made.log, ['old']);
});

test('SAFE-5 refused credentials are shown twice, then once in half an hour, but other ones at once', async () => {
  const made = rig();
  made.secret = secretOf('wrong');
  const refused = (error: unknown): boolean =>
    /refused u with the password of Secret kube-system\/vsphere-creds/.test(String(error));
  for (let i = 0; i < 4; i++) await assert.rejects(inspect(made), refused);
  assert.deepEqual(made.log, ['wrong', 'wrong']);
  made.clock += 31 * 60_000;
  for (let i = 0; i < 3; i++) await assert.rejects(inspect(made), refused);
  assert.deepEqual(made.log, ['wrong', 'wrong', 'wrong']);
  made.secret = secretOf('new');
  await inspect(made);
  assert.deepEqual(made.log.slice(3), ['new']);
  assert.ok(made.calls.includes('instanceUuid VIM_LOGIN_REFUSED') && made.calls.includes('findByPath OK'));
});

test('a key that the Secret lacks is named, without what the Secret has', async () => {
  const made = rig();
  made.secret = { ...secretOf('hidden'), data: { [`${server}.password`]: 'aGlkZGVu' } };
  await assert.rejects(inspect(made), (error: Error) => {
    assert.match(error.message, /secret kube-system\/vsphere-creds has no key vcenter\.test\.username/);
    assert.ok(!error.message.includes('hidden'));
    return true;
  });
});
