import { isUtf8 } from 'node:buffer';
import { type Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createZstdDecompress } from 'node:zlib';
import { extract, type Header } from 'tar-stream';
import { ReleaseError } from '../errors.ts';
import {
  isPayloadFile,
  MAX_FILE,
  MAX_FILES,
  MAX_PAYLOAD,
  OWN_FOLDER,
  RELEASE_FOLDER,
  tooLarge,
} from '../payload/directory.ts';

/** Bytes of all layers of an image, unpacked: the largest release image has one GiB. A small layer can unpack to as much as it likes. */
const MAX_UNPACKED = 8 * 2 ** 30;

/** Collects the files of a payload from the layers of an image, the lowest first. */
export interface LayerReader {
  /** Reads one layer to its end. Rejects with `ReleaseError`, and with whatever the stream fails with. */
  readonly add: (layer: Readable, mediaType: string) => Promise<void>;
  readonly files: ReadonlyMap<string, string>;
}

/** `name` is the image's, for messages. What lies in no folder of a payload is passed over; a link there, or a name that leads out of it, is refused. */
export function layerReader(name: string): LayerReader {
  const files = new Map<string, string>();
  let unpacked = 0;
  let kept = 0;

  const keep = async ({ type, size }: Header, path: string, body: Readable): Promise<void> => {
    if (type !== 'file' && type !== 'contiguous-file')
      throw new ReleaseError('BAD_IMAGE', `${name}: ${path} is a ${type ?? 'thing'}, not a file`);
    if ((size ?? 0) > MAX_FILE)
      throw new ReleaseError('TOO_LARGE', `${name}: ${path} has ${size} bytes, more than ${MAX_FILE}`);
    const chunks: Buffer[] = [];
    for await (const chunk of body) chunks.push(chunk as Buffer);
    const bytes = Buffer.concat(chunks);
    if (!isUtf8(bytes)) throw new ReleaseError('UNREADABLE', `${name}: ${path} is no text in UTF-8`);
    kept += bytes.length;
    if (kept > MAX_PAYLOAD || files.size >= MAX_FILES) throw tooLarge(name);
    files.set(path, bytes.toString());
  };

  /** A file, or what an upper layer takes away from the lower ones (`.wh.NAME`, `.wh..wh..opq`). */
  const entry = async (header: Header, body: Readable): Promise<void> => {
    const path = header.name.replace(/^(?:\.?\/)+/, '');
    const parts = path.split('/');
    const [folder = '', file = ''] = parts;
    if (folder === `.wh.${OWN_FOLDER}` || folder === `.wh.${RELEASE_FOLDER}`) return remove(`${folder.slice(4)}/`);
    if (folder !== OWN_FOLDER && folder !== RELEASE_FOLDER) return;
    if (parts.includes('..')) throw new ReleaseError('BAD_IMAGE', `${name}: ${path} leads out of its folder`);
    if (file === '' || header.type === 'directory') return;
    if (file === '.wh..wh..opq') return remove(`${folder}/`);
    if (file.startsWith('.wh.')) return void files.delete(`${folder}/${file.slice(4)}`);
    if (parts.length === 2 && isPayloadFile(path)) await keep(header, path, body);
  };
  const remove = (prefix: string): void => {
    for (const path of files.keys()) if (path.startsWith(prefix)) files.delete(path);
  };

  return {
    files,
    add: async (layer, mediaType) => {
      const unpack = unpackerOf(mediaType, name);
      const meter = new Transform({
        transform(chunk: Buffer, _encoding, done) {
          unpacked += chunk.length;
          const over = unpacked > MAX_UNPACKED;
          done(
            over ? new ReleaseError('TOO_LARGE', `${name} unpacks to more than ${MAX_UNPACKED} bytes`) : null,
            chunk,
          );
        },
      });
      const tar = extract();
      const flow = unpack === undefined ? pipeline(layer, meter, tar) : pipeline(layer, unpack, meter, tar);
      const read = async (): Promise<void> => {
        for await (const one of tar) {
          await entry(one.header, one as unknown as Readable);
          one.resume();
        }
      };
      const [flowed, done] = await Promise.allSettled([flow, read()]);
      // Whoever looks at the entries knows best; then who looks at the digest, at whose end the archive seems cut.
      const errors = [done, flowed].flatMap((one) => (one.status === 'rejected' ? [one.reason as Error] : []));
      const error = errors.find((one) => one instanceof ReleaseError) ?? errors.at(-1);
      if (error === undefined) return;
      if (error instanceof ReleaseError) throw error;
      throw new ReleaseError('BAD_IMAGE', `${name}: a layer cannot be read: ${error.message}`, error);
    },
  };
}

function unpackerOf(
  mediaType: string,
  name: string,
): ReturnType<typeof createGunzip> | ReturnType<typeof createZstdDecompress> | undefined {
  if (/[.+]gzip$/.test(mediaType)) return createGunzip();
  if (mediaType.endsWith('+zstd')) return createZstdDecompress();
  if (/\.tar$/.test(mediaType)) return undefined;
  throw new ReleaseError('BAD_IMAGE', `${name}: a layer of type ${mediaType} cannot be unpacked`);
}
