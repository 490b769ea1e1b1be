#!/usr/bin/env node
// Plain JavaScript on purpose: an older Node must get a sentence, not a syntax error.
const major = Number(process.versions.node.split('.')[0]);
if (major < 24) {
  process.stderr.write(
    `drydock-sandbox needs Node 24 or newer, and this is Node ${process.versions.node} (${process.execPath}).\n` +
      'In the repository, "npm ci" installs a fitting one and "./drydock-sandbox" uses it.\n',
  );
  process.exitCode = 2;
} else {
  const { main } = await import('../src/cli.ts');
  process.exitCode = await main(process.argv.slice(2));
}
