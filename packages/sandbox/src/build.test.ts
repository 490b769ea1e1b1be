import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { test } from 'node:test';
import { build, isBinaryOf } from './build.ts';
import { lockBuild } from './build-lock.ts';
import { crdDirectory, crdFolder } from './crd-copy.ts';
import { findCrdSet } from './crd-sets.ts';
import { SandboxError } from './errors.ts';
import { checkGo, compareGoVersions } from './go-tool.ts';
import { identityOf, stateOf } from './process-identity.ts';
import { scratchFolder } from './workdir.ts';

const withCode = (code: string, text: RegExp) => (error: unknown) =>
  error instanceof SandboxError && error.code === code && text.test(error.message);

/** Runs `body` with a `go` of our own first in PATH. */
async function withGo(script: string | undefined, body: (directory: string) => Promise<void>): Promise<void> {
  using directory = scratchFolder();
  const before = process.env['PATH'];
  if (script !== undefined) {
    writeFileSync(join(directory.path, 'go'), `#!/bin/sh\n${script}\n`);
    chmodSync(join(directory.path, 'go'), 0o755);
  }
  process.env['PATH'] = script === undefined ? directory.path : `${directory.path}${delimiter}${before}`;
  try {
    await body(directory.path);
  } finally {
    process.env['PATH'] = before;
  }
}

test('Go versions compare by number', () => {
  assert.ok(compareGoVersions('1.9', '1.24.13') < 0);
  assert.ok(compareGoVersions('1.24.9', '1.24.13') < 0);
  assert.ok(compareGoVersions('1.26rc1', '1.24.13') > 0);
  assert.equal(compareGoVersions('1.24.13', '1.24.13'), 0);
});

test('a new binary takes the place of older ones of its server, not of those whose names begin like it', () => {
  const hash = '0123456789ab';
  assert.equal(isBinaryOf('drydock-apiserver', `drydock-apiserver-${hash}`), true);
  assert.equal(isBinaryOf('drydock-apiserver', `drydock-apiserver-${hash}.unfinished.7`), true);
  assert.equal(isBinaryOf('drydock-apiserver', `drydock-apiserver-1.32-${hash}`), false);
  assert.equal(isBinaryOf('cluster-api', `cluster-api-provider-vsphere-${hash}`), false);
});

test('no Go, an old Go and a Go that only complains are told in words', async () => {
  await withGo(undefined, (cwd) => assert.rejects(checkGo(cwd), withCode('GoMissing', /Install Go 1\.24\.13/)));
  await withGo('echo go1.24.12', (cwd) =>
    assert.rejects(checkGo(cwd), withCode('GoTooOld', /answers: Go 1\.24\.12\./)),
  );
  await withGo('echo "unknown directive" >&2; exit 1', (cwd) =>
    assert.rejects(checkGo(cwd), withCode('GoTooOld', /unknown directive/)),
  );
  await withGo('echo go1.24.13', async (cwd) => assert.equal(await checkGo(cwd), '1.24.13'));
});

/** Runs `body` with an empty cache. */
async function withCache(body: (directory: string) => Promise<void>): Promise<void> {
  using cache = scratchFolder();
  const before = process.env['DRYDOCK_SANDBOX_CACHE'];
  process.env['DRYDOCK_SANDBOX_CACHE'] = cache.path;
  try {
    await body(cache.path);
  } finally {
    if (before === undefined) delete process.env['DRYDOCK_SANDBOX_CACHE'];
    else process.env['DRYDOCK_SANDBOX_CACHE'] = before;
  }
}

test('a failed build shows what the compiler said, leaves nothing half-made and no lock', async () => {
  await withCache(async (cache) => {
    await withGo('if [ "$1" = env ]; then echo go1.30.0; else echo "main.go:1: nonsense" >&2; exit 1; fi', () =>
      assert.rejects(
        build({ servers: ['drydock-vcenter'], crds: [], log: () => undefined }),
        withCode('BuildFailed', /main\.go:1: nonsense/),
      ),
    );
    assert.deepEqual(readdirSync(cache, { recursive: true }), ['bin']);
  });
});

test('standard CRD sets need no Go; sets that are fetched when they are named do', async () => {
  await withCache(() =>
    withGo(undefined, async () => {
      const log: string[] = [];
      await build({ servers: [], log: (line) => log.push(line) });
      assert.deepEqual(log, []);
      // Copied by the build, and unpacked when it is asked for.
      rmSync(crdDirectory(findCrdSet('openshift-4.14') ?? assert.fail('a set')), { recursive: true });
      const folder = crdFolder('openshift-4.14');
      assert.equal(readdirSync(folder).length, 7);
      for (const name of readdirSync(folder))
        assert.match(readFileSync(join(folder, name), 'utf8'), /kind: CustomResourceDefinition/);
      await assert.rejects(build({ servers: [], crds: ['keda-2.18.0'] }), withCode('GoMissing', /Install Go/));
    }),
  );
});

test('an unknown CRD set is refused with the known ones', async () => {
  await assert.rejects(build({ servers: [], crds: ['openshift-3'] }), withCode('BadInput', /openshift-4\.21/));
});

test('the lock keeps the second out until the first is done', async () => {
  using directory = scratchFolder();
  const file = join(directory.path, 'build.lock');
  const order: string[] = [];
  const first = await lockBuild(file);
  const second = lockBuild(file, { onWait: () => order.push('waits') }).then((lock) => {
    order.push('in');
    return lock;
  });
  while (order.length === 0) await new Promise(setImmediate);
  order.push('first leaves');
  first[Symbol.dispose]();
  (await second)[Symbol.dispose]();
  assert.deepEqual(order, ['waits', 'first leaves', 'in']);
  assert.deepEqual(readdirSync(directory.path), []);
});

test('the lock of a dead owner is taken over', async () => {
  using directory = scratchFolder();
  const file = join(directory.path, 'build.lock');
  const owner = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)']);
  await once(owner, 'spawn');
  const identity = identityOf(owner.pid ?? 0) ?? assert.fail('the owner has no identity');
  assert.equal(stateOf(identity), 'alive');
  writeFileSync(file, identity);
  const waiting = AbortSignal.timeout(300);
  await assert.rejects(lockBuild(file, { signal: waiting }), withCode('Aborted', /another build/));
  const exit = once(owner, 'exit');
  owner.kill('SIGKILL');
  await exit;
  assert.equal(stateOf(identity), 'dead');
  (await lockBuild(file))[Symbol.dispose]();
  assert.equal(existsSync(file), false);
});

test('an identity tells a reused pid and a foreign namespace from the owner', () => {
  const [pid, start, space] = (identityOf(process.pid) ?? '').split('-');
  assert.equal(stateOf(`${pid}-${start}-${space}`), 'alive');
  assert.equal(stateOf(`${pid}-1${start}-${space}`), 'dead');
  assert.equal(stateOf(`${pid}-${start}-1${space}`), 'unknown');
  assert.equal(stateOf('nonsense'), 'unknown');
});
