import type { BootImage } from '@drydock/api';
import { oneLine } from '@drydock/api/text';
import type { HistoryEntry, Pin } from '@drydock/boot-images';
import type { KubeClient } from '@drydock/kube';
import type { Command } from 'commander';
import { connect } from '../connect.ts';
import { exitCode } from '../exit.ts';
import { untilInterrupted } from '../interruption.ts';
import { print } from '../output/format.ts';
import { imageOfSet } from '../output/names.ts';
import { type Column, table } from '../table.ts';
import { say, sayError } from '../terminal.ts';
import { isRotated, rotatedImage } from './rotated-image.ts';
import { checkNamespace, type SetFlags, setNamed, setVerb } from './set-flags.ts';
import { wayBackCell, wayBackRefusals } from './way-back-text.ts';

/** What `image history` prints as JSON and YAML. */
export interface HistoryOutput {
  readonly set: string;
  readonly pin?: Pin;
  readonly history: readonly (HistoryEntry & { readonly revert?: string })[];
}

/** Adds `drydock image history`: the images that a set had, and the command that goes back to each. It only reads, and asks no vCenter. */
export function addHistory(group: Command): void {
  setVerb(group, 'history', 'show the images that a set had, and how to go back to each').action(
    (name: string, flags: SetFlags) =>
      untilInterrupted((signal) => history(name, flags, signal), 'nothing was changed'),
  );
}

async function history(name: string, flags: SetFlags, signal: AbortSignal): Promise<number> {
  await using client = await connect(flags);
  const { livePin, revertGoal } = await import('@drydock/boot-images');
  const { id, image } = isRotated(name)
    ? await rotatedImage(client, name, flags.namespace, signal)
    : await keptImage(client, name, flags, signal);
  const pin = livePin(image, Date.now());
  const output: HistoryOutput = {
    set: id,
    ...(pin === undefined ? {} : { pin }),
    history: entriesOf(image, id),
  };
  if (flags.output.people) await show(output, revertGoal(image?.status));
  else
    print(
      flags.output,
      output,
      () => '',
      () => [imageOfSet(id)],
    );
  return exitCode.done;
}

async function keptImage(
  client: KubeClient,
  name: string,
  flags: SetFlags,
  signal: AbortSignal,
): Promise<{ readonly id: string; readonly image: BootImage | undefined }> {
  await checkNamespace(flags);
  const { bootImageOf, idOf, worldNow } = await import('@drydock/boot-images');
  const world = await worldNow(client, { signal, credentials: 'unread' });
  const set = await setNamed({ world }, name);
  const { metadata } = bootImageOf(set);
  return { id: idOf(set), image: world.bootImages().find((one) => one.metadata.name === metadata.name) };
}

function entriesOf(image: BootImage | undefined, set: string): HistoryOutput['history'] {
  return (image?.status?.history ?? []).map((entry) => {
    const revert = `drydock image revert ${set} --to ${entry.id}`;
    return entry.until === undefined || entry.revertable === false ? entry : { ...entry, revert };
  });
}

async function show({ set, pin, history: entries }: HistoryOutput, goal: HistoryEntry | undefined): Promise<void> {
  const { IMAGE_GONE, pinText } = await import('@drydock/boot-images');
  if (pin !== undefined) say(`${oneLine(`${set} is ${pinText(pin)}`)}\n`);
  if (entries.length === 0) {
    sayError(`drydock: nothing is known yet of the images of ${set}: the operator writes the history (drydock status)`);
    return;
  }
  const columns: readonly Column<HistoryOutput['history'][number]>[] = [
    { header: 'ID', cell: ({ id }) => id },
    { header: 'RELEASE', cell: ({ release = '' }) => release },
    { header: 'BY', cell: ({ by = '' }) => by },
    { header: 'OUTCOME', cell: ({ outcome = '' }) => outcome },
    { header: 'SINCE', cell: ({ since = '' }) => since },
    { header: 'UNTIL', cell: ({ until = '' }) => until },
    { header: 'BACK', cell: (entry) => wayBackCell(entry, IMAGE_GONE) },
    { header: 'IMAGE', cell: ({ image = '' }) => image },
  ];
  say(table(columns, entries));
  for (const line of wayBackRefusals(set, entries, IMAGE_GONE)) say(`${line}\n`);
  const first = entries.find(({ id }) => id === goal?.id);
  if (first?.revert !== undefined) say(`To go back: ${oneLine(first.revert)}\n`);
}
