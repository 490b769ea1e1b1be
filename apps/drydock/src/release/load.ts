import type { Command } from 'commander';
import { count } from '../count.ts';
import { exitCode } from '../exit.ts';
import { untilInterrupted } from '../interruption.ts';
import { type OutputFormat, outputOption, print } from '../output/format.ts';
import { objectName } from '../output/names.ts';
import { type Column, table, terminalWidth } from '../table.ts';
import {
  type AudienceFlags,
  audienceFlags,
  PAYLOAD_ARGUMENT,
  readPayload,
  type SeenPayload,
} from './payload-source.ts';

/** Adds `release load`: reads a payload whole, and says what it would apply. It only reads. */
export function addLoad(group: Command): void {
  audienceFlags(
    group
      .command('load')
      .description('read a payload whole and say what it brings, in which order, and what it leaves out'),
  )
    .argument('<payload>', PAYLOAD_ARGUMENT)
    .addOption(outputOption({ names: true }))
    .action((name: string, flags: LoadFlags) =>
      untilInterrupted((signal) => load(name, flags, signal), 'nothing was kept'),
    );
}

interface LoadFlags extends AudienceFlags {
  readonly output: OutputFormat;
}

async function load(name: string, flags: LoadFlags, signal: AbortSignal): Promise<number> {
  const { actionOf, updateGraph, versionHash } = await import('@drydock/release');
  const seen = await readPayload(name, flags, signal);
  const { payload, included, excluded, digest } = seen;
  const loaded = {
    ...(digest === undefined ? {} : { digest }),
    version: payload.metadata.version,
    versionHash: versionHash(included),
    previous: payload.metadata.previous,
    images: [...payload.images].map(([name, image]) => ({ name, image })),
    applied: included.map((manifest) => ({
      ...manifest.id,
      file: manifest.file,
      line: manifest.line,
      action: actionOf(manifest),
    })),
    leftOut: excluded.map(({ manifest, why }) => ({
      ...manifest.id,
      file: manifest.file,
      line: manifest.line,
      why,
    })),
    nodes: updateGraph(included).length,
  };
  print(
    flags.output,
    loaded,
    () => loadText(seen, loaded, flags.output.wide),
    () => loaded.applied.map(objectName),
  );
  return exitCode.done;
}

interface Loaded {
  readonly version: string;
  readonly versionHash: string;
  readonly previous: readonly string[];
  readonly nodes: number;
}

interface Level {
  readonly runlevel: string;
  readonly components: ReadonlySet<string>;
  readonly objects: number;
  readonly kinds: ReadonlyMap<string, number>;
}

const LEVELS: readonly Column<Level>[] = [
  { header: 'RUNLEVEL', cell: ({ runlevel }) => runlevel },
  { header: 'COMPONENTS', cell: ({ components }) => `${components.size}` },
  { header: 'OBJECTS', cell: ({ objects }) => `${objects}` },
  { header: 'KINDS', cell: ({ kinds }) => [...kinds].map(([kind, of]) => `${of} ${kind}`).join(', ') },
];

function loadText({ payload, included, excluded }: SeenPayload, loaded: Loaded, wide: boolean): string {
  const from = loaded.previous.length === 0 ? '' : `, from ${count(loaded.previous.length, 'version')}`;
  const head = `Release ${loaded.version}${from}, ${count(payload.images.size, 'image')}: ${count(included.length, 'object')} in ${count(loaded.nodes, 'node')} would be applied, ${excluded.length} left out.\n`;
  const levels = [...Map.groupBy(included, ({ place }) => place?.runlevel ?? 'alone')].map(
    ([runlevel, manifests]): Level => ({
      runlevel,
      components: new Set(manifests.flatMap(({ place }) => place?.component ?? [])),
      objects: manifests.length,
      kinds: new Map([...Map.groupBy(manifests, ({ id }) => id.kind)].map(([kind, of]) => [kind, of.length])),
    }),
  );
  const why = wide
    ? excluded.map(({ manifest, why: reason }) => ({ what: `${manifest.file}:${manifest.line}`, why: reason }))
    : [...Map.groupBy(excluded, (one) => one.why)].map(([reason, of]) => ({
        what: count(of.length, 'object'),
        why: reason,
      }));
  const left = table(
    [
      { header: 'LEFT OUT', cell: (row) => row.what },
      { header: 'WHY', cell: (row) => row.why },
    ],
    why,
    { width: terminalWidth() },
  );
  return [head, table(LEVELS, levels), ...(why.length === 0 ? [] : [left])].join('\n');
}
