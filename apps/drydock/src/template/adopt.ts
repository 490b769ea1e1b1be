import type { ListedTemplate } from '@drydock/templates';
import type { Command } from 'commander';
import { exitCode, UsageError } from '../exit.ts';
import { age, type Column, table } from '../table.ts';
import type { CommonFlags } from './flags.ts';
import { roleText } from './list.ts';
import { confirm } from './question.ts';
import { verb } from './run.ts';

/** Flags that a planned adoption has, too. */
export interface AdoptFlags extends CommonFlags {
  readonly release?: string;
}

interface AdoptionFlags extends AdoptFlags {
  readonly all?: boolean;
  readonly yes?: boolean;
}

/** What a person needs to know before saying that a template is theirs. */
const columns = (now: number): readonly Column<ListedTemplate>[] => [
  { header: 'NAME', cell: ({ name }) => name },
  { header: 'ROLE', cell: roleText },
  { header: 'MOREF', cell: ({ ref }) => ref.value },
  { header: 'AGE', cell: ({ createdAt }) => age(createdAt, now) },
  { header: 'KEYS', cell: ({ keyIds = [] }) => keyIds.join(' ') },
  { header: 'HELD BY', cell: ({ pointers = [] }) => pointers.join(', ') },
  { header: 'NOTE', cell: ({ reason }) => reason ?? '' },
];

const KEYLESS = 'without a mark key, an adoption proves nothing to later commands; give --mark-key';

/** Adds `drydock template adopt`. */
export function addAdopt(group: Command): void {
  const command = group
    .command('adopt')
    .description('record that templates are owned, here and by a custom attribute')
    .argument('[templates...]', 'names, paths or instance UUIDs')
    .option('--all', "all templates of the owner that nothing proves, such as version 0.1.0's")
    .option('--yes', 'Do not ask for confirmation');
  verb<AdoptionFlags>(adoptFlags(command), async (run) => {
    const { flags, out, signal } = run;
    const all = flags.all === true;
    if (all === run.args.length > 0) throw new UsageError('name the templates to adopt, or give --all');
    run.about({ subject: run.args[0] ?? 'TEMPLATE' });
    const session = await run.session();
    const placement = await run.place(session, 'folder');
    const { owner } = session.settings;
    const listed = all ? await session.store.list(placement, owner, { signal }) : [];
    const unproven = listed.filter(({ role, isTemplate }) => role === 'unproven' && isTemplate);
    if (all) {
      if (unproven.length === 0) {
        const why = session.keys.known.size > 0 ? `every template of ${owner} is proven` : KEYLESS;
        out.note(`Nothing to adopt in ${placement.folder}: ${why}`);
        return exitCode.done;
      }
      out.note(table(columns(Date.now()), unproven, { wide: true }).trimEnd());
      const again = run.command('adopt', '--all');
      const question = `Record that ${unproven.length === 1 ? 'this template is' : `these ${unproven.length} templates are`} owned by ${owner}?`;
      if (!(await confirm(question, { yes: flags.yes === true, again, signal }))) {
        out.note('Nothing was adopted');
        return exitCode.undecided;
      }
    }
    for (const reference of all ? unproven.map(({ instanceUuid }) => instanceUuid) : run.args) {
      const adopted = await session.store.adopt(
        {
          ...{ placement, owner, reference, holder: session.holder.identity },
          ...(flags.release === undefined ? {} : { release: flags.release }),
        },
        { signal },
      );
      out.event('adopted', { ...adopted, ref: adopted.ref.value });
      out.note(
        `Adopted ${adopted.name} (release ${adopted.release ?? 'unknown'}) for the owner ${owner}; it was not changed otherwise`,
      );
      out.data(`${adopted.name}\n`);
    }
    return exitCode.done;
  });
}

/** Adds the flags of an adoption. */
export function adoptFlags(command: Command): Command {
  return command.option('--release <text>', 'its release (default: its product version)');
}
