import { subscribe } from 'node:diagnostics_channel';
import { appendFileSync } from 'node:fs';
import { requestInfoOf } from '../embedded/apiserver/request-info.ts';

// Records which verbs, types of patch and kinds are asked of embedded API servers. Preload it into all processes of a test run or of a kubectl session:
// `DRYDOCK_REQUEST_LOG=FILE NODE_OPTIONS="--import=$PWD/packages/sandbox/src/recording/request-recorder.ts" npm test`. Each server appends each class that is new to it, so lines repeat.

const PATCHES: Readonly<Record<string, string>> = {
  'application/json-patch+json': 'json',
  'application/merge-patch+json': 'merge',
  'application/strategic-merge-patch+json': 'strategic',
  'application/apply-patch+yaml': 'apply',
  'application/apply-patch+cbor': 'apply',
};

const file = process.env['DRYDOCK_REQUEST_LOG'];
const seen = new Set<string>();

function note(method: string, target: string, type: string): void {
  const { verb, resource } = requestInfoOf(method, target);
  if (resource === undefined || file === undefined) return;
  const patch = verb === 'patch' ? (PATCHES[type.split(';', 1)[0]?.trim() ?? ''] ?? type) : '';
  const place = [`${resource.group}/${resource.resource}`, resource.subresource]
    .filter((part) => part !== '')
    .join('/');
  const line = JSON.stringify([verb, patch, place]);
  if (seen.has(line)) return;
  seen.add(line);
  appendFileSync(file, `${line}\n`);
}

interface Received {
  readonly request: { readonly method: string; readonly url: string; readonly headers: Record<string, string> };
}

interface Stream {
  readonly headers: Readonly<Record<string, string>>;
}

if (file !== undefined && (process.argv[1] ?? '').includes('api-server-main')) {
  subscribe('http.server.request.start', (message) => {
    const { method, url, headers } = (message as Received).request;
    note(method, url, headers['content-type'] ?? '');
  });
  subscribe('http2.server.stream.created', (message) => {
    const { headers } = message as Stream;
    note(headers[':method'] ?? 'GET', headers[':path'] ?? '/', headers['content-type'] ?? '');
  });
}
