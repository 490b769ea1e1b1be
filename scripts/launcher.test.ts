import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { globSync } from 'node:fs';
import { cp, mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { root } from './command.ts';

interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program where no Node is to be found, in a folder that is not the checkout. */
function run(program: string, args: readonly string[], cwd: string): Promise<Ran> {
  const env = { PATH: '/usr/bin:/bin', HOME: cwd };
  return new Promise((resolve) => {
    execFile(program, [...args], { cwd, env }, (error, stdout, stderr) => {
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, stdout, stderr });
    });
  });
}

async function elsewhere(use: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'drydock-launcher-'));
  try {
    await use(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

test('TRUTH-7 the launchers run in any directory, through links, without a Node in PATH', async () => {
  await elsewhere(async (folder) => {
    const version = await run(join(root, 'drydock'), ['--version'], folder);
    assert.deepEqual([version.code, version.stderr], [0, '']);
    assert.match(version.stdout, /^\d+\.\d+\.\d+\n$/);
    const node = await run(join(root, 'drydock-node'), ['--help'], folder);
    assert.match(node.stdout, /startup-monitor/);
    await symlink(join(root, 'kubectl-drydock'), join(folder, 'kubectl-drydock'));
    const plugin = await run(join(folder, 'kubectl-drydock'), ['--help'], folder);
    assert.match(plugin.stdout, /^Usage: kubectl drydock /);
  });
});

test('OWN-20 kubectl_complete-drydock offers words, through a link to any of the launchers, and runs no verb', async () => {
  await elsewhere(async (folder) => {
    const called = join(folder, 'kubectl_complete-drydock');
    for (const target of ['kubectl_complete-drydock', 'drydock']) {
      await symlink(join(root, target), called);
      const { code, stdout } = await run(called, ['completion', ''], folder);
      assert.deepEqual([code, stdout], [0, 'bash\nzsh\nfish\n:4\n'], target);
      await rm(called);
    }
  });
});

test('TRUTH-7 a checkout that is not installed is told in words', async () => {
  await elsewhere(async (folder) => {
    await cp(join(root, 'drydock'), join(folder, 'drydock'));
    const { code, stderr } = await run(join(folder, 'drydock'), ['status'], folder);
    assert.equal(code, 1);
    assert.match(stderr, /^drydock: \S+ is not installed yet\. Run "make demo" there, or "npm ci"/);
  });
});

test('TRUTH-7 nobody is told to type npx drydock, which runs a package of strangers outside the checkout', async () => {
  const files = globSync(['*.md', '{docs,api,apps,packages,deploy,bench,scripts,test}/**/*.{md,ts,js,go,yaml,sh}'], {
    cwd: root,
    exclude: ['**/node_modules/**', '**/.cache/**', '**/*.test.ts'],
  });
  assert.ok(files.length > 500, `only ${files.length} files were seen`);
  const told: string[] = [];
  for (const file of files) {
    const text = await readFile(join(root, file), 'utf8');
    if (/\b(?:npx|npm exec|bunx|pnpm dlx|yarn dlx) (?:-\S+ )*(?:kubectl-)?drydock/.test(text)) told.push(file);
  }
  assert.deepEqual(told, []);
});
