import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import type { OvaSource } from '../import.ts';
import { readManifest } from '../ova.ts';
import type { Placement, TemplateWish } from '../store.ts';
import { testDescriptor } from './descriptor.ts';

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
  readonly disk?: Buffer;
  /** Sum of the disk as the manifest has it; default the right one. */
  readonly sum?: string;
}

/** An image in memory, so that model tests need no file. */
export function memoryOva(spec: MemoryOvaSpec = {}): OvaSource {
  const disk = spec.disk ?? Buffer.from('KDMV and some bytes that are a disk');
  const descriptor = testDescriptor({
    version: spec.version ?? '9.6',
    product: 'rhcos',
    networks: spec.networks ?? ['VM Network'],
    secureBoot: spec.secureBoot ?? true,
    diskFile: 'disk.vmdk',
    diskBytes: disk.length,
    capacityGiB: 16,
  });
  const sum = spec.sum ?? createHash('sha256').update(disk).digest('hex');
  return {
    open: async () => ({
      descriptor,
      manifest: readManifest(`SHA256(disk.vmdk)= ${sum}`),
      source: (path) => (path === 'disk.vmdk' ? { size: disk.length, open: () => Readable.from([disk]) } : undefined),
      [Symbol.asyncDispose]: async () => undefined,
    }),
  };
}
