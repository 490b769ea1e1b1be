import { SILENCE_MS, type TemplateWish } from '@drydock/templates';
import { escapeName } from '@drydock/vsphere';
import type { Command } from 'commander';
import { exitCode } from '../exit.ts';
import { bytesText, durationText } from './amounts.ts';
import { type PointerFile, pointerRecord, pointTo } from './pointer.ts';
import { checkPrivileges, checkRecord } from './privileges.ts';
import { type Run, verb } from './run.ts';
import type { TemplateSession } from './session.ts';
import { uploadMeter } from './upload-meter.ts';
import { type PublishFlags, publicationOf, publishFlags } from './wish.ts';

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
    const { session, wish, pointer, source } = await publicationOf(run);
    const { folder, server } = wish.placement;
    const size = source.size === undefined ? '' : `, ${bytesText(source.size)}`;
    run.out.note(
      `Release ${source.image.release} (sha256 ${source.image.sha256.slice(0, 12)}…${size}) to ${folder} on ${server}`,
    );
    const { consumer, wait } = run.flags;
    const waitMs = wait === true ? SILENCE_MS + WAIT_MS : WAIT_MS;
    await publish(run, session, wish, { pointer, consumer, waitMs });
    return exitCode.done;
  });
}

/** Publishes a wish, points the pointer to it, and says what became of it; the name is the only thing on stdout. */
export async function publish(
  run: Pick<Run<PublishFlags>, 'out' | 'signal' | 'command'>,
  session: TemplateSession,
  wish: TemplateWish,
  {
    pointer,
    consumer,
    expectWorld,
    waitMs = WAIT_MS,
  }: {
    readonly pointer?: PointerFile | undefined;
    readonly consumer?: string | undefined;
    readonly expectWorld?: string;
    readonly waitMs?: number;
  },
): Promise<void> {
  const { out, signal } = run;
  await checkPrivileges(session.vcenter, wish.placement, wish.tagName !== undefined, { signal });
  if (pointer !== undefined) {
    const holder = await pointerRecord(pointer.path, consumer);
    await checkRecord(session.vcenter, wish.placement, holder, { signal });
  }
  const meter = uploadMeter();
  const published = await session.store.publish(wish, {
    signal,
    holderIsLive: session.holder.isLive,
    ...(expectWorld === undefined ? {} : { expectWorld }),
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
  const { name, release, uploads, absentMs, retired } = published;
  const { folder, server } = wish.placement;
  const pointed = { template: name, release, sha256: wish.image.sha256, server, path: `${folder}/${escapeName(name)}` };
  out.event('published', { ...published, path: pointed.path, server, sha256: pointed.sha256, ...meter.event() });
  const how = uploads > 0 ? meter.text() : 'it was there already, nothing was uploaded';
  out.note(`${absentMs === undefined ? 'Published' : 'Replaced'} ${name}: ${how}`);
  if (absentMs !== undefined) out.note(`The name was absent for ${durationText(absentMs)}, between the two renames`);
  if (retired !== undefined)
    out.note(`The one before is kept as ${retired}; to go back: ${run.command('revert', name)}`);
  if (pointer !== undefined) {
    const changed = await pointTo(session.store, wish.placement, pointed, { pointer, consumer, signal });
    out.event('pointer', { file: pointer.path, template: name, changed });
    out.note(changed ? `Pointed ${pointer.path} to ${name}` : `Unchanged: ${pointer.path} points to ${name}`);
  }
  if (uploads > 0) await warnUnproven(run, session, wish);
  out.data(`${name}\n`);
}

/** An upload may have been needed only because nothing proves a template with the same content. */
async function warnUnproven(
  { out, signal, command }: Pick<Run<PublishFlags>, 'out' | 'signal' | 'command'>,
  { store, settings }: TemplateSession,
  { placement, cluster }: TemplateWish,
): Promise<void> {
  const listed = await store.list(placement, cluster, { signal });
  const [first, ...more] = listed.filter(
    ({ role, proof }) => role === 'unproven' || (proof === 'none' && role !== 'unfinished'),
  );
  if (first === undefined) return;
  const names = more.length === 0 ? first.name : `${first.name} and ${more.length} more`;
  out.warn(`Nothing proves that ${names} of this owner is owned: it is kept and not used`);
  // Without a key, what is adopted would be as unproven for the next run.
  const key = settings.markKey === undefined ? ['--mark-key', 'FILE'] : [];
  out.note(`next: ${command('adopt', '--all', ...key)}`);
}
