import { appendFileSync } from 'node:fs';
import type { Backend } from './backend.ts';

/** Appends the back end of a sandbox that starts to the file that DRYDOCK_SERVERS_LOG names, which `npm test` sets for each test file and its programs. */
export function noteBackend(backend: Backend): void {
  const log = process.env['DRYDOCK_SERVERS_LOG'];
  if (log !== undefined && log !== '') appendFileSync(log, `${backend}\n`);
}
