import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import type { CustomResourceDefinition } from '@drydock/api';
import { crdFolder } from '@drydock/sandbox';
import { exitCode } from '../exit.ts';
import { capabilitiesIn, enabledIn, giveCapabilities, missingAfter, nextStatus } from './capabilities.ts';
import { drydock } from './command-line.ts';
import { definitionAt, definitionNow, installDefinition } from './definition.ts';
import { olderSet, ownCrds, type Stage } from './stage.ts';
import {
  expectRefused,
  keptIn,
  ledgerStore,
  naiveWriter,
  type ProjectedWriter,
  projectedWriter,
  refusalText,
} from './status-writers.ts';

const OLDER = '4.17';
const NEWER = '4.21';
const ROUNDS = 3;

/** A cluster goes back a release: what was stored is refused from then on, and how it can be told before, lived through, and left again. */
export async function rollbackChapter(stage: Stage): Promise<void> {
  const { client, folder, signal, tell } = stage;
  tell.chapter('ROLLBACK: the trap is seen before, passed without a refused write, and left without a loss');
  const newer = await definitionNow(client, { signal });
  const older = await definitionAt(crdFolder(olderSet), newer);
  const [known, legal] = [capabilitiesIn(newer), capabilitiesIn(older)];
  const illegal = known.filter((name) => !legal.includes(name));
  const [spare = ''] = legal;
  if (illegal.length === 0) throw new Error(`the definition of ${OLDER} knows every capability of ${NEWER}: no trap`);
  await giveCapabilities(client, known, spare, { signal });
  tell.step(
    `ClusterVersion of openshift/api ${NEWER}: ${known.length} capabilities, ${known.length - 1} of them enabled; ${OLDER} knows all but ${illegal.join(', ')}`,
  );

  const to = `crds-${OLDER}`;
  // Ours stays as it is.
  for (const source of [crdFolder(olderSet), ownCrds]) await cp(source, join(folder, to), { recursive: true });
  tell.say(`\n$ drydock crd preflight --to ${to}`);
  tell.say(await preflight(stage, to));

  tell.step(`The cluster goes back all the same: the definition of ${OLDER} takes the place of that of ${NEWER}`);
  await installDefinition(client, older, illegal[0] ?? '', 'refused', { signal });
  tell.say(`\nA status writer that knows nothing of it enables ${spare}, and records the step in the history:`);
  const naive = naiveWriter(client, { signal });
  const answers = [];
  for (let round = 1; round <= ROUNDS; round += 1) answers.push(await naive((status) => nextStatus(status, spare)));
  const [first] = expectRefused(answers);
  tell.say(`PUT clusterversions/version/status: 422 ${refusalText(first)}`);
  tell.say(`${answers.length} writes, ${answers.length} refused: it is blocked, and nothing heals by itself`);
  tell.say('(servers before 1.33 refuse every write of such a status, those before 1.30 every write of the object)');

  tell.say("\nDrydock's status writer means the same:");
  const ledger = ledgerStore(client);
  const writerAt = (definition: CustomResourceDefinition): ProjectedWriter =>
    projectedWriter(client, definition, ledger, { signal });
  const back = writerAt(older);
  for (let round = 1; round <= ROUNDS; round += 1) await back.write((status) => nextStatus(status, spare));
  const kept = await keptIn(ledger);
  if (kept.length === 0) throw new Error('nothing was left out of the status, though the definition cannot hold it');
  tell.say(`${ROUNDS} writes, none refused; left out of the status and kept in a ConfigMap:`);
  for (const line of kept) tell.say(`  ${line}`);

  tell.step(`Forward again to ${NEWER}; the status writer is a new one, which knows that ConfigMap alone`);
  await installDefinition(client, newer, illegal[0] ?? '', 'taken', { signal });
  const last = await writerAt(newer).write((status) => nextStatus(status, spare));
  const missing = [...missingAfter(last, known, ROUNDS + 1), ...(await keptIn(ledger)).map((line) => `kept ${line}`)];
  if (missing.length > 0) throw new Error(`lost on the way back and forth: ${missing.join(', ')}`);
  tell.say(
    `everything is there again: ${enabledIn(last).length} capabilities enabled, ${illegal.join(', ')} among them, ${ROUNDS + 1} steps in the history; lost: 0`,
  );
}

/** Runs the command as a person would. It has to say that the way back is blocked, and by what. */
async function preflight({ folder, sandbox, signal }: Stage, to: string): Promise<string> {
  const args = ['crd', 'preflight', '--to', to, '--kubeconfig', sandbox.kubeconfig];
  const { code, out, errors } = await drydock(args, { cwd: folder, signal });
  if (code !== exitCode.blocked || !out.includes('enabledCapabilities'))
    throw new Error(`the preflight ended with ${code} and saw nothing of the trap:\n${out}${errors}`);
  return out;
}
