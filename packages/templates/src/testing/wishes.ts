import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { ovfText } from '@drydock/vsphere/testing';
import { readManifest } from '../image/ova.ts';
import type { OvaSource } from '../image/ova-source.ts';
import type { Placement, TemplateWish } from '../wish.ts';

/** The place that the in-memory vCenter has by default. */
export function testPlacement(change: Partial<Placement> = {}): Placement {
  return {
    server: 'vcenter.test',
    datacenter: 'DC0',
    failureDomain: 'fd1',
    folder: '/DC0/vm/ocp',
    datastore: '/DC0/datastore/DS0',
    resourcePool: '/DC0/host/C0/Resources',
    computeCluster: '/DC0/host/C0',
    networks: ['VM Network'],
    ...change,
  };
}

/** A wish for release 9.6 there. */
export function testWish(change: Partial<TemplateWish> = {}): TemplateWish {
  return {
    cluster: 'cluster-uid',
    base: 'c1-abcde-rhcos-fd1',
    image: { release: '9.6', location: 'https://mirror.test/rhcos.ova', sha256: 'd'.repeat(64) },
    placement: testPlacement(),
    tagName: 'infra',
    tagIds: [],
    holder: 'holder-1',
    ...change,
  };
}

/** What {@link memoryOva} gives. */
export interface MemoryOvaSpec {
  readonly version?: string;
  readonly networks?: readonly string[];
  readonly secureBoot?: boolean;
  /** Content of the one disk, `disk.vmdk`. */
  readonly disk?: Buffer;
  /** Of several disks: `disk.vmdk`, `disk-1.vmdk` and so on. */
  readonly disks?: readonly Buffer[];
  /** What the descriptor says of each disk; default nothing. */
  readonly populatedSize?: number;
  /** Sum of the first disk as the manifest has it; default the right one. */
  readonly sum?: string;
}

/** An image in memory, so that model tests need no file. */
export function memoryOva(spec: MemoryOvaSpec = {}): OvaSource {
  const contents = spec.disks ?? [spec.disk ?? Buffer.from('KDMV and some bytes that are a disk')];
  const disks = contents.map((content, at) => ({ file: at === 0 ? 'disk.vmdk' : `disk-${at}.vmdk`, content }));
  const descriptor = ovfText({
    version: spec.version ?? '9.6',
    product: 'rhcos',
    networks: spec.networks ?? ['VM Network'],
    secureBoot: spec.secureBoot ?? true,
    disks: disks.map(({ file, content }) => ({
      ...{ file, size: content.length },
      ...(spec.populatedSize === undefined ? {} : { populatedSize: spec.populatedSize }),
    })),
  });
  const sums = disks.map(({ file, content }, at) => {
    const sum = createHash('sha256').update(content).digest('hex');
    return `SHA256(${file})= ${at === 0 ? (spec.sum ?? sum) : sum}\n`;
  });
  return {
    open: async () => ({
      descriptor,
      manifest: readManifest(sums.join('')),
      members: [],
      source: (path) => {
        const disk = disks.find(({ file }) => file === path);
        return disk === undefined
          ? undefined
          : { size: disk.content.length, open: () => Readable.from([disk.content]) };
      },
      [Symbol.asyncDispose]: async () => undefined,
    }),
  };
}
