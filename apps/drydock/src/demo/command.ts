import { processSignals } from '@drydock/kube';
import { type Command, InvalidArgumentError } from 'commander';

/** Adds `drydock demo`. The sandbox behind it is a development dependency, so it is loaded only here. */
export function addDemo(program: Command): void {
  program
    .command('demo')
    .description('update a boot image end to end, with nothing but this machine')
    .option('--size <MiB>', 'size of the generated images', positive, 256)
    .option('--rate <MiB/s>', 'upload rate, slow enough to be seen', positive, 48)
    .option('--no-stay', 'end when it is done, also on a terminal')
    .action(async (flags: { readonly size: number; readonly rate: number; readonly stay: boolean }) => {
      using signals = processSignals();
      const { runDemo } = await import('./run.ts');
      try {
        await runDemo({ ...flags, stay: flags.stay && process.stdout.isTTY === true, signal: signals.signal });
      } catch (error) {
        if (!signals.signal.aborted) throw error;
        process.exitCode = (signals.signal.reason as Error).message === 'SIGTERM' ? 143 : 130;
      }
    });
}

function positive(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) throw new InvalidArgumentError('a whole number above 0 is expected.');
  return value;
}
