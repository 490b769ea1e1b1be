import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';

// What is said of a command line, before any server or disk is needed.

const COMMAND = join(import.meta.dirname, '../bin/drydock-node.js');

async function run(
  args: readonly string[],
  more: Readonly<NodeJS.ProcessEnv> = {},
): Promise<{ readonly code: number; readonly said: string; readonly shown: string }> {
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  // Nobody's kubeconfig, and not in a cluster.
  const env = { PATH, NODE_COMPILE_CACHE, HOME: '/nonexistent', COLUMNS: '200', ...more };
  const child = spawn(process.execPath, [COMMAND, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let [said, shown] = ['', ''];
  child.stderr.on('data', (chunk) => {
    said += String(chunk);
  });
  child.stdout.on('data', (chunk) => {
    shown += String(chunk);
  });
  const [code] = (await once(child, 'close')) as [number];
  return { code, said, shown };
}

test('DU-D64 drydock node install: seven things are asked for, in this order, the cluster last; each is exit code 2', async () => {
  const flags = [
    '--revision=7',
    '--namespace=n',
    '--pod=p',
    '--configmaps=c',
    '--resource-dir=/r',
    '--pod-manifest-dir=/m',
  ];
  const [revision = '', namespace = '', pod = '', configmaps = '', ...dirs] = flags;
  const node = { NODE_NAME: 'node' };
  const steps: readonly (readonly [readonly string[], Readonly<Record<string, string>>, RegExp])[] = [
    [[], {}, /--revision is required/],
    [[revision], {}, /NODE_NAME is required/],
    [[revision], node, /--namespace is required/],
    [[revision, namespace], node, /--pod is required/],
    [[revision, namespace, pod], node, /--configmaps is required/],
    [[revision, namespace, pod, configmaps, ...dirs, '--timeout-duration=0'], node, /--timeout-duration cannot be 0/],
    [flags, node, /no cluster is configured.*--kubeconfig or KUBECONFIG/],
  ];
  for (const [args, env, wanted] of steps) {
    const { code, said } = await run(['install', ...args], env);
    assert.equal(code, 2, said);
    assert.match(said, wanted);
    assert.equal(said.trim().split('\n').length, 1, said);
  }
});

test('drydock node: what the other verbs miss is named before a server is asked', async () => {
  const cases: readonly (readonly [readonly string[], RegExp])[] = [
    [['cert-sync'], /--destination-dir is required/],
    [['cert-sync', '--destination-dir=/d'], /--namespace or env var POD_NAMESPACE is required/],
    [['cert-sync', '--destination-dir=/d', '-n=ns'], /--namespace: "=ns" is no name/],
    [['startup-monitor', '--revision=7'], /--resource-dir is required/],
    [['prune'], /--max-eligible-revision must be greater than 0/],
    [['recover', '--resource-dir=/r'], /--static-pod-name is required/],
    [['doctor'], /at least one of --resource-dir/],
    [['install', '--timeout-duration=2d'], /expected a duration such as 120s/],
    [['nothing'], /unknown command 'nothing'/],
    // As an operator's pod has it.
    [['install', '-v=4', '--revision=7'], /NODE_NAME is required/],
    [['prune', '-v=4'], /--max-eligible-revision must be/],
  ];
  for (const [args, wanted] of cases) {
    const { code, said } = await run(args);
    assert.equal(code, 2, said);
    assert.match(said, wanted);
  }
});

test('drydock node: help shows what is required and the defaults in words', async () => {
  for (const verb of ['install', 'cert-sync', 'prune', 'startup-monitor', 'doctor', 'recover']) {
    const { code, shown } = await run([verb, '--help']);
    assert.equal(code, 0);
    assert.doesNotMatch(shown, /default: (""|\[\]|\d+\))/, verb);
  }
  assert.match((await run(['install', '--help'])).shown, /time for the work \(default: 120s\)/);
});

test('drydock node: compiled code is kept for the next start, in a folder of the user alone', async () => {
  const home = await mkdtemp(join(tmpdir(), 'home-'));
  try {
    assert.equal(
      (await run(['doctor', `--resource-dir=${home}`], { HOME: home, NODE_COMPILE_CACHE: undefined })).code,
      0,
    );
    const folder = join(home, '.cache', 'drydock', 'compiled');
    assert.equal((await stat(folder)).mode & 0o777, 0o700);
    const kept = await readdir(folder, { recursive: true });
    assert.ok(kept.length > 50, `${kept.length} files`);
    // A folder that others may write to is not trusted.
    await rm(join(home, '.cache'), { recursive: true });
    await mkdir(folder, { recursive: true });
    await chmod(folder, 0o777);
    assert.equal(
      (await run(['doctor', `--resource-dir=${home}`], { HOME: home, NODE_COMPILE_CACHE: undefined })).code,
      0,
    );
    assert.deepEqual(await readdir(folder), []);
  } finally {
    await rm(home, { recursive: true });
  }
});

test("TRUTH-8 drydock node: library-go's names of the commands, and the flags that operators put in front of everything", async () => {
  const cases: readonly (readonly [readonly string[], RegExp])[] = [
    [['installer', '-v=2', '--logtostderr', '--vmodule=a=1,b=2', '--revision=7'], /NODE_NAME is required/],
    [['cert-syncer', '--logtostderr=true', '--stderrthreshold=2', '--destination-dir=/d'], /--namespace or env var/],
    [['startup-monitor', '--alsologtostderr', '--log_dir=/var/log', '--revision=7'], /--resource-dir is required/],
    [['prune', '--exchange=auto'], /unknown option '--exchange=auto'/],
    [['install', '--exchange=maybe'], /Allowed choices are require, auto/],
    [['cert-sync', '--stall-duration=0'], /expected a duration between 1ms and 500h/],
  ];
  for (const [args, wanted] of cases) {
    const { code, said } = await run(args);
    assert.equal(code, 2, said);
    assert.match(said, wanted);
  }
});

test("TRUTH-8 drydock node cert-sync: the lists come from flags, the pod's environment or a file, in this order", async () => {
  const dir = await mkdtemp(join(tmpdir(), 'lists-'));
  try {
    const file = join(dir, 'lists.json');
    const lists = async (content: string, flags: readonly string[], env: Readonly<Record<string, string>> = {}) => {
      await writeFile(file, content);
      const more = { CERT_SYNC_LISTS: file, POD_NAMESPACE: 'n', ...env };
      return run(['cert-sync', '--destination-dir=/d', ...flags], more);
    };
    // A name that no object can have shows where the list came from.
    const cases: readonly (readonly [string, readonly string[], Readonly<Record<string, string>>, RegExp])[] = [
      ['{"secrets": ["From_File"]}', [], {}, /"From_File" is no name/],
      ['{"secrets": ["From_File"]}', [], { CERT_SYNC_SECRETS: 'a,From_Env' }, /"From_Env" is no name/],
      ['{}', ['--secrets=From_Flag'], { CERT_SYNC_SECRETS: 'From_Env' }, /"From_Flag" is no name/],
      ['{}', [], { CERT_SYNC_OPTIONAL_CONFIGMAPS: 'From_Env' }, /"From_Env" is no name/],
      ['{', [], {}, /--lists ".*lists.json": .*JSON.*Expected JSON such as/],
      ['{"secret": []}', [], {}, /"secret" is none of the lists/],
      ['{"secrets": [1]}', [], {}, /"secrets" is no list of names/],
      ['[]', [], {}, /it is no object/],
      ['{}', ['--lists=/nowhere/lists'], {}, /--lists "\/nowhere\/lists": ENOENT/],
    ];
    for (const [content, flags, env, wanted] of cases) {
      const { code, said } = await lists(content, flags, env);
      assert.equal(code, 2, said);
      assert.match(said, wanted);
    }
  } finally {
    await rm(dir, { recursive: true });
  }
});

test('SAFE-11 drydock node: where others could give the place of the folder with compiled code to another one, none is kept', async () => {
  const open = await mkdtemp(join(tmpdir(), 'open-'));
  try {
    const home = join(open, 'a', 'home');
    await mkdir(home, { recursive: true });
    await symlink(home, join(open, 'link'));
    const kept = async (at: string): Promise<boolean> => {
      await rm(join(home, '.cache'), { recursive: true, force: true });
      await run(['doctor', `--resource-dir=${home}`], { HOME: at, NODE_COMPILE_CACHE: undefined });
      return (await readdir(home)).includes('.cache');
    };
    for (const at of [home, join(open, 'link')]) {
      assert.equal(await kept(at), true, at);
      await chmod(join(open, 'a'), 0o777);
      assert.equal(await kept(at), false, at);
      await chmod(join(open, 'a'), 0o755);
    }
  } finally {
    await rm(open, { recursive: true });
  }
});

test('FIND-14: drydock-node cert-sync with nothing to sync is refused, and startup-monitor takes a probe or says which there are', async () => {
  const empty = await run(['cert-sync', '--namespace=n', '--destination-dir=/certs']);
  assert.deepEqual([empty.code, /no object is listed: give --secrets/.test(empty.said)], [2, true], empty.said);
  for (const text of ['nothing', 'exec:', 'ftp://localhost/'])
    assert.match(
      (await run(['startup-monitor', `--readiness=${text}`])).said,
      /expected kube-apiserver, pod, an http or https address, or exec:COMMAND/,
    );
  for (const text of ['pod', 'kube-apiserver', 'https://localhost:2379/health', 'exec:/bin/true -x'])
    assert.doesNotMatch((await run(['startup-monitor', `--readiness=${text}`])).said, /expected kube-apiserver/);
});
