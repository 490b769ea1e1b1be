import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { basename, join } from 'node:path';
import { pipeline } from 'node:stream';

/** A mirror on loopback that serves the files of one folder, with ranges. */
export interface ImageServer extends AsyncDisposable {
  url(file: string): string;
}

/** Starts the mirror on a free port. */
export async function serveImages(folder: string): Promise<ImageServer> {
  const server = createServer((request, response) => {
    const file = join(folder, basename(new URL(request.url ?? '/', 'http://mirror').pathname));
    stat(file).then(
      ({ size }) => {
        const range = /^bytes=(\d+)-$/.exec(request.headers.range ?? '');
        const start = range === null ? 0 : Math.min(Number(range[1]), size);
        response.writeHead(range === null ? 200 : 206, {
          'content-length': size - start,
          'accept-ranges': 'bytes',
          ...(range === null ? {} : { 'content-range': `bytes ${start}-${size - 1}/${size}` }),
        });
        pipeline(createReadStream(file, { start, highWaterMark: 1 << 18 }), response, () => {});
      },
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
    [Symbol.asyncDispose]: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
