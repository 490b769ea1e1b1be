import { processSignals } from '@drydock/kube';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { CHAPTERS, type Chapter, chaptersOf } from './chapters.ts';

interface DemoFlags {
  readonly chapters: readonly Chapter[];
  readonly size: number;
  readonly rate: number;
  readonly fleet: number;
  readonly stay: boolean;
}

/** Adds `drydock demo`. The sandbox behind it is a development dependency, so it is loaded only here. */
export function addDemo(program: Command): void {
  program
    .command('demo')
    .description(
      'boot images, the way back, clouds, the watch, the rollback trap and a rehearsed release end to end, with nothing but this machine',
    )
    .addOption(
      new Option('--chapters <list>', `comma-separated: ${CHAPTERS.join(', ')}`)
        .argParser(chosen)
        .default(CHAPTERS, 'all'),
    )
    .option('--size <MiB>', 'size of the generated images', positive, 256)
    .option('--rate <MiB/s>', 'upload rate, slow enough to be seen', positive, 48)
    .option('--fleet <machines>', 'machines of the synthetic vCenter on which latency is measured', positive, 2000)
    .option('--no-stay', 'end when it is done, also on a terminal')
    .action(async (flags: DemoFlags) => {
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

function chosen(text: string): readonly Chapter[] {
  const chapters = chaptersOf(text);
  if (chapters === undefined) throw new InvalidArgumentError(`the chapters are ${CHAPTERS.join(', ')}.`);
  return chapters;
}

function positive(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) throw new InvalidArgumentError('a whole number above 0 is expected.');
  return value;
}
