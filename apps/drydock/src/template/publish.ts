import { type PublishedTemplate, SILENCE_MS, type TemplateWish } from '@drydock/templates';
import { escapeName } from '@drydock/vsphere';
import type { Command } from 'commander';
import { exitCode } from '../exit.ts';
import { bytesText, durationText } from './amounts.ts';
import type { Output } from './output.ts';
import { openPointer, type PointerFile, pointerRecord } from './pointer.ts';
import { checkPrivileges, checkRecord } from './privileges.ts';
import { type Run, verb } from './run.ts';
import type { TemplateSession } from './session.ts';
import { openSource } from './source.ts';
import { uploadMeter } from './upload-meter.ts';
import { checkFlags, type PublishFlags, publishFlags, wishOf } from './wish.ts';

/** How long (ms) to wait for another importer or a task; with `--wait` {@link SILENCE_MS} longer, after which an importer counts as dead. */
const WAIT_MS = 60_000;

/** Adds `drydock template publish`. */
export function addPublish(group: Command): void {
  const command = group
    .command('publish')
    .description('put an OVA into vCenter as a template; the one before it stays')
    .argument('<ova>', 'file, or http(s) address');
  const withFlags = publishFlags(command).option(
    '--wait',
    'wait up to 11 minutes for another importer to finish or die',
  );
  verb<PublishFlags>(withFlags, async (run) => {
    const { flags, out, signal } = run;
    const [argument = ''] = run.args;
    run.about({ subject: flags.name, source: argument });
    checkFlags(flags);
    const pointer = flags.pointer === undefined ? undefined : await openPointer(flags.pointer, flags.pointerVariable);
    const { cacheDir } = await run.settings();
    const source = await openSource(argument, {
      cacheDir,
      out,
      signal,
      ...(flags.sha256 === undefined ? {} : { sha256: flags.sha256 }),
      ...(flags.release === undefined ? {} : { release: flags.release }),
    });
    const session = await run.session({ ovas: source.ovas });
    const placement = await run.place(session, 'import');
    const size = source.size === undefined ? '' : `, ${bytesText(source.size)}`;
    out.note(
      `Release ${source.image.release} (sha256 ${source.image.sha256.slice(0, 12)}…${size}) to ${placement.folder} on ${placement.server}`,
    );
    const { consumer, wait } = flags;
    const waitMs = wait === true ? SILENCE_MS + WAIT_MS : WAIT_MS;
    await publish(run, session, wishOf(flags, session, placement, source), { pointer, consumer, waitMs });
    return exitCode.done;
  });
}

/** Publishes a wish, points the pointer to it, and says what became of it; the name is the only thing on stdout. */
export async function publish(
  run: Pick<Run<PublishFlags>, 'out' | 'signal' | 'command'>,
  session: TemplateSession,
  wish: TemplateWish,
  options: {
    readonly pointer?: PointerFile | undefined;
    readonly consumer?: string | undefined;
    readonly expectWorld?: string;
    readonly waitMs?: number;
  },
): Promise<void> {
  const { out, signal } = run;
  const { waitMs = WAIT_MS } = options;
  await checkPrivileges(session.vcenter, wish.placement, wish.tagName !== undefined, { signal });
  if (options.pointer !== undefined) {
    const holder = await pointerRecord(options.pointer.path, options.consumer);
    await checkRecord(session.vcenter, wish.placement, holder, { signal });
  }
  const meter = uploadMeter();
  const published = await session.store.publish(wish, {
    signal,
    holderIsLive: session.holder.isLive,
    ...(options.expectWorld === undefined ? {} : { expectWorld: options.expectWorld }),
    waitMs,
    onWait: (name) => {
      out.event('waiting', { name, ms: waitMs });
      const why = 'another process may still be importing it, or a task runs on it';
      out.note(`Waiting up to ${waitMs / 60_000} min for ${name}: ${why}`);
    },
    announce: async ({ name, id, instanceUuid }) => {
      out.event('import', { name, operation: id, instanceUuid });
    },
    onProgress: (progress) => {
      meter.see(progress);
      out.progress(progress);
    },
  });
  out.settle();
  const { folder, server } = wish.placement;
  const path = `${folder}/${escapeName(published.name)}`;
  const { sha256 } = wish.image;
  out.event('published', { ...published, path, server, sha256, ...meter.event() });
  tell(out, run, wish, published, meter.text());
  if (options.pointer !== undefined) {
    const pointer = { template: published.name, release: published.release, sha256, server, path };
    const what = await pointerRecord(options.pointer.path, options.consumer);
    // First the record: a template that is pointed at and does not say so could be collected.
    await session.store.hold(wish.placement, published.name, what, { signal });
    const changed = await options.pointer.point(pointer);
    await session.store.release(wish.placement, what, { except: published.name, signal });
    out.event('pointer', { file: options.pointer.path, template: published.name, changed });
    out.note(
      `${changed ? 'Pointed' : 'Unchanged:'} ${options.pointer.path}${changed ? ` to ${published.name}` : ` points to ${published.name}`}`,
    );
  }
  if (published.uploads > 0) await warnUnproven(run, session, wish);
  out.data(`${published.name}\n`);
}

/** An upload may have been needed only because nothing proves a template with the same content. */
async function warnUnproven(
  { out, signal, command }: Pick<Run<PublishFlags>, 'out' | 'signal' | 'command'>,
  { store }: TemplateSession,
  { placement, cluster }: TemplateWish,
): Promise<void> {
  const unproven = (await store.list(placement, cluster, { signal })).filter(({ role }) => role === 'unproven');
  const [first] = unproven;
  if (first === undefined) return;
  const more = unproven.length === 1 ? '' : ` and ${unproven.length - 1} more`;
  out.warn(`Nothing proves that ${first.name}${more} of this owner is owned: it is kept and not used`);
  out.note(`next: ${command('adopt', '--all')}`);
}

function tell(
  out: Output,
  run: Pick<Run<PublishFlags>, 'command'>,
  wish: TemplateWish,
  { name, uploads, absentMs, retired }: PublishedTemplate,
  uploaded: string,
): void {
  const swap = wish.publication?.kind === 'swap';
  const how = uploads > 0 ? uploaded : 'it was there already, nothing was uploaded';
  out.note(`${swap && absentMs !== undefined ? 'Replaced' : 'Published'} ${name}: ${how}`);
  if (absentMs !== undefined) out.note(`The name was absent for ${durationText(absentMs)}, between the two renames`);
  if (retired !== undefined) {
    out.note(`The one before is kept as ${retired}; to go back: ${run.command('revert', name)}`);
  }
}
