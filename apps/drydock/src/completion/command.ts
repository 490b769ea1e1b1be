import { Argument, type Command } from 'commander';
import { exitCode } from '../exit.ts';
import { say } from '../terminal.ts';
import { SHELLS, scriptOf } from './scripts.ts';

/** Adds `drydock completion`: the script of a shell. What it offers is asked of the command line itself, each time. */
export function addCompletion(program: Command): void {
  program
    .command('completion')
    .description('print what makes a shell complete verbs, flags and names of the cluster')
    .addArgument(new Argument('<shell>').choices(SHELLS))
    .addHelpText(
      'after',
      `
Example:
  source <(drydock completion bash)
  drydock completion zsh > "\${fpath[1]}/_drydock"
  drydock completion fish > ~/.config/fish/completions/drydock.fish

As a plugin of kubectl: ln -s "$(command -v drydock)" ~/.local/bin/kubectl_complete-drydock, in a folder of PATH.
Names are asked of the cluster that the line names, for one second, in silence.`,
    )
    .action((shell: (typeof SHELLS)[number]) => {
      say(scriptOf(shell));
      process.exitCode = exitCode.done;
    });
}
