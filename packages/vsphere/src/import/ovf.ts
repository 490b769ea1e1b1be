import { VimError } from '../errors.ts';
import { foreignText } from '../foreign-text.ts';
import { child, childText, descend, elements, type XmlElement } from '../xml/xml.ts';
import { XmlSyntaxError } from '../xml/xml-characters.ts';
import { parseXml, TREE_LIMITS, type TreeLimits } from '../xml/xml-tree.ts';

/** A file that the descriptor refers to: a member of the OVA. */
export interface OvfFile {
  readonly id: string;
  readonly href: string;
  readonly size?: number;
}

/** A virtual disk. `file` is absent for an empty disk. */
export interface OvfDisk {
  readonly id: string;
  readonly file?: OvfFile;
  /** Bytes. */
  readonly capacity?: number;
  /** Bytes that the disk holds, where the descriptor says so. */
  readonly populatedSize?: number;
}

/** What Drydock needs to know of an OVF descriptor before a server sees it. */
export interface OvfDescriptor {
  /** Name of the virtual system. */
  readonly name?: string;
  /** Names of the networks, in order, each once. */
  readonly networks: readonly string[];
  /** First ProductSection. */
  readonly product?: { readonly name?: string; readonly version?: string };
  /** `bootOptions.efiSecureBootEnabled`; undefined where the descriptor does not say. */
  readonly secureBoot?: boolean;
  readonly files: readonly OvfFile[];
  readonly disks: readonly OvfDisk[];
}

/** Real descriptors have about 10 kB and 300 nodes; vCenter itself takes a few megabytes. It is read in one go, which must not take long. */
const LIMITS: TreeLimits = { ...TREE_LIMITS, total: 4 << 20, nodes: 50_000 };

/**
 * Reads a descriptor (DSP0243). Elements and attributes go by their local names, because versions 1 and 2 differ in namespace only. Anything that is not
 * an OVF envelope with one virtual system is a `VimError` of code `VIM_OVF_REFUSED`.
 */
export function readOvf(text: string): OvfDescriptor {
  const envelope = parse(text);
  const system = child(envelope, 'VirtualSystem');
  if (envelope.name !== 'Envelope') throw refused(`the root element is ${foreignText(envelope.name)}, not Envelope`);
  if (system === undefined) throw refused('there is no single VirtualSystem');
  const files = elements(child(envelope, 'References'), 'File').map(readFile);
  const fileOf = new Map(files.map((file) => [file.id, file]));
  const product = child(system, 'ProductSection') ?? child(envelope, 'ProductSection');
  const name = childText(system, 'Name') ?? local(system, 'id');
  const secureBoot = configOf(system, 'bootOptions.efiSecureBootEnabled');
  const version = childText(product, 'Version');
  const productName = childText(product, 'Product');
  return {
    ...(name === undefined ? {} : { name }),
    networks: [...new Set(elements(child(envelope, 'NetworkSection'), 'Network').map((at) => local(at, 'name') ?? ''))],
    ...(product === undefined
      ? {}
      : {
          product: {
            ...(productName === undefined ? {} : { name: productName.trim() }),
            ...(version === undefined ? {} : { version: version.trim() }),
          },
        }),
    ...(secureBoot === undefined ? {} : { secureBoot: secureBoot === 'true' }),
    files,
    disks: elements(child(envelope, 'DiskSection'), 'Disk').map((disk) => readDisk(disk, fileOf)),
  };
}

function parse(text: string): XmlElement {
  try {
    return parseXml(text, LIMITS);
  } catch (cause) {
    if (cause instanceof XmlSyntaxError) throw refused(cause.message, cause);
    throw cause;
  }
}

function readFile(at: XmlElement): OvfFile {
  const id = local(at, 'id');
  const href = local(at, 'href');
  if (id === undefined || href === undefined) throw refused('a File has no id or no href');
  if (local(at, 'chunkSize') !== undefined)
    throw refused(`the file ${foreignText(href)} comes in chunks, which is not supported`);
  const size = integer(local(at, 'size'), `the size of the file ${foreignText(href)}`);
  return { id, href, ...(size === undefined ? {} : { size }) };
}

function readDisk(at: XmlElement, fileOf: ReadonlyMap<string, OvfFile>): OvfDisk {
  const id = local(at, 'diskId') ?? '';
  const wanted = local(at, 'fileRef');
  const file = wanted === undefined ? undefined : fileOf.get(wanted);
  if (wanted !== undefined && file === undefined)
    throw refused(`the disk ${foreignText(id)} refers to the file ${foreignText(wanted)}, which is not listed`);
  const units = integer(local(at, 'capacity'), `the capacity of the disk ${foreignText(id)}`);
  const capacity = units === undefined ? undefined : units * unitBytes(local(at, 'capacityAllocationUnits') ?? 'byte');
  return {
    id,
    ...(file === undefined ? {} : { file }),
    ...(capacity === undefined ? {} : { capacity }),
    ...populatedOf(at),
  };
}

/** A hint: a value that is no number of bytes is no reason to refuse the image. */
function populatedOf(at: XmlElement): Pick<OvfDisk, 'populatedSize'> {
  const text = local(at, 'populatedSize') ?? '';
  const populatedSize = Number(text);
  return /^\d+$/.test(text) && Number.isSafeInteger(populatedSize) ? { populatedSize } : {};
}

/** Programmatic units of DSP0004, as far as descriptors use them: `byte`, `byte * 2^30`. */
function unitBytes(units: string): number {
  const power = /^byte(?:\s*\*\s*2\s*\^\s*(\d{1,2}))?$/.exec(units.trim());
  if (power === null) throw refused(`the unit "${foreignText(units)}" of a disk's capacity is not known`);
  return 2 ** Number(power[1] ?? 0);
}

/** A `vmw:Config` or `vmw:ExtraConfig` of the virtual hardware. */
function configOf(system: XmlElement, key: string): string | undefined {
  const hardware = descend(system, 'VirtualHardwareSection');
  const found = elements(hardware, 'Config').find((config) => local(config, 'key') === key);
  return found === undefined ? undefined : local(found, 'value');
}

/** An attribute by its local name, whatever its namespace. */
function local(at: XmlElement, name: string): string | undefined {
  return at.attributes.find((attribute) => attribute.local === name)?.value;
}

function integer(text: string | undefined, what: string): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(value))
    throw refused(`${what} is "${foreignText(text)}", not a number of bytes`);
  return value;
}

function refused(why: string, cause?: unknown): VimError {
  return new VimError({
    kind: 'protocol',
    code: 'VIM_OVF_REFUSED',
    op: 'readOvf',
    message: `the OVF descriptor cannot be used: ${why}`,
    ...(cause === undefined ? {} : { cause }),
  });
}
