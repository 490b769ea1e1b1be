import type { Command } from 'commander';
import { UsageError } from '../exit.ts';

/** Adds the `drydock demo` of an installed program, which lacks the servers that it plays on. */
export function addDemo(program: Command): void {
  program
    .command('demo')
    .description(
      'boot images, the way back, clouds, the watch, the rollback trap and a rehearsed release end to end, with nothing but this machine',
    )
    .helpOption(false)
    .allowUnknownOption()
    .allowExcessArguments()
    .action(() => {
      throw new UsageError(
        'the demo plays on the servers of @drydock/sandbox, which only a checkout has. Get one, and run "make demo" there.',
      );
    });
}
