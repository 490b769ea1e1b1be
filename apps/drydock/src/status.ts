import { BootImage } from '@drydock/api';
import { type Client, isNotFound } from '@drydock/kube';
import type { Command } from 'commander';
import { stringify } from 'yaml';
import { type ClusterFlags, clusterFlags, connect } from './connect.ts';
import { exitCode, UsageError } from './exit.ts';
import { age, type Column, table } from './table.ts';

const formats = ['table', 'wide', 'name', 'json', 'yaml'] as const;
type Format = (typeof formats)[number];

interface StatusFlags extends ClusterFlags {
  readonly output: string;
  readonly headers: boolean;
}

const columns = (now: number): readonly Column<BootImage>[] => [
  { header: 'NAME', cell: (image) => image.metadata.name },
  { header: 'PLATFORM', cell: (image) => image.status?.platform ?? '' },
  { header: 'SET', cell: (image) => image.status?.set ?? '' },
  { header: 'CURRENT', cell: (image) => image.status?.current ?? '' },
  { header: 'TARGET', cell: (image) => image.status?.target ?? '' },
  { header: 'PHASE', cell: (image) => image.status?.phase ?? '' },
  { header: 'PROGRESS', cell: (image) => image.status?.progress ?? '' },
  { header: 'SINCE', cell: (image) => age(image.status?.since, now) },
  { header: 'REVERT-TO', cell: (image) => image.status?.revertTo ?? '' },
  { header: 'TEMPLATE', cell: (image) => image.status?.template?.name ?? '', wide: true },
  { header: 'MESSAGE', cell: (image) => image.status?.message ?? '', wide: true },
  { header: 'NEXT', cell: (image) => image.status?.nextStep ?? '', wide: true },
];

/** The text of `drydock status` in one of its formats. JSON and YAML are a List, also for one object. */
export function printStatus(
  images: readonly BootImage[],
  format: Format,
  options: { readonly headers: boolean; readonly now: number },
): string {
  switch (format) {
    case 'json':
      return `${JSON.stringify(listOf(images), undefined, 2)}\n`;
    case 'yaml':
      return stringify(listOf(images));
    case 'name':
      return images.map((image) => `bootimage.drydock.dev/${image.metadata.name}\n`).join('');
    case 'table':
    case 'wide':
      return table(columns(options.now), images, { wide: format === 'wide', headers: options.headers });
  }
}

function listOf(images: readonly BootImage[]): unknown {
  return {
    apiVersion: 'v1',
    kind: 'List',
    items: images.map((image) => ({ ...image, apiVersion: 'drydock.dev/v1alpha1', kind: 'BootImage' })),
  };
}

/** Adds `drydock status`: every machine set's boot image, what is being done about it and why not. It only reads. */
export function addStatus(program: Command): void {
  clusterFlags(program.command('status').description('show the boot image of every machine set'))
    .option('-o, --output <format>', formats.join('|'), 'table')
    .option('--no-headers', 'leave the header line out')
    .action(async (flags: StatusFlags) => {
      const format = formats.find((name) => name === flags.output);
      if (format === undefined)
        throw new UsageError(`unknown output format ${flags.output}: use one of ${formats.join(', ')}`);
      await using client = await connect(flags);
      const images = await bootImages(client, flags.namespace);
      if (images.length === 0 && (format === 'table' || format === 'wide')) {
        console.error('No boot images found. They appear when "drydock operator" runs and has seen a machine set.');
        return;
      }
      process.stdout.write(printStatus(images, format, { headers: flags.headers, now: Date.now() }));
      process.exitCode = exitCode.done;
    });
}

async function bootImages(client: Client, namespace: string | undefined): Promise<readonly BootImage[]> {
  try {
    const found = await Array.fromAsync(client.list(BootImage, namespace === undefined ? {} : { namespace }));
    return found.toSorted((a, b) => a.metadata.name.localeCompare(b.metadata.name));
  } catch (error) {
    if (isNotFound(error)) {
      throw new Error(
        'this cluster has no BootImage CRD (bootimages.drydock.dev). Install it: kubectl apply -f api/crds',
        { cause: error },
      );
    }
    throw error;
  }
}
