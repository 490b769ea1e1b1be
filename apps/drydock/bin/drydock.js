#!/usr/bin/env node
// Plain JavaScript: it must be readable by every Node, so that an old one gets words rather than a syntax error.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const wanted = 26;
const major = Number(process.versions.node.split('.')[0]);
if (major >= wanted) {
  const { keepCompiled } = await import('@drydock/node/compiled');
  keepCompiled();
  // Each fsync of "node" occupies a thread of Node's pool, of which there are four by default; the pool is made at its first use, which is later than here.
  if (process.argv[2] === 'node') process.env.UV_THREADPOOL_SIZE ??= '64';
  const { main } = await import('#main');
  await main(process.argv);
} else {
  const own = join(dirname(fileURLToPath(import.meta.url)), '..', '..', '..', 'node_modules', '.bin', 'node');
  if (!existsSync(own)) {
    console.error(
      `drydock: Node ${process.versions.node} is too old, ${wanted} or newer is needed. In a checkout, "npm ci" brings one.`,
    );
    process.exit(1);
  }
  const child = spawn(own, process.argv.slice(1), { stdio: 'inherit' });
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal));
  child.on('exit', (code, signal) => process.exit(code ?? (signal === 'SIGINT' ? 130 : 143)));
}
