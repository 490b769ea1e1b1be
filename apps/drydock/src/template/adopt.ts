import type { Command } from 'commander';
import { exitCode } from '../exit.ts';
import type { CommonFlags } from './flags.ts';
import { verb } from './run.ts';

/** Flags of an adoption. */
export interface AdoptFlags extends CommonFlags {
  readonly release?: string;
}

/** Adds `drydock template adopt`. */
export function addAdopt(group: Command): void {
  const command = group
    .command('adopt')
    .description('bring a template that somebody made by hand under management, by a custom attribute')
    .argument('<template>', 'name, path or instance UUID');
  verb<AdoptFlags>(adoptFlags(command), async (run) => {
    const { flags, out, signal } = run;
    const [reference = ''] = run.args;
    run.about({ subject: reference });
    const session = await run.session();
    const placement = await run.place(session, 'folder');
    const { owner } = session.settings;
    const adopted = await session.store.adopt(
      {
        placement,
        owner,
        reference,
        holder: session.holder.identity,
        ...(flags.release === undefined ? {} : { release: flags.release }),
      },
      { signal },
    );
    out.event('adopted', { ...adopted, ref: adopted.ref.value });
    out.note(
      `Adopted ${adopted.name} (release ${adopted.release ?? 'unknown'}) for the owner ${owner}; it was not changed otherwise`,
    );
    out.data(`${adopted.name}\n`);
    return exitCode.done;
  });
}

/** Adds the flags of an adoption. */
export function adoptFlags(command: Command): Command {
  return command.option('--release <text>', 'its release (default: its product version)');
}
