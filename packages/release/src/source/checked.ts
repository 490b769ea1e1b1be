import { createHash } from 'node:crypto';
import { type Readable, Transform } from 'node:stream';
import { ReleaseError } from '../errors.ts';
import type { Descriptor } from './blobs.ts';

/** Fails at the end of a stream that is not what its descriptor says, and as soon as it has more bytes than that. */
export function checked(from: Readable, { digest, size }: Descriptor, what: string): Readable {
  const hash = createHash('sha256');
  let seen = 0;
  const lies = (why: string): ReleaseError => new ReleaseError('BAD_DIGEST', `${what}: ${digest} ${why}`);
  const check = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      seen += chunk.length;
      if (seen > size) return done(lies(`has more than the ${size} bytes that it should have`));
      hash.update(chunk);
      done(null, chunk);
    },
    flush(done) {
      if (seen !== size) return done(lies(`has ${seen} bytes instead of ${size}`));
      const found = `sha256:${hash.digest('hex')}`;
      done(found === digest ? null : lies(`is ${found}`));
    },
  });
  from.on('error', (error) => check.destroy(error));
  check.on('close', () => from.destroy());
  return from.pipe(check);
}

/** The same for what is held in memory. */
export function checkedBytes(bytes: Buffer, digest: string, what: string): Buffer {
  const found = `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
  if (found !== digest) throw new ReleaseError('BAD_DIGEST', `${what}: ${digest} is ${found}`);
  return bytes;
}
