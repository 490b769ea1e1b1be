import { setTimeout as sleep } from 'node:timers/promises';
import type { BootImage } from '@drydock/api';
import { jsonText, oneLine } from '@drydock/api/text';
import type { Observer } from '@drydock/kube';
import { isLed } from './cluster-standings.ts';
import { sayAs } from './output/format.ts';
import { pageTriggers } from './page/triggers.ts';
import { leaderText, NO_SETS, printStatus, type Shown, type StatusNow, stuckText, troublesText } from './status.ts';
import { redraw, say, sayError, tell } from './terminal.ts';
import { verdictText } from './verdict.ts';
import { yamlText } from './yaml.ts';

/** How long (ms) it is at most until the next look, so that ages go on and nothing that no watch tells of is missed. */
const LONGEST_MS = 10_000;
/** And at least, where much changes. */
const SHORTEST_MS = 500;

/** What is watched, and how it is shown. */
export interface StatusWatch {
  readonly client: Observer;
  readonly look: () => Promise<StatusNow>;
  readonly shown: Shown;
  readonly leaseNamespace: string;
  readonly signal: AbortSignal;
}

/** Shows the status whenever it changes, until the signal, with whose reason it rejects. A look that fails is told, and made again; the first one rejects. */
export async function watchStatus({ client, look, shown, leaseNamespace, signal }: StatusWatch): Promise<never> {
  let changed = Promise.withResolvers<void>();
  const show = shown.format.people && process.stdout.isTTY ? whole(shown) : changes(shown);
  show(await look());
  await using _triggers = pageTriggers(client, leaseNamespace, () => changed.resolve());
  // Watches take a moment to begin: what changes meanwhile is seen by the second look.
  let longest = 2_000;
  for (;;) {
    await sleep(SHORTEST_MS, undefined, { signal });
    const tick = new AbortController();
    const over = AbortSignal.any([signal, tick.signal]);
    await Promise.race([changed.promise, sleep(longest, undefined, { signal: over }).catch(() => undefined)]);
    tick.abort();
    longest = LONGEST_MS;
    signal.throwIfAborted();
    // What changes during the look is looked at again.
    changed = Promise.withResolvers<void>();
    try {
      show(await look());
    } catch (error) {
      signal.throwIfAborted();
      sayError(`drydock: ${error instanceof Error ? error.message : String(error)}; it is looked at again`);
    }
  }
}

/** On a terminal: everything, in place of what stood there. */
function whole({ format, headers, namespaces }: Shown): (found: StatusNow) => void {
  return (found) => {
    const { images, leader, notes, verdicts } = found;
    const now = found.now.getTime();
    const table =
      images.length === 0 ? `${NO_SETS}\n` : printStatus(images, format, { headers, now, notes, namespaces });
    const below = `${troublesText(found)}${stuckText(images)}${verdictText(verdicts, isLed(leader), now)}`;
    redraw(`${headers ? leaderText(leader, now) : ''}${table}${below}`);
  };
}

/** Elsewhere: all sets, and then each that changes; on stderr what changes beside them. */
function changes({ format, headers, namespaces }: Shown): (found: StatusNow) => void {
  const known = new Map<string, string>();
  let [first, beside] = [true, ''];
  return (found) => {
    const { images, leader, notes } = found;
    const now = found.now.getTime();
    const news = images.filter((image) => known.get(keyOf(image)) !== JSON.stringify(image));
    // Not since when: what was once led is not led since another moment.
    const leads = JSON.stringify({ ...leader, since: undefined });
    if (leads !== beside) tell(leaderText(leader, now));
    beside = leads;
    if (first && images.length === 0) sayError(NO_SETS);
    for (const name of known.keys())
      if (!images.some((image) => keyOf(image) === name)) {
        known.delete(name);
        sayError(`${oneLine(name)} is gone`);
      }
    for (const image of news) known.set(keyOf(image), JSON.stringify(image));
    if (format.people && news.length > 0)
      say(printStatus(news, format, { headers: headers && first, now, notes, namespaces, steady: true }));
    if (!format.people) for (const image of news) printOne(image, format);
    first = false;
  };
}

function printOne(image: BootImage, format: Shown['format']): void {
  const object = { apiVersion: 'drydock.dev/v1alpha1', kind: 'BootImage', ...image };
  if (format.kind === 'json') say(`${jsonText(object)}\n`);
  else if (format.kind === 'yaml') say(`---\n${yamlText(object)}`);
  else if (format.kind === 'name') say(`bootimage.drydock.dev/${oneLine(image.metadata.name)}\n`);
  else sayAs(format, `${format.apply?.(object) ?? ''}\n`);
}

function keyOf({ metadata }: BootImage): string {
  return `${metadata.namespace ?? ''}/${metadata.name}`;
}
