import { NAME_LIMIT, TemplateError, type TemplateWish } from '@drydock/templates';
import type { Command } from 'commander';
import { wholeNumber } from '../flag-numbers.ts';
import type { CommonFlags } from './flags.ts';
import { withFlag } from './next-command.ts';
import { openPointer, type PointerFile } from './pointer.ts';
import { TemplateProblem } from './problem.ts';
import type { Run } from './run.ts';
import type { TemplateSession } from './session.ts';
import { openSource, type Source } from './source.ts';

/** Flags that say what is published and how. */
export interface PublishFlags extends CommonFlags {
  readonly name: string;
  readonly swap?: boolean;
  readonly retireUnmarked?: boolean;
  readonly pointer?: string;
  readonly pointerVariable: string;
  readonly consumer?: string;
  readonly release?: string;
  readonly sha256?: string;
  readonly disk?: string;
  readonly reserve?: number;
  readonly wait?: boolean;
}

/** What `--disk` takes: the words of the server. */
const DISKS = ['thin', 'thick', 'eagerZeroedThick'] as const;

/** Adds the flags of a publication. */
export function publishFlags(command: Command): Command {
  return command
    .requiredOption('--name <name>', 'stable name with --swap, else what the new names begin with')
    .option('--pointer <file>', 'replace this .json, .tfvars or .tfvars.json file with the new name')
    .option('--pointer-variable <name>', 'variable in a tfvars file', 'template')
    .option('--consumer <name>', 'how the pointer is called on the template (default: the file and this host)')
    .option('--swap', 'keep the stable name: rename the old template away and the new one in')
    .option('--retire-unmarked', 'with --swap: also put away a template that nobody marked')
    .option('--release <text>', "release of the image (default: the OVA's product version)")
    .option('--sha256 <hex>', 'digest of the OVA (default for an address: what <address>.sha256 says)')
    .option('--disk <kind>', `${DISKS.join('|')} (default: as the replaced template)`)
    .option('--reserve <GiB>', 'space that must stay free on the datastore (default: 1)', wholeNumber);
}

/** Refuses flags that contradict each other, before anything is read. */
function checkFlags({ name, swap, retireUnmarked, pointer, disk }: PublishFlags): void {
  if (name === '' || name.length > NAME_LIMIT) {
    throw new TemplateError({
      code: 'NAME_TOO_LONG',
      message: `the name has ${name.length} characters, and vCenter takes 1 to ${NAME_LIMIT}`,
    });
  }
  if (disk !== undefined && !DISKS.some((known) => known === disk)) {
    throw new TemplateProblem({
      code: 'DISK_UNKNOWN',
      message: `--disk ${disk} is no way to provision disks: there are ${DISKS.join(', ')}`,
      next: ({ again }) => withFlag(again, '--disk', 'thin'),
    });
  }
  if (swap !== true && /[%/\\]/.test(name)) {
    throw new TemplateProblem({
      code: 'NAME_INVALID',
      message: `the name ${name} has one of / \\ %, which vCenter keeps in another form, so that nobody finds a template by it`,
      next: ({ again }) => withFlag(again, '--name', name.replaceAll(/[%/\\]+/g, '-')),
    });
  }
  if (swap === true && pointer !== undefined) {
    throw new TemplateProblem({
      code: 'FLAGS_CONTRADICT',
      message: '--swap keeps the name, so that nothing needs a pointer: give --swap or --pointer',
    });
  }
  if (swap !== true && retireUnmarked === true) {
    throw new TemplateProblem({
      code: 'FLAGS_CONTRADICT',
      message: '--retire-unmarked belongs to --swap: without it no template is put away',
    });
  }
}

/** A publication as far as it can be made out before anything is changed. */
export interface Publication {
  readonly session: TemplateSession;
  readonly wish: TemplateWish;
  readonly pointer: PointerFile | undefined;
  readonly source: Source;
}

/** Refuses what cannot be published before vCenter is asked. The first argument is the OVA. */
export async function publicationOf(run: Run<PublishFlags>): Promise<Publication> {
  const { flags, out, signal } = run;
  const [argument = ''] = run.args;
  const { name, pointer: path, sha256, release, disk, reserve, swap } = flags;
  run.about({ subject: name, source: argument });
  checkFlags(flags);
  const pointer = path === undefined ? undefined : await openPointer(path, flags.pointerVariable);
  const source = await openSource(argument, {
    ...{ cacheDir: (await run.settings()).cacheDir, out, signal },
    ...(sha256 === undefined ? {} : { sha256 }),
    ...(release === undefined ? {} : { release }),
  });
  const { session, placement, owner } = await run.open('import', { ovas: source.ovas });
  const { tag } = session.settings;
  const wish: TemplateWish = {
    cluster: owner,
    // The name under which a swap imports is never used by others: it need not have what vCenter escapes and the simulator cannot import.
    base: swap === true ? name.replaceAll(/[%/\\]+/g, '-') : name,
    image: source.image,
    placement,
    publication:
      swap === true
        ? { kind: 'swap', name, unmarked: flags.retireUnmarked === true ? 'retire' : 'refuse' }
        : { kind: 'pointer' },
    ...(swap === true ? { replaces: name } : {}),
    ...(disk === undefined ? {} : { diskProvisioning: disk }),
    ...(tag === undefined ? {} : { tagName: tag }),
    ...(reserve === undefined ? {} : { reserveBytes: reserve * 2 ** 30 }),
    tagIds: [],
    holder: session.holder.identity,
  };
  return { session, wish, pointer, source };
}
