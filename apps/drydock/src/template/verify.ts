import type { Command } from 'commander';
import { exitCode } from '../exit.ts';
import { type CheckLine, checkText } from './check-line.ts';
import type { CommonFlags } from './flags.ts';
import { verb } from './run.ts';

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
    const { name, ok, checks } = await store.verify(placement, reference, { signal, tagIds });
    for (const check of checks) out.event('check', { template: name, ...check });
    out.event('verified', { template: name, ok });
    const lines = checks.map(({ ok: good, ...check }): CheckLine => ({ ...check, state: good ? 'ok' : 'FAIL' }));
    out.data(`${name}\n${checkText(lines)}`);
    return ok ? exitCode.done : exitCode.blocked;
  });
}
