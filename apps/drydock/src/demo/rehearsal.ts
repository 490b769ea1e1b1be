import { cp, mkdir, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { RehearsalCell, RehearsalReport } from '@drydock/release';
import { crdFolder } from '@drydock/sandbox';
import { exitCode } from '../exit.ts';
import { table } from '../table.ts';
import { drydock } from './command-line.ts';
import { olderSet, type Stage } from './stage.ts';

/** Definitions that differ in a status, and in what is cut. */
const KINDS = /clusterversions|machineconfigpools/;
const NEWER = 'openshift-4.21';
const LONG = 90;

/** A release goes forward, back and forward again on servers of its own; then the same way back unprepared, with operators that look at no schema. */
export async function rehearsalChapter(stage: Stage): Promise<void> {
  const { folder, sandbox, signal, tell } = stage;
  tell.chapter('REHEARSAL: a release goes there, back and there again; unprepared, the same writes are refused');
  if (sandbox.backend !== 'real') {
    tell.say('Not played: it needs the real servers. To build them with Go and play it:\n');
    tell.say('$ make servers && SERVERS=real ./drydock demo --chapters rehearsal');
    return;
  }
  const [older, newer] = ['crds-older', 'crds-newer'];
  await copied(crdFolder(olderSet), join(folder, older));
  await copied(crdFolder(NEWER), join(folder, newer));
  tell.step('On an API server of its own, that no illegal status passes: a release of 4.17, then of 4.21, and back');
  const typed = ['release', 'rehearse', '--from', older, '--to', newer, '--era', 'E0', '--time-scale', '0.02'];
  const { code, errors } = await drydock([...typed, '--seed', '5', '--out', 'rehearsal'], { cwd: folder, signal });
  if (code !== exitCode.done) throw new Error(`the rehearsal ended with ${code}:\n${errors}`);
  const report = JSON.parse(await readFile(join(folder, 'rehearsal', 'report.json'), 'utf8')) as RehearsalReport;
  const [cell] = report.cells;
  if (cell === undefined) throw new Error('the rehearsal has played nothing');
  tell.say(`$ drydock ${typed.join(' ')}`);
  for (const { from, scene, to } of cell.scenes)
    if (SCENES[scene] !== undefined) tell.say(`${((to - from) / 1_000).toFixed(1).padStart(5)} s  ${SCENES[scene]}`);
  for (const id of ['A5', 'A6', 'A12']) tell.say(told(cell, id));
  tell.step('The same writes after a way back that nobody prepared, and while Drydock went back');
  tell.say(comparison(cell));
}

const SCENES: Readonly<Record<string, string>> = {
  Older: '4.17 is applied, and its operators write',
  Forward: '4.21 is applied',
  Use: 'objects are stored that 4.17 refuses or cuts',
  Back: 'Drydock goes back to 4.17',
  Again: 'forward again to 4.21',
  Control: 'the negative control: back without Drydock, definitions first',
};

async function copied(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true });
  for (const file of (await readdir(from)).filter((name) => KINDS.test(name)))
    await cp(join(from, file), join(to, file));
}

/** What was seen of something that must hold. Throws where it does not. */
function told({ assertions }: RehearsalCell, id: string): string {
  const found = assertions.find((one) => one.id === id);
  if (found?.verdict !== 'passed')
    throw new Error(`${id} of the rehearsal does not hold: ${found?.seen ?? 'not played'}`);
  return `${found.title}: ${found.seen}`;
}

/** Each kind of write that is refused unprepared. Throws where there is none, or where one was refused with Drydock, too. */
export function comparison({ control }: Pick<RehearsalCell, 'control'>): string {
  const refused = control.filter(({ observed }) => observed === 'refused');
  if (refused.length === 0)
    throw new Error('nothing was refused on the way back that nobody prepared: there is no trap');
  const bad = refused.find(({ prepared }) => prepared.refused > 0 || prepared.taken === 0);
  if (bad !== undefined) throw new Error(`the status of ${bad.object} was not written all the while`);
  const all = table(
    [
      { header: 'OBJECT', cell: ({ object }: (typeof refused)[number]) => object },
      { header: 'WRITE', cell: ({ write }) => WRITES[write] },
      { header: 'UNPREPARED', cell: () => '422' },
      { header: 'WITH DRYDOCK', cell: ({ prepared }) => `${prepared.taken} status writes taken` },
    ],
    refused,
  );
  const said = /: \[?(.*)/s.exec(refused[0]?.said.replace(/^.* is invalid/s, '') ?? '')?.[1] ?? '';
  return `${all}\n422 ${said.length > LONG ? `${said.slice(0, LONG)}…` : said}`;
}

const WRITES = {
  status: 'its operator, that keeps what it knows',
  main: 'a label, by a person',
  words: 'its operator, that drops one capability',
} as const;
