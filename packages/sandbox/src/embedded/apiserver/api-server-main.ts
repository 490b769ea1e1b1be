import { readFileSync } from 'node:fs';
import { type ApiServerOptions, startApiServer } from './api-server.ts';

// The process of an embedded API server. Its one argument is a file with its options in JSON; its first line on standard output says where it listens. It ends
// on SIGTERM and SIGINT, and when its standard input ends: then the process that started it is dead.

const [, , file = ''] = process.argv;
const options = JSON.parse(readFileSync(file, 'utf8')) as ApiServerOptions;
const server = await startApiServer(options);
process.stdout.write(`${JSON.stringify({ url: server.url, startedMs: Math.round(performance.now()) })}\n`);

const end = (): void => process.exit(0);
process.on('SIGTERM', end);
process.on('SIGINT', end);
process.stdin.on('end', end);
process.stdin.on('error', end);
process.stdin.resume();
// A fault of one request must not take the others along.
process.on('uncaughtException', (error) => {
  process.stderr.write(`embedded API server: ${error.stack ?? error.message}\n`);
});
