import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

/** Builds `bench/peers/cmd/<name>` and returns the binary's path. Go's own cache makes a second call take a second. */
export async function buildPeer(name: string, signal: AbortSignal): Promise<string> {
  const output = join(import.meta.dirname, '.cache', 'peers', name);
  const args = ['build', '-mod=readonly', '-buildvcs=false', '-trimpath', '-o', output, `./cmd/${name}`];
  const child = spawn('go', args, {
    cwd: join(import.meta.dirname, 'peers'),
    env: { ...process.env, GOWORK: 'off', CGO_ENABLED: '0' },
    stdio: ['ignore', 'ignore', 'inherit'],
    signal,
  });
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0)
    throw new Error(`bench: the peer ${name} was not built; what go says is above, and Go is needed for it`);
  return output;
}
