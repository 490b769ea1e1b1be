import type { Verification } from '@drydock/templates';
import type { Command } from 'commander';
import { exitCode } from '../exit.ts';
import { type CheckLine, checkText } from './check-line.ts';
import type { CommonFlags } from './flags.ts';
import { verb } from './run.ts';

/** A verification as lines. */
export function verificationLines({ checks }: Verification): readonly CheckLine[] {
  return checks.map(({ name, ok, detail, next }) => ({
    name,
    state: ok ? 'ok' : 'FAIL',
    detail,
    ...(next === undefined || ok ? {} : { next }),
  }));
}

/** Adds `drydock template verify`. */
export function addVerify(group: Command): void {
  const command = group
    .command('verify')
    .description('check one template: mark, digest, template flag, tags, hosts, tasks')
    .argument('<template>', 'name, path or instance UUID');
  verb<CommonFlags>(command, async ({ out, signal, subject, open }) => {
    const reference = subject();
    const { session, store, placement } = await open('import');
    const { tag } = session.settings;
    const tagIds = tag === undefined ? [] : (await session.vcenter.tags.named(tag, { signal })).map(({ id }) => id);
    const verification = await store.verify(placement, reference, { signal, tagIds });
    for (const check of verification.checks) out.event('check', { template: verification.name, ...check });
    out.event('verified', { template: verification.name, ok: verification.ok });
    out.data(`${verification.name}\n${checkText(verificationLines(verification))}`);
    return verification.ok ? exitCode.done : exitCode.blocked;
  });
}
