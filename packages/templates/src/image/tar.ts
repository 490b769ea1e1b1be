import { foreignText } from '@drydock/vsphere';
import { TemplateError } from '../errors.ts';

/** One file of a tar archive, by where its bytes lie. */
export interface TarMember {
  readonly name: string;
  readonly offset: number;
  readonly size: number;
}

/** Where an archive is read from; a `FileHandle` is one. */
export interface ArchiveFile {
  read(buffer: Buffer, offset: number, length: number, position: number): Promise<{ readonly bytesRead: number }>;
}

const BLOCK = 512;
/** An OVA has a handful of members; more is no OVA. */
const MAX_MEMBERS = 1000;
/** Long names and pax records are short texts, and few; a real one has a name and two times. */
const MAX_RECORD = 64 * 1024;
const MAX_PAX_RECORDS = 100;

/**
 * Indexes a tar archive by its headers alone (ustar with prefix, GNU long names and base-256 sizes, pax paths and sizes), reading 512 bytes per member.
 * Fails with `OVA_INVALID` on anything else, and where a member reaches beyond the file.
 */
export async function indexTar(file: ArchiveFile, fileSize: number): Promise<readonly TarMember[]> {
  const members: TarMember[] = [];
  let next: { name?: string; size?: number } = {};
  let at = 0;
  for (let count = 0; at + BLOCK <= fileSize; count += 1) {
    if (count > MAX_MEMBERS) throw invalid(`it has more than ${MAX_MEMBERS} members`);
    const block = await read(file, at, BLOCK);
    if (block.every((byte) => byte === 0)) return members;
    checkSum(block, at);
    const type = String.fromCharCode(block[156] ?? 0);
    const size = next.size ?? sizeOf(block);
    const offset = at + BLOCK;
    if (offset + size > fileSize) throw invalid(`it ends in the middle of ${foreignText(nameOf(block))}`);
    if (type === 'L' || type === 'x') {
      if (size > MAX_RECORD) throw invalid('a header record is too long');
      const record = await read(file, offset, size);
      next = type === 'L' ? { ...next, name: text(record) } : { ...next, ...pax(record) };
    } else {
      if (type === '0' || type === '\0' || type === '7')
        members.push({ name: memberName(next.name ?? nameOf(block)), offset, size });
      if (type !== 'g') next = {};
    }
    at = offset + Math.ceil(size / BLOCK) * BLOCK;
  }
  if (members.length === 0) throw invalid('it is empty');
  return members;
}

async function read(file: ArchiveFile, position: number, length: number): Promise<Buffer> {
  const buffer = Buffer.alloc(length);
  const { bytesRead } = await file.read(buffer, 0, length, position);
  if (bytesRead !== length) throw invalid('it is cut off');
  return buffer;
}

function checkSum(block: Buffer, at: number): void {
  let sum = 0;
  for (const [index, byte] of block.entries()) sum += index >= 148 && index < 156 ? 0x20 : byte;
  if (sum !== octal(block.subarray(148, 156))) throw invalid(`there is no tar header at byte ${at}`);
}

function sizeOf(block: Buffer): number {
  const field = block.subarray(124, 136);
  if (((field[0] ?? 0) & 0x80) === 0) {
    const size = octal(field);
    if (size === undefined) throw invalid('a size cannot be read');
    return size;
  }
  // Base 256: the first bit says so, the second is the sign, and what is left of eleven bytes is a number that has to fit into eight.
  const high = field.readUInt32BE(0) & 0x7fffffff;
  const size = Number(field.readBigUInt64BE(4));
  if (high !== 0 || !Number.isSafeInteger(size)) throw invalid('a size is negative or beyond all bounds');
  return size;
}

function nameOf(block: Buffer): string {
  const name = text(block.subarray(0, 100));
  const prefix = block.toString('latin1', 257, 263) === 'ustar\0' ? text(block.subarray(345, 500)) : '';
  return prefix === '' ? name : `${prefix}/${name}`;
}

/** Names are only ever compared, never opened; one that would lead elsewhere says that somebody means ill, or that this is no OVA. */
function memberName(name: string): string {
  const parts = name.split('/');
  if (name.startsWith('/') || parts.includes('..'))
    throw invalid(`its member ${foreignText(name)} is named outside of the archive`);
  return parts.filter((part) => part !== '.' && part !== '').join('/');
}

/** pax records: `<length> <key>=<value>\n`, the length counting itself, and nothing behind the last one. */
function pax(record: Buffer): { name?: string; size?: number } {
  const found: { name?: string; size?: number } = {};
  let count = 0;
  for (let at = 0; at < record.length; ) {
    count += 1;
    // Seven bytes have room for the length of the longest record and the space.
    const [, digits = ''] = /^([1-9]\d{0,5}) /.exec(record.toString('latin1', at, at + 7)) ?? [];
    const start = at + digits.length + 1;
    const end = at + Number(digits) - 1;
    if (digits === '' || count > MAX_PAX_RECORDS || end <= start || record[end] !== 0x0a)
      throw invalid('a pax record cannot be read');
    const line = record.subarray(start, end);
    const equals = line.indexOf(0x3d);
    if (equals < 1) throw invalid('a pax record cannot be read');
    const key = line.toString('latin1', 0, equals);
    if (key === 'path') found.name = line.toString('utf8', equals + 1);
    if (key === 'size') found.size = decimal(line.toString('latin1', equals + 1));
    at = end + 1;
  }
  return found;
}

function decimal(text: string): number {
  const size = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(size)) throw invalid('a size cannot be read');
  return size;
}

/** A number as tar writes it: octal digits, with spaces or NULs around. */
function octal(field: Buffer): number | undefined {
  const [, digits] = /^ *([0-7]*)[ \0]*$/.exec(field.toString('latin1')) ?? [];
  return digits === undefined ? undefined : Number.parseInt(`0${digits}`, 8);
}

function text(field: Buffer): string {
  const end = field.indexOf(0);
  return field.toString('utf8', 0, end < 0 ? field.length : end);
}

function invalid(why: string): TemplateError {
  return new TemplateError({ code: 'OVA_INVALID', message: `the file is no OVA: ${why}` });
}
