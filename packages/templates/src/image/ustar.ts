const BLOCK = 512;
/** Archives are whole records of twenty blocks, as tar writes them. */
const RECORD = 20 * BLOCK;

/** The header of a file with mode 0644, owner and time 0 (POSIX.1-1988, byte for byte as GNU tar has it). `name`: at most 100 bytes of ASCII; `size`: below 8 GiB. */
export function ustarHeader(name: string, size: number): Buffer {
  const block = Buffer.alloc(BLOCK);
  block.write(name, 0, 'latin1');
  block.write('0000644\u00000000000\u00000000000\0', 100, 'latin1');
  block.write(`${size.toString(8).padStart(11, '0')}\u000000000000000\0        0`, 124, 'latin1');
  block.write('ustar\u000000', 257, 'latin1');
  block.write('0000000\u00000000000\0', 329, 'latin1');
  const sum = block.reduce((all, byte) => all + byte, 0);
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  return block;
}

/** What stands after a file of this size, up to the next block. */
export function ustarPadding(size: number): Buffer {
  return Buffer.alloc((BLOCK - (size % BLOCK)) % BLOCK);
}

/** What ends an archive that has so many bytes: two empty blocks, and empty ones up to the end of the record. */
export function ustarEnd(size: number): Buffer {
  return Buffer.alloc(ended(size) - size);
}

/** Bytes of an archive of files of these sizes. */
export function ustarSize(sizes: readonly number[]): number {
  return ended(sizes.reduce((all, size) => all + BLOCK + Math.ceil(size / BLOCK) * BLOCK, 0));
}

function ended(size: number): number {
  return Math.ceil((size + 2 * BLOCK) / RECORD) * RECORD;
}
