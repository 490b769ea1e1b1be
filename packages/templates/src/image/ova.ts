import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { foreignText, type UploadSource } from '@drydock/vsphere';
import { TemplateError } from '../errors.ts';
import { fileRange, openFile } from './file-range.ts';
import { indexTar, type TarMember } from './tar.ts';

/** A sum that the manifest of an OVA names. */
export interface ManifestSum {
  readonly algorithm: 'sha1' | 'sha256' | 'sha512';
  /** Lower-case hex. */
  readonly sum: string;
}

/** An OVA that is open for reading. */
export interface OpenOva extends AsyncDisposable {
  /** Text of the one `.ovf` member. */
  readonly descriptor: string;
  /** By member name; empty where the OVA has no `.mf`. */
  readonly manifest: ReadonlyMap<string, ManifestSum>;
  /** Where each member lies in the file. */
  readonly members: readonly TarMember[];
  /** Streams a member straight from the archive, in chunks of 256 KiB; undefined: there is no such member. */
  source(path: string): UploadSource | undefined;
}

const MAX_DESCRIPTOR = 4 * 1024 * 1024;
/** Read in one go: a line for each member. */
const MAX_MANIFEST = 256 * 1024;

/** Opens an OVA, indexes it and checks the descriptor against the manifest. Fails with `OVA_INVALID`. */
export async function openOva(path: string): Promise<OpenOva> {
  const file = await openFile(path);
  try {
    const { size } = await file.stat();
    if (await isGzip(file, 0)) throw invalid('it is compressed with gzip; decompress it first');
    const members = await indexTar(file, size);
    const byName = new Map<string, TarMember>();
    for (const member of members) {
      const name = foreignText(member.name);
      if (byName.has(member.name)) throw invalid(`it has two members ${name}, of which each reader takes another`);
      byName.set(member.name, member);
      if (await isGzip(file, member.offset))
        throw invalid(`its member ${name} is compressed with gzip, which vCenter does not read`);
    }
    const text = async ({ name, size, offset }: TarMember, most: number): Promise<Buffer> => {
      if (size > most) throw invalid(`${foreignText(name)} has ${size} bytes, where ${most} are the most`);
      const buffer = Buffer.alloc(size);
      await file.read(buffer, 0, size, offset);
      return buffer;
    };
    const descriptors = members.filter(({ name }) => name.endsWith('.ovf'));
    const [descriptor] = descriptors;
    if (descriptor === undefined || descriptors.length > 1)
      throw invalid(`it has ${descriptors.length} descriptors instead of one`);
    const content = await text(descriptor, MAX_DESCRIPTOR);
    const manifests = members.filter(({ name }) => name.endsWith('.mf'));
    const [mf] = manifests;
    if (manifests.length > 1) throw invalid(`it has ${manifests.length} manifests, of which each reader takes another`);
    const manifest =
      mf === undefined ? new Map<string, ManifestSum>() : readManifest((await text(mf, MAX_MANIFEST)).toString('utf8'));
    checkDescriptor(descriptor.name, content, manifest);
    return {
      descriptor: content.toString('utf8'),
      manifest,
      members,
      source: (name) => {
        const member = byName.get(name);
        if (member === undefined) return undefined;
        const { offset, size } = member;
        return { size, open: () => fileRange(file, offset, size) };
      },
      [Symbol.asyncDispose]: () => file.close(),
    };
  } catch (error) {
    await file.close();
    throw error;
  }
}

async function isGzip(file: FileHandle, offset: number): Promise<boolean> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(2), 0, 2, offset);
  return bytesRead === 2 && buffer[0] === 0x1f && buffer[1] === 0x8b;
}

function checkDescriptor(name: string, content: Buffer, manifest: ReadonlyMap<string, ManifestSum>): void {
  const expected = manifest.get(name);
  if (expected === undefined) return;
  const sum = createHash(expected.algorithm).update(content).digest('hex');
  if (sum !== expected.sum)
    throw invalid(`${foreignText(name)} has ${expected.algorithm} ${sum}, but the manifest says ${expected.sum}`);
}

const MANIFEST_LINE = /^\s*(SHA1|SHA256|SHA512)\s*\(([^)]+)\)\s*=\s*([0-9a-fA-F]+)\s*$/;

/**
 * Reads a manifest: `SHA256(disk.vmdk)= <hex>`, one line per member. Lines that say something else are ignored; two that give one member two sums of one
 * kind are not, because each reader would believe another. Of sums of several kinds the last one counts. Fails with `OVA_INVALID`.
 */
export function readManifest(text: string): ReadonlyMap<string, ManifestSum> {
  const sums = new Map<string, ManifestSum>();
  for (const line of text.split('\n')) {
    const [, algorithm, name, sum] = MANIFEST_LINE.exec(line) ?? [];
    if (algorithm === undefined || name === undefined || sum === undefined) continue;
    const said = { algorithm: algorithm.toLowerCase() as ManifestSum['algorithm'], sum: sum.toLowerCase() };
    const before = sums.get(name);
    if (before?.algorithm === said.algorithm && before.sum !== said.sum)
      throw invalid(`its manifest names two sums for ${foreignText(name)}`);
    sums.set(name, said);
  }
  return sums;
}

function invalid(why: string): TemplateError {
  return new TemplateError({ code: 'OVA_INVALID', message: `the file is no OVA: ${why}` });
}
