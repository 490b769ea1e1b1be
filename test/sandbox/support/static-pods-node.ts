import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const COMMAND = join(import.meta.dirname, '../../../apps/node/bin/drydock-node.js');

/** A `drydock node …` that was started. */
export interface NodeProcess {
  readonly child: ChildProcess;
  /** Until now. */
  readonly said: { readonly stdout: string; readonly stderr: string };
  /** Its exit code. */
  readonly done: Promise<number | null>;
}

/** Starts one; compiled code is kept in a folder. */
export function startNode(compiled: string, args: readonly string[]): NodeProcess {
  const child: ChildProcess = spawn(process.execPath, [COMMAND, ...args], {
    // As an image brings it: without compiled code the types are stripped at each start, and what does that stays in memory.
    env: { ...process.env, NODE_NAME: 'master-0', NODE_COMPILE_CACHE: compiled },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const said = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const)
    child[name]?.on('data', (chunk) => {
      said[name] += String(chunk);
    });
  return { child, said, done: once(child, 'close').then(([code]) => code as number | null) };
}

/** Waits until a check holds, and looks in between. */
export async function until(
  what: string,
  check: () => boolean,
  look: () => Promise<void> = async () => undefined,
): Promise<void> {
  const deadline = performance.now() + 60_000;
  while (!check()) {
    assert.ok(performance.now() < deadline, `${what} did not happen within 60 s`);
    await new Promise((resolve) => setTimeout(resolve, 20));
    await look();
  }
}

/** The manifest of a revision. */
export const staticPod = (revision: number): string =>
  JSON.stringify({
    kind: 'Pod',
    metadata: { name: 'p', namespace: 'pods', labels: { revision: String(revision) } },
    spec: { containers: [] },
  });

/** The directories of a node. */
export interface NodeFolders extends AsyncDisposable {
  readonly root: string;
  readonly at: (path: string) => string;
}

/** A node with revisions 6 to 8, of which 8 was just installed. */
export async function layOutNode(): Promise<NodeFolders> {
  const root = await mkdtemp(join(tmpdir(), 'drydock-node-'));
  const at = (path: string): string => join(root, path);
  for (const revision of [6, 7, 8]) {
    await mkdir(at(`res/p-pod-${revision}`), { recursive: true });
    await writeFile(at(`res/p-pod-${revision}/p-pod.yaml`), staticPod(revision));
  }
  await mkdir(at('man'));
  await writeFile(at('man/p-pod.yaml'), staticPod(8));
  await writeFile(at('man/p-startup-monitor-pod.yaml'), staticPod(8));
  return { root, at, [Symbol.asyncDispose]: () => rm(root, { recursive: true }) };
}
