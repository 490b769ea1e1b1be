import { createHash, type Hash } from 'node:crypto';
import { open } from 'node:fs/promises';
import { ovfText } from '@drydock/vsphere/testing';

/** What a generated OVA contains. */
export interface TestOvaSpec {
  /** Product version of the descriptor; the template's version. */
  readonly version: string;
  /** Bytes of the one disk; the file is a few KiB larger. */
  readonly diskBytes: number;
  /** How many networks the descriptor declares; default 1. */
  readonly networks?: number;
  /** Value of `bootOptions.efiSecureBootEnabled`; undefined leaves it out. */
  readonly secureBoot?: boolean;
  /** Product name; default `rhcos`. */
  readonly product?: string;
  /** Equal seeds give equal bytes; default 1. */
  readonly seed?: number;
  /** Which digest the manifest names; `wrong` has a false sum for the disk, `none` leaves the manifest out. Default sha256. */
  readonly manifest?: 'sha256' | 'sha1' | 'wrong' | 'none';
  /** What the descriptor says that the disk holds; default nothing. */
  readonly populatedSize?: number;
  /** Name of the disk; default `disk.vmdk`. */
  readonly diskFile?: string;
}

/** A generated OVA on disk. */
export interface TestOva {
  readonly path: string;
  readonly size: number;
  /** Lower-case hex of the whole file. */
  readonly sha256: string;
}

const CHUNK = 1 << 20;
const BLOCK = 512;

/**
 * Writes an OVA (ustar: descriptor, manifest, disk) that vCenter and its simulator accept, without holding the disk in memory.
 * The disk's bytes look like a streamOptimized VMDK from outside: magic, then what does not compress.
 */
export async function writeTestOva(path: string, spec: TestOvaSpec): Promise<TestOva> {
  const product = spec.product ?? 'rhcos';
  const { diskFile = 'disk.vmdk' } = spec;
  const networks = Array.from({ length: spec.networks ?? 1 }, (_, index) =>
    index === 0 ? 'VM Network' : `VM Network ${index + 1}`,
  );
  const descriptor = Buffer.from(
    ovfText({
      version: spec.version,
      product,
      networks,
      secureBoot: spec.secureBoot ?? 'unsaid',
      disks: [
        {
          ...{ file: diskFile, size: spec.diskBytes },
          ...(spec.populatedSize === undefined ? {} : { populatedSize: spec.populatedSize }),
        },
      ],
    }),
  );
  const manifest = spec.manifest ?? 'sha256';
  const file = await open(path, 'w', 0o644);
  try {
    const whole = createHash('sha256');
    let size = 0;
    const put = async (chunk: Buffer): Promise<void> => {
      whole.update(chunk);
      await file.writeFile(chunk);
      size += chunk.length;
    };
    await put(member('coreos.ovf', descriptor));
    if (manifest !== 'none') {
      const algorithm = manifest === 'sha1' ? 'sha1' : 'sha256';
      const disk = createHash(algorithm);
      for (const chunk of diskChunks(spec)) disk.update(chunk);
      const sum = manifest === 'wrong' ? '0'.repeat(64) : disk.digest('hex');
      const lines = `${line(algorithm, 'coreos.ovf', createHash(algorithm).update(descriptor))}${algorithm.toUpperCase()}(${diskFile})= ${sum}\n`;
      await put(member('coreos.mf', Buffer.from(lines)));
    }
    await put(header(diskFile, spec.diskBytes));
    for (const chunk of diskChunks(spec)) await put(chunk);
    await put(Buffer.alloc(padding(spec.diskBytes) + 2 * BLOCK));
    return { path, size, sha256: whole.digest('hex') };
  } finally {
    await file.close();
  }
}

function line(algorithm: string, name: string, hash: Hash): string {
  return `${algorithm.toUpperCase()}(${name})= ${hash.digest('hex')}\n`;
}

/** The disk as chunks of at most 1 MiB. A chunk is only valid until the next one is asked for. */
function* diskChunks(spec: TestOvaSpec): Generator<Buffer> {
  const noise = Buffer.alloc(CHUNK);
  let state = (spec.seed ?? 1) >>> 0 || 1;
  for (let offset = 0; offset < CHUNK; offset += 4) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    noise.writeUInt32LE(state >>> 0, offset);
  }
  for (let offset = 0; offset < spec.diskBytes; offset += CHUNK) {
    if (offset === 0) noise.write('KDMV\u0003\0\0\0', 0, 'latin1');
    else noise.writeBigUInt64LE(BigInt(offset), 0);
    yield noise.subarray(0, Math.min(CHUNK, spec.diskBytes - offset));
  }
}

/** A whole tar member: header, content and padding. */
export function member(name: string, content: Buffer): Buffer {
  return Buffer.concat([header(name, content.length), content, Buffer.alloc(padding(content.length))]);
}

/** A ustar header; sizes from 8 GiB are written in base 256 as GNU tar does. */
export function header(name: string, size: number, type = '0'): Buffer {
  const block = Buffer.alloc(BLOCK);
  block.write(name, 0, 100, 'utf8');
  block.write('0000644\u00000000000\u00000000000\0', 100, 'latin1');
  if (size < 0o77777777777) block.write(`${size.toString(8).padStart(11, '0')}\0`, 124, 'latin1');
  else {
    block[124] = 0x80;
    block.writeBigUInt64BE(BigInt(size), 128);
  }
  block.write('00000000000\0        ', 136, 'latin1');
  block.write(type, 156, 'latin1');
  block.write('ustar\u000000', 257, 'latin1');
  let sum = 0;
  for (const byte of block) sum += byte;
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  return block;
}

function padding(size: number): number {
  return (BLOCK - (size % BLOCK)) % BLOCK;
}
