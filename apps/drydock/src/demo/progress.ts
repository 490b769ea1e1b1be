import { setTimeout as sleep } from 'node:timers/promises';
import { BootImage } from '@drydock/api';
import type { Client } from '@drydock/kube';
import { machineApi } from './cluster.ts';
import type { Telling } from './telling.ts';

/**
 * Shows what the BootImage objects report until `done` holds: a bar for each moving set on a terminal, else a line for each change
 * of phase and each tenth of an upload. Throws when nothing has changed for `deadline` (ms): what is slow but moves is waited for.
 */
export async function showProgress(
  client: Client,
  done: (images: readonly BootImage[]) => boolean,
  options: {
    readonly tell: Telling;
    readonly deadline: number;
    readonly signal: AbortSignal;
    readonly alive: () => void;
    readonly tty?: boolean;
  },
): Promise<readonly BootImage[]> {
  const tty = options.tty ?? process.stdout.isTTY === true;
  const { tell } = options;
  const began = performance.now();
  let reached = '';
  let changed = began;
  const printed = new Map<string, string>();
  let drawn = 0;
  for (;;) {
    options.signal.throwIfAborted();
    options.alive();
    const images = (await Array.fromAsync(client.list(BootImage, { namespace: machineApi }, options))).toSorted(
      (a, b) => a.metadata.name.localeCompare(b.metadata.name),
    );
    if (tty) {
      const lines = [...images.map(bar), `  ${Math.round((performance.now() - began) / 1_000)} s`];
      tell.progress(`${drawn > 0 ? `\u001b[${drawn}A` : ''}${lines.map((line) => `\u001b[2K${line}\n`).join('')}`);
      drawn = lines.length;
    } else {
      for (const image of images) {
        const step = stepOf(image);
        if (printed.get(image.metadata.name) === step) continue;
        printed.set(image.metadata.name, step);
        tell.progress(`  ${(image.status?.set ?? image.metadata.name).padEnd(18)} ${step}\n`);
      }
    }
    if (done(images)) return images;
    const now = images.map(detailOf).join('\n');
    if (now !== reached) changed = performance.now();
    reached = now;
    if (performance.now() - changed > options.deadline) {
      throw new Error(
        `nothing has changed for ${options.deadline / 1000} s, and the boot images did not get there:\n${now}`,
      );
    }
    await sleep(tty ? 100 : 250, undefined, { signal: options.signal });
  }
}

function share(image: BootImage): number | undefined {
  const detail = image.status?.progressDetail;
  return detail?.bytes === undefined || !detail.total ? undefined : detail.bytes / detail.total;
}

function stepOf(image: BootImage): string {
  const { phase = 'Pending', progress = '-' } = image.status ?? {};
  const done = share(image);
  if (done === undefined) return `${phase}${progress === '-' ? '' : `  ${progress}`}`;
  return `${phase}  ${Math.floor(done * 10) * 10}%`;
}

function detailOf(image: BootImage): string {
  const { phase, progress, set, message, nextStep } = image.status ?? {};
  return `  ${set} ${phase} ${progress ?? ''}: ${message ?? '-'}${nextStep === undefined ? '' : `; ${nextStep}`}`;
}

function bar(image: BootImage): string {
  const { phase = 'Pending', progress = '', set = image.metadata.name } = image.status ?? {};
  const done = share(image);
  const width = 24;
  const filled = Math.round((done ?? 0) * width);
  const meter = done === undefined ? ' '.repeat(width + 2) : `[${'█'.repeat(filled)}${'·'.repeat(width - filled)}]`;
  return `  ${set.padEnd(18)} ${phase.padEnd(12)} ${meter} ${progress}`.slice(0, (process.stdout.columns ?? 120) - 1);
}
