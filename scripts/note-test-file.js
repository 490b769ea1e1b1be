// Loaded first in the process of each test file: the sandboxes that the file and its programs start are noted under the file's name (see packages/sandbox/src/backend-log.ts).
import { join } from 'node:path';

const { DRYDOCK_SERVERS_LOGS: folder } = process.env;
if (folder) process.env.DRYDOCK_SERVERS_LOG = join(folder, encodeURIComponent(process.argv[1] ?? ''));
