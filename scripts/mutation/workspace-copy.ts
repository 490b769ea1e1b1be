import { spawn } from 'node:child_process';
import {
  cpSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A second checkout beside the real one, for changes that must never be seen in it. */
export interface WorkspaceCopy extends Disposable {
  readonly root: string;
  /** Replaces one file of the copy; the original keeps its own. */
  write(path: string, text: string): void;
  /** Runs test files there; resolves to whether all were green in time. */
  test(files: readonly string[], timeoutMs: number, signal?: AbortSignal): Promise<boolean>;
}

/** What is built or fetched anew; of a dependency everything is needed. */
const LEFT_OUT: ReadonlySet<string> = new Set(['.git', '.cache', 'dist']);
const DEPENDENCIES = 'node_modules';

/** Copies the checkout by hard links where the file system has them, which takes a second and no space. */
export function copyWorkspace(root: string, sandboxCache: string): WorkspaceCopy {
  const copy = mkdtempSync(join(tmpdir(), 'drydock-mutants-'));
  copyTree(root, copy, LEFT_OUT);
  return {
    root: copy,
    write: (path, text) => {
      const target = join(copy, path);
      // Never through the link.
      unlinkSync(target);
      writeFileSync(target, text);
    },
    test: (files, timeoutMs, signal) => runTests(copy, files, timeoutMs, sandboxCache, signal),
    [Symbol.dispose]: () => rmSync(copy, { recursive: true, force: true }),
  };
}

function copyTree(from: string, to: string, leftOut: ReadonlySet<string>): void {
  for (const name of readdirSync(from)) {
    if (leftOut.has(name)) continue;
    const [source, target] = [join(from, name), join(to, name)];
    const stat = lstatSync(source);
    if (stat.isSymbolicLink()) symlinkSync(readlinkSync(source), target);
    else if (stat.isDirectory()) {
      mkdirSync(target);
      copyTree(source, target, name === DEPENDENCIES ? new Set() : leftOut);
    } else link(source, target);
  }
}

function link(source: string, target: string): void {
  try {
    linkSync(source, target);
  } catch {
    cpSync(source, target);
  }
}

function runTests(
  cwd: string,
  files: readonly string[],
  timeoutMs: number,
  sandboxCache: string,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const child = spawn(
    process.execPath,
    ['--test', '--test-concurrency=1', `--test-timeout=${timeoutMs}`, '--test-reporter=dot', ...files],
    // A group of its own: what a test has started goes with it.
    { cwd, detached: true, stdio: 'ignore', env: { ...env, DRYDOCK_SANDBOX_CACHE: sandboxCache } },
  );
  const stop = (): void => {
    if (child.pid !== undefined && child.exitCode === null && child.signalCode === null)
      process.kill(-child.pid, 'SIGKILL');
  };
  const clock = setTimeout(stop, timeoutMs);
  signal?.addEventListener('abort', stop, { once: true });
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('exit', (code) => {
      clearTimeout(clock);
      signal?.removeEventListener('abort', stop);
      resolve(code === 0);
    });
  });
}
