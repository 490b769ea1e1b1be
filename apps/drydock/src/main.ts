import { basename } from 'node:path';
import { debugText } from '@drydock/api/text';
import { Command, CommanderError } from 'commander';
import { addConfigFlags, applySettings } from './config/apply.ts';
import { type Found, originsOf } from './config/found.ts';
import { addExamples } from './examples.ts';
import { exitCode, NextStepError, UsageError } from './exit.ts';
import { sayError, tell } from './terminal.ts';
import { VERSION } from './version.ts';

/** A command, which is loaded only when somebody names it: all of them together take most of a second. */
interface Verb {
  readonly name: string;
  /** As its own file describes it. */
  readonly about: string;
  readonly load: () => Promise<(program: Command) => void>;
}

/** All commands, in the order of the help. */
export const VERBS: readonly Verb[] = [
  {
    name: 'status',
    about: 'show the boot image of every machine set',
    load: async () => (await import('./status-command.ts')).addStatus,
  },
  {
    name: 'tree',
    about: 'show all sets by release, place and image: what is fine is folded, what is not stands out',
    load: async () => (await import('./tree/command.ts')).addTree,
  },
  {
    name: 'doctor',
    about: 'look at everything that the operator needs: rights, definitions, who acts, vCenters, machine sets',
    load: async () => (await import('./doctor/command.ts')).addDoctor,
  },
  {
    name: 'explain',
    about: 'say why a machine set boots from what it boots from, and what comes next',
    load: async () => (await import('./explain/command.ts')).addExplain,
  },
  {
    name: 'machines',
    about: 'show which machine was made from which image, and which images are old',
    load: async () => (await import('./machines/command.ts')).addMachines,
  },
  {
    name: 'history',
    about: 'show what happened to sets and releases: who did what, when, for which release',
    load: async () => (await import('./history/command.ts')).addHistory,
  },
  {
    name: 'wait',
    about: 'wait until machine sets have the image, the release or the phase that is wanted',
    load: async () => (await import('./wait/command.ts')).addWait,
  },
  {
    name: 'pause',
    about: 'let the operator end what is under way and begin nothing, until resume',
    load: async () => (await import('./pause/command.ts')).addPause,
  },
  {
    name: 'resume',
    about: 'let the operator go on after a pause',
    load: async () => (await import('./pause/command.ts')).addResume,
  },
  {
    name: 'image',
    about: 'plan, apply, stage, pin and take back the images that new machines start from',
    load: async () => (await import('./image/command.ts')).addImage,
  },
  {
    name: 'template',
    about: 'publish, list and revert vSphere templates, without Kubernetes',
    load: async () => (await import('./template/command.ts')).addTemplate,
  },
  {
    name: 'watch',
    about: 'see changes of vSphere machines as they happen',
    load: async () => (await import('./watch/command.ts')).addWatch,
  },
  {
    name: 'crd',
    about: 'see what an older or a newer definition would refuse or lose',
    load: async () => (await import('./crd/command.ts')).addCrd,
  },
  {
    name: 'release',
    about:
      'see what a release brings, who signed it and what it would do; apply it, go back to an older one, and free what a way back has stuck',
    load: async () => (await import('./release/command.ts')).addRelease,
  },
  {
    name: 'node',
    about: 'install static pods and their certificates on this node, and look after them',
    load: async () => (await import('./node.ts')).addNode,
  },
  {
    name: 'page',
    about: 'show on a web page of this machine where new machines can be made now, and what happens',
    load: async () => (await import('./page/command.ts')).addPage,
  },
  {
    name: 'support-bundle',
    about:
      'write what a maintainer needs to a file: versions, flags, objects, Events, findings, metrics and logs, no secrets',
    load: async () => (await import('./support-bundle/command.ts')).addSupportBundle,
  },
  {
    name: 'uninstall',
    about: 'take off what Drydock has put into the cluster, and say what stays',
    load: async () => (await import('./uninstall/command.ts')).addUninstall,
  },
  {
    name: 'config',
    about: 'show the contexts of the config file, and choose one of them',
    load: async () => (await import('./config/command.ts')).addConfig,
  },
  {
    name: 'completion',
    about: 'print what makes a shell complete verbs, flags and names of the cluster',
    load: async () => (await import('./completion/command.ts')).addCompletion,
  },
  { name: 'operator', about: 'run the controllers', load: async () => (await import('./operator.ts')).addOperator },
  {
    name: 'demo',
    about:
      'boot images, the way back, clouds, the watch, the rollback trap and a rehearsed release end to end, with nothing but this machine',
    load: async () => (await import('./demo/command.ts')).addDemo,
  },
];

