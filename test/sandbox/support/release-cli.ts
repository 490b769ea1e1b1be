import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';

const drydock = resolve(import.meta.dirname, '../../../apps/drydock/bin/drydock.js');

/** What the command ended with. */
export interface Ran {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** Runs `drydock release …`. `heard` gets what it says on stderr so far, and can interrupt it. */
export async function runRelease(
  args: readonly string[],
  heard: (said: string, interrupt: () => void) => void = () => undefined,
): Promise<Ran> {
  const child = spawn(process.execPath, [drydock, 'release', ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  let err = '';
  let interrupted = false;
  child.stderr.setEncoding('utf8').on('data', (said: string) => {
    err += said;
    heard(err, () => {
      // A second one would kill it.
      if (!interrupted) child.kill('SIGINT');
      interrupted = true;
    });
  });
  const closed = once(child, 'close') as Promise<[number | null]>;
  const out = await text(child.stdout);
  const [code] = await closed;
  return { code, out, err };
}

/** Writes a payload as a folder: each object in a file of its own. */
export function payloadFolder(folder: string, version: string, files: Readonly<Record<string, object>>): string {
  const all: Readonly<Record<string, object>> = {
    'release-metadata': { kind: 'cincinnati-metadata-v0', version, previous: [] },
    'image-references': {
      ...{ apiVersion: 'image.openshift.io/v1', kind: 'ImageStream' },
      ...{ metadata: { name: version }, spec: { tags: [] } },
    },
    ...files,
  };
  for (const name of ['manifests', 'release-manifests']) mkdirSync(join(folder, name), { recursive: true });
  for (const [name, object] of Object.entries(all))
    writeFileSync(join(folder, 'release-manifests', name), JSON.stringify(object));
  return folder;
}
