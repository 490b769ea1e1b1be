import type { Command } from 'commander';

/** Adds `drydock node …`: the program of the node pods, under the roof of this one. */
export function addNode(program: Command): void {
  program
    .enablePositionalOptions()
    .command('node')
    .description('install static pods and their certificates on this node, and look after them')
    .usage('<install|cert-sync|prune|startup-monitor|recover|doctor> [options]')
    .argument('[arguments...]')
    .helpOption(false)
    .allowUnknownOption()
    .passThroughOptions()
    .action(async (rest: readonly string[]) => {
      // Loaded here alone: no other verb needs what it binds of the operating system.
      const { main } = await import('@drydock/node');
      await main([...process.argv.slice(0, 2), ...rest]);
    });
}