/** Runs the command line: data on stdout, everything else on stderr, exit codes by the one table. */
export async function main(argv: readonly string[]): Promise<void> {
  // A reader that goes away (`… | head`) ends no verb: it goes on to its end, and its exit code says what came of it.
  for (const stream of [process.stdout, process.stderr])
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error;
    });
  const called = basename(argv[1] ?? '');
  const plugin = called.startsWith('kubectl-');
  // What kubectl runs, and what the scripts of shells do: the words of a line that is not finished.
  const unfinished = called.startsWith('kubectl_complete-') ? 2 : argv[2] === '__complete' ? 3 : undefined;
  const program = new Command(plugin ? 'kubectl drydock' : 'drydock')
    .description('Keeps the machine layer of Kubernetes clusters current and crash-safe.')
    .version(VERSION)
    .showHelpAfterError('(use --help to see what there is)')
    // Every message begins with who says it.
    .configureOutput({ outputError: (text, write) => write(text.replace(/^error: /, 'drydock: ')) })
    .addHelpText('after', VARIABLES)
    .exitOverride();
  let taken: ReadonlyMap<string, Found> = new Map();
  try {
    // Of any verb it can be asked where its flags have their values from.
    const all = argv.includes('config', 2) && argv.some((word) => word.startsWith('--sources'));
    for (const { name, about, load } of VERBS) {
      // A word that only looks like a command costs time, and nothing else.
      if (all || argv.includes(name, 2)) (await load())(program);
      else program.command(name).description(about);
    }
    addExamples(program);
    addConfigFlags(program);
    program.hook('preAction', async (_, command) => {
      taken = await applySettings(command);
    });
    // A verb may have a --version of its own, as that of an image. Groups have theirs wherever they stand, and commands inherit the setting when they are made.
    program.enablePositionalOptions();
    if (unfinished !== undefined) {
      const { complete } = await import('./completion/complete.ts');
      await complete(program, argv.slice(unfinished));
      // Whatever waits for a cluster holds no shell up.
      process.exit(exitCode.done);
    }
    await program.parseAsync(helpOf(argv));
  } catch (error) {
    process.exitCode = report(error, taken);
  }
}

/** `help template list` as `template list --help`: the library's own knows one word. */
function helpOf(argv: readonly string[]): string[] {
  const [node = '', file = '', word, ...path] = argv;
  return word === 'help' && path.length > 1 ? [node, file, ...path, '--help'] : [...argv];
}

const VARIABLES = `
Each flag has a variable, which the help of its verb names: --lease-namespace is DRYDOCK_LEASE_NAMESPACE. What a variable does not say is taken
from the context of the config file: see "drydock config --help".`;

function report(error: unknown, taken: ReadonlyMap<string, Found>): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCode.done : exitCode.usage;
  sayError(`drydock: ${error instanceof Error ? error.message : String(error)}`);
  if (error instanceof Error) for (const text of originsOf(error.message, taken)) sayError(text);
  if (error instanceof NextStepError) sayError(`next: ${error.next}`);
  if (error instanceof UsageError) return exitCode.usage;
  if (process.env['DRYDOCK_DEBUG'] !== undefined) tell(`${debugText(error)}\n`);
  return exitCode.failed;
}
