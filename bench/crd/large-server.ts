/** Serves many objects of one large definition over HTTP, in pages. Prints where, as a line of JSON. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { largeCrd, largeObject } from './large.ts';

const count = Number(process.argv[2]);
const crd = JSON.stringify({ metadata: { resourceVersion: '9' }, items: [largeCrd('newer')] });
const none = JSON.stringify({ metadata: { resourceVersion: '9' }, items: [] });

const server = createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://server');
  const plural = pathname.split('/').at(-1);
  response.writeHead(200, { 'content-type': 'application/json' });
  if (pathname === '/version') response.end('{"major":"1","minor":"34"}');
  else if (plural === 'customresourcedefinitions') response.end(crd);
  else if (plural !== 'larges') response.end(none);
  else response.end(page(Number(searchParams.get('continue') ?? 0), Number(searchParams.get('limit') ?? 500)));
});

function page(from: number, limit: number): string {
  const length = Math.min(limit, count - from);
  const items = Array.from({ length }, (_, at) => largeObject(from + at));
  const more = from + limit < count ? { continue: `${from + limit}` } : {};
  return JSON.stringify({ metadata: { resourceVersion: '9', ...more }, items });
}

server.listen(0, '127.0.0.1', () => console.log(JSON.stringify({ port: (server.address() as AddressInfo).port })));
process.stdin.resume().on('end', () => process.exit(0));
