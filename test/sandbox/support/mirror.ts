import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { basename, join } from 'node:path';

/** A mirror on loopback that serves the files of one folder. */
export interface Mirror extends AsyncDisposable {
  url(file: string): string;
  /** Requests for a file so far. */
  requests(file: string): number;
  /** Every request is answered with this status from now on; undefined: with the file. */
  fail(status: number | undefined): void;
}

/** Starts the mirror on a free port. */
export async function serveFolder(folder: string): Promise<Mirror> {
  const requests = new Map<string, number>();
  let failure: number | undefined;
  const server = createServer((request, response) => {
    const name = basename(new URL(request.url ?? '/', 'http://mirror').pathname);
    requests.set(name, (requests.get(name) ?? 0) + 1);
    if (failure !== undefined) {
      response.writeHead(failure).end();
      return;
    }
    readFile(join(folder, name)).then(
      (content) => response.writeHead(200, { 'content-length': content.length }).end(content),
      () => response.writeHead(404).end(),
    );
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: (file) => `http://127.0.0.1:${port}/${basename(file)}`,
    requests: (file) => requests.get(basename(file)) ?? 0,
    fail: (status) => {
      failure = status;
    },
    [Symbol.asyncDispose]: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
