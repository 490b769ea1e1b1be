import { addressText, oneLine } from '@drydock/api/text';
import { type ClusterPlan, type ClusterStep, editLines, stepTitle } from '@drydock/boot-images';
import { table } from '../table.ts';
import { bytesText } from '../template/amounts.ts';

/** A plan for people: the calls in their order, what they move and take, then what stays as it is. */
export function planText({ release, steps, notes = [], rest }: ClusterPlan): string {
  const of = release === undefined ? '' : ` for release ${release}`;
  const parts = [
    steps.length === 0
      ? `Nothing to change${of}.\n`
      : `${steps.length} ${steps.length === 1 ? 'step' : 'steps'}${of}:\n${steps.map(stepText).join('')}`,
  ];
  const amounts = amountsText(steps);
  if (amounts.length > 0) parts.push(amounts);
  if (notes.length > 0) parts.push(notes.map((note) => `${oneLine(note)}\n`).join(''));
  // What stands as it is asked for is of no interest where something is to be done.
  const told = rest.filter(({ step }) => steps.length === 0 || step !== 'none');
  if (told.length > 0) {
    const columns = [
      { header: 'SET', cell: ({ set }: (typeof told)[number]) => set },
      { header: 'STEP', cell: ({ step }: (typeof told)[number]) => step },
      { header: 'CURRENT', cell: ({ current = '' }: (typeof told)[number]) => current },
      {
        header: 'WHY',
        cell: ({ why, nextStep }: (typeof told)[number]) => (nextStep === undefined ? why : `${why}; ${nextStep}`),
      },
    ];
    parts.push(table(columns, told));
  }
  return parts.join('\n');
}

function stepText(step: ClusterStep, at: number): string {
  const [title = '', ...calls] = [stepTitle(step), ...linesOf(step)].map(oneLine);
  return [`${`${at + 1}.`.padStart(4)} ${title}\n`, ...calls.map((call) => `       ${call}\n`)].join('');
}

/** With which calls. */
function linesOf(step: ClusterStep): readonly string[] {
  if (step.kind === 'point') return step.edits.flatMap(editLines);
  if (step.kind === 'clone') {
    const { path, from, to } = step.image;
    return [...(from === undefined ? [] : [`${path} - ${from}`]), `${path} + ${to}`];
  }
  if (step.kind !== 'image') return [];
  const { from, amounts, steps } = step;
  const calls = steps.flatMap((one) => one.calls);
  if (from === undefined || amounts === undefined) return calls;
  const { bytes, needed, here, datastore, free, reserve } = amounts;
  const size = bytes === undefined ? 'of unknown size' : bytesText(bytes);
  const digest = `sha256 ${from.sha256.slice(0, 12)}…`;
  const where = addressText(from.location);
  const download = here ? `in the cache: ${where} (${size}, ${digest})` : `download ${where} (${size}, ${digest})`;
  const takes = needed === undefined ? '' : `${bytesText(needed)} are needed, `;
  const space = `upload ${size} to datastore ${datastore}, which has ${bytesText(free)} free; ${takes}${bytesText(reserve)} must stay free`;
  return [download, space, ...calls];
}

/** What all imports together move and take, where there are several. */
function amountsText(steps: readonly ClusterStep[]): string {
  const imports = steps.flatMap((step) =>
    step.kind === 'image' && step.amounts !== undefined ? [{ ...step, amounts: step.amounts }] : [],
  );
  if (imports.length < 2) return '';
  const downloads = new Map(
    imports.flatMap(({ from, amounts }) => (from === undefined || amounts.here ? [] : [[from.sha256, amounts.bytes]])),
  );
  const lines = [`download   ${sumText([...downloads.values()])} in ${downloads.size} images`];
  for (const [place, of] of Map.groupBy(imports, ({ server, amounts }) => `${amounts.datastore} on ${server}`)) {
    const [first] = of;
    if (first === undefined) continue;
    const { free, reserve } = first.amounts;
    const sizes = of.map(({ amounts }) => amounts.bytes);
    const taken = of.reduce((sum, { amounts }) => sum + (amounts.needed ?? amounts.bytes ?? 0), reserve);
    const short = taken > free ? ': TOO LITTLE for all' : '';
    lines.push(`upload     ${sumText(sizes)} to ${place}, ${bytesText(free)} free${short}`);
  }
  return lines.map((line) => `${oneLine(line)}\n`).join('');
}

function sumText(sizes: readonly (number | undefined)[]): string {
  const unknown = sizes.filter((bytes) => bytes === undefined).length;
  const known = bytesText(sizes.reduce((sum: number, bytes = 0) => sum + bytes, 0));
  return unknown === 0 ? known : `${known} and ${unknown} of unknown size`;
}
