import { wayOf, weightOf } from '@drydock/crd';
import type { DefinitionChange, ObjectId, PayloadDiff } from '@drydock/release';
import type { Command } from 'commander';
import { count } from '../count.ts';
import { exitCode } from '../exit.ts';
import { untilInterrupted } from '../interruption.ts';
import { type OutputFormat, outputOption, print } from '../output/format.ts';
import { type Column, table } from '../table.ts';
import { type AudienceFlags, audienceFlags, PAYLOAD_ARGUMENT, readPayload } from './payload-source.ts';

/** Adds `release diff`: what stands between two payloads, there and back. It only reads. */
export function addDiff(group: Command): void {
  audienceFlags(
    group
      .command('diff')
      .description('compare two payloads: objects, deletions, what stays behind, and what definitions refuse each way'),
  )
    .argument('<old>', PAYLOAD_ARGUMENT)
    .argument('<new>', PAYLOAD_ARGUMENT)
    .addOption(outputOption())
    .action((old: string, now: string, flags: DiffFlags) =>
      untilInterrupted((signal) => compare(old, now, flags, signal), 'nothing was kept'),
    );
}

interface DiffFlags extends AudienceFlags {
  readonly output: OutputFormat;
}

async function compare(old: string, now: string, flags: DiffFlags, signal: AbortSignal): Promise<number> {
  const { idText, payloadDiff } = await import('@drydock/release');
  const [a, b] = [await readPayload(old, flags, signal), await readPayload(now, flags, signal)];
  const diff = payloadDiff(a.included, b.included);
  const [from, to] = [a.payload.metadata.version, b.payload.metadata.version];
  print(flags.output, { from, to, ...diff }, () => diffText({ from, to, diff, wide: flags.output.wide, idText }));
  return exitCode.done;
}

interface Row {
  readonly effect: string;
  readonly object: string;
  readonly what: string;
}

const COLUMNS: readonly Column<Row>[] = [
  { header: 'EFFECT', cell: ({ effect }) => effect },
  { header: 'OBJECT', cell: ({ object }) => object },
  { header: 'WHAT', cell: ({ what }) => what },
];

function diffText(options: {
  readonly from: string;
  readonly to: string;
  readonly diff: PayloadDiff;
  readonly wide: boolean;
  readonly idText: (id: ObjectId) => string;
}): string {
  const { from, to, diff, wide, idText } = options;
  const { added, removed, changed, deleted, definitions } = diff;
  const head = `${from} → ${to}: ${added.length} new, ${changed.length} changed, ${removed.length} no longer there, ${deleted.length} deleted.\n`;
  const rows: readonly Row[] = [
    ...deleted.map(({ id, losesData }) => ({
      effect: losesData ? 'loses' : 'deletes',
      object: idText(id),
      what: losesData
        ? 'deleted with everything in it, which going back does not bring again'
        : 'deleted; going back makes it again',
    })),
    ...removed.map((id) => ({ effect: 'leaves', object: idText(id), what: `nobody looks after it in ${to}` })),
    ...added.map((id) => ({ effect: 'adds', object: idText(id), what: `stays behind when going back to ${from}` })),
    ...(wide ? changed : []).map(({ id, fields }) => ({
      effect: 'changes',
      object: idText(id),
      what: fields.join(', '),
    })),
  ];
  const ways =
    definitions.length === 0 ? '' : `${wayText('forward', definitions, to)}${wayText('back', definitions, from)}`;
  return [head + ways, ...(rows.length === 0 ? [] : [table(COLUMNS, rows)])].join('\n');
}

function wayText(way: 'forward' | 'back', definitions: readonly DefinitionChange[], to: string): string {
  const concerned = definitions.filter((one) => one[way].some((step) => weightOf(step) !== 'none'));
  const verdict = wayOf(definitions.flatMap((one) => one[way].map(weightOf)));
  const words = {
    clean: 'refuses and loses nothing',
    blocked: 'refuses or loses something',
    undecided: 'is undecided',
  }[verdict];
  const where =
    concerned.length === 0
      ? ''
      : ` in ${count(concerned.length, 'definition')}: ${concerned.map(({ crd }) => crd).join(', ')}`;
  return `Going ${way} to ${to} ${words}${where}.\n`;
}
