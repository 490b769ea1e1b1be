#!/usr/bin/env node
// Plain JavaScript: it must be readable by every Node, so that an old one gets words rather than a syntax error.
const wanted = 24;
if (Number(process.versions.node.split('.')[0]) < wanted) {
  console.error(`drydock node: Node ${process.versions.node} is too old, ${wanted} or newer is needed.`);
  process.exit(1);
}
const { keepCompiled } = await import('./compiled.js');
keepCompiled();
// Each fsync occupies a thread of Node's pool, of which there are four by default; the pool is made at its first use, which is later than here.
process.env.UV_THREADPOOL_SIZE ??= '64';
const { main } = await import('#main');
await main(process.argv);
