import { Event } from '@drydock/api';
import { exitCode } from '../exit.ts';
import type { OperatorProcess } from '../process/operator-process.ts';
import { samplesOf } from '../watch/samples.ts';
import { type WatchLine, watchLines } from '../watch/status.ts';
import { machineApi, machineSets, templatesOf } from './cluster.ts';
import { drydock } from './command-line.ts';
import { folderPath } from './inventory.ts';
import { awaited, spent } from './patience.ts';
import { type Stage, vcenterName } from './stage.ts';

/** The set whose template is destroyed. */
const SET = 'worker-a';
const UP_MS = 60_000;
/** It is said how long it took; this is for the busiest machine. */
const NOTICED_MS = 20_000;
const REPAIRED_MS = 120_000;

/** Starts the operator with the watch, and waits until it watches the templates. */
export async function watchTemplates(stage: Stage): Promise<OperatorProcess> {
  const { signal, switchboard, tell } = stage;
  tell.step('"drydock operator --roles boot-images,watch" runs');
  const operator = await stage.operate('--roles', 'boot-images,watch');
  let line: WatchLine | undefined;
  let templates = 0;
  await awaited(
    async () => {
      operator.alive();
      line = await templateWatch(operator, signal);
      // What nothing needs any more may go meanwhile.
      templates = (await switchboard.templates()).filter(({ folder }) => folder === folderPath).length;
      return (line?.state === 'live' && line.machines >= templates && line.dirty === 0) || undefined;
    },
    {
      deadline: UP_MS,
      signal,
      sentence: () =>
        `the operator does not watch the ${templates} templates of ${folderPath}: ${line?.state ?? 'no watch'}, ${line?.machines ?? 0} machines`,
    },
  );
  return operator;
}

/** Somebody destroys the template of a machine set in vCenter. */
export async function repair(stage: Stage, operator: OperatorProcess): Promise<void> {
  const { client, signal, switchboard, tell } = stage;
  const template = (await templatesOf(client)).get(SET) ?? '';
  tell.step(`Somebody destroys ${template} in vCenter by hand`);
  const sinceEpoch = Date.now();
  const since = performance.now();
  await switchboard.destroyVm(`${folderPath}/${template}`);

  const event = await awaited(
    async () => {
      operator.alive();
      for await (const one of client.list(Event, { namespace: machineApi }, { signal })) {
        if (one.reason === 'TemplateChanged' && one.regarding?.name === SET && timeOf(one) >= sinceEpoch) return one;
      }
      return undefined;
    },
    {
      deadline: NOTICED_MS,
      signal,
      sentence: () => `nobody noticed within ${spent(NOTICED_MS)} that ${template} was destroyed`,
    },
  );
  tell.say(`noticed after ${spent(timeOf(event) - sinceEpoch)}: ${event.note}`);

  const now = await awaited(
    async () => {
      operator.alive();
      return whole(stage);
    },
    {
      deadline: REPAIRED_MS,
      signal,
      sentence: () => `the template of ${SET} was not made again within ${spent(REPAIRED_MS)}`,
    },
  );
  tell.say(
    `repaired after ${spent(performance.now() - since)}: ${SET} points at ${now}, and vCenter has it as a template`,
  );
  const args = ['watch', 'status', '--operator', operator.url() ?? ''];
  const { code, out, errors } = await drydock(args, { cwd: stage.folder, signal });
  if (code !== exitCode.done) throw new Error(`"drydock watch status" ended with ${code}:\n${errors}`);
  tell.say(`\n$ drydock ${args.join(' ')}\n${out}\n`);
}

/** What the set points at, once every set points at a template that vCenter has. */
async function whole({ client, switchboard }: Stage): Promise<string | undefined> {
  const wanted = await templatesOf(client);
  const there = new Set(
    (await switchboard.templates()).filter(({ folder }) => folder === folderPath).map(({ name }) => name),
  );
  const ours = machineSets.filter(({ owner }) => owner === undefined).map(({ name }) => wanted.get(name) ?? '');
  return ours.every((name) => there.has(name)) ? wanted.get(SET) : undefined;
}

function timeOf({ eventTime, series }: Event): number {
  return Date.parse(series?.lastObservedTime ?? eventTime ?? '');
}

/** How the operator's watch on templates stands. */
async function templateWatch(operator: OperatorProcess, signal: AbortSignal): Promise<WatchLine | undefined> {
  const url = operator.url();
  if (url === undefined) return undefined;
  const text = await fetch(`${url}/metrics`, { signal }).then(
    (answer) => answer.text(),
    () => '',
  );
  return watchLines(samplesOf(text)).find(({ vcenter, watch }) => watch === 'templates' && vcenter === vcenterName);
}
