import { join } from 'node:path';
import { root, run } from './command.ts';

// Every kind of servers, broken off at every share: `npm run rehearsal -- --seed 7` plays the same again.
const folder = join(root, '.cache', 'rehearsal');
const ways = [
  '--from',
  'openshift-4.17',
  '--to',
  'openshift-4.21',
  '--era',
  'E0,E1,E2',
  '--abort-at',
  '0,10,50,100,random',
];
const args = ['release', 'rehearse', ...ways, '--workloads', '--out', folder, ...process.argv.slice(2)];
const started = performance.now();
process.exitCode = await run(process.execPath, ['apps/drydock/bin/drydock.js', ...args]);
console.log(`rehearsal: ${((performance.now() - started) / 60_000).toFixed(1)} minutes; the reports are in ${folder}`);
