import type { Generation, Plan, PlannedStep, RevertRequest, TemplateStore } from '@drydock/templates';
import { escapeName } from '@drydock/vsphere';
import type { Command } from 'commander';
import { exitCode } from '../exit.ts';
import { durationText } from './amounts.ts';
import { byPointer, type PointerFlags, pointerFlags } from './history.ts';
import { shell } from './next-command.ts';
import { openPointer, type PointerFile, pointTo } from './pointer.ts';
import { type ExitCode, TemplateProblem } from './problem.ts';
import { agreed } from './question.ts';
import { type Run, verb } from './run.ts';
import type { TemplateSession } from './session.ts';

/** Flags of going back. */
export interface RevertFlags extends PointerFlags {
  readonly to?: string;
  readonly yes?: boolean;
}

/** Adds the flags that say where to go back to. */
export function revertFlags(command: Command): Command {
  return pointerFlags(
    command
      .option('--consumer <name>', 'how the pointer is called on the template (default: the file and this host)')
      .option('--to <generation>', 'name or instance UUID, also its beginning (default: the one before the current)'),
  );
}

/** Adds `drydock template revert`. */
export function addRevert(group: Command): void {
  const command = group
    .command('revert')
    .description('go back to an earlier generation, without an upload')
    .argument('<name>', 'stable name, or what the names of a pointer begin with')
    .option('-y, --yes', 'do not ask');
  verb<RevertFlags>(revertFlags(command), async (run) => {
    const { pointer: path, pointerVariable } = run.flags;
    const name = run.subject();
    if (path === undefined) return revertSwap(run, name);
    return revertPointer(run, name, await openPointer(path, pointerVariable));
  });
}

/** The generation that `--to` names; undefined: the store chooses. */
export function generationOf(
  generations: readonly Generation[],
  to: string | undefined,
  name: string,
): Generation | undefined {
  if (to === undefined) return undefined;
  const exact = generations.find((one) => one.name === to || one.instanceUuid === to.toLowerCase());
  if (exact !== undefined) return exact;
  const found = generations.filter((one) => one.instanceUuid.startsWith(to.toLowerCase()));
  const [one] = found;
  if (one !== undefined && found.length === 1 && to.length >= 4) return one;
  throw new TemplateProblem({
    code: 'GENERATION_UNKNOWN',
    message: `${name} has ${found.length === 0 ? 'no' : 'more than one'} generation ${to}`,
    exit: exitCode.blocked,
    next: shell`drydock template history ${name} -o wide`,
  });
}

/** The way back of a swap. Where a pointer says which template is the current one, it refuses; `because` follows this in the sentence. */
export async function swapBack(run: Run<RevertFlags>, name: string, because: string): Promise<SwapBack> {
  const { session, store, placement, owner } = await run.open('folder');
  const generations = await store.history(placement, owner, name, { signal: run.signal });
  if (generations.length > 0 && byPointer(generations)) {
    throw new TemplateProblem({
      code: 'POINTER_NEEDED',
      message: `${name} is published by pointer${because}`,
      next: run.command('revert', name, '--pointer', 'FILE'),
    });
  }
  const to = generationOf(generations, run.flags.to, name)?.instanceUuid;
  const wish = { placement, owner, name, holder: session.holder.identity, ...(to === undefined ? {} : { to }) };
  return { session, generations, wish };
}

interface SwapBack {
  readonly session: TemplateSession;
  readonly generations: readonly Generation[];
  readonly wish: RevertRequest;
}

async function revertSwap(run: Run<RevertFlags>, name: string): Promise<ExitCode> {
  const { out, signal } = run;
  const because = ', so going back means to change the file that names the current template';
  const {
    session: { store, holder },
    generations,
    wish,
  } = await swapBack(run, name, because);
  const plan = await store.plan({ kind: 'revert', wish }, { signal, holderIsLive: holder.isLive });
  if (plan.kind !== 'revert') throw new TypeError('a plan of another kind came back');
  if (plan.steps.length === 0) return unchanged(run, name, `${name} is that generation already`);
  const target = generations.find((one) => one.instanceUuid === plan.wish.to);
  out.note(
    `${name} goes back to ${target?.name ?? 'the generation before'} (release ${target?.release ?? 'unknown'}):\n${stepsText(plan.steps)}`,
  );
  if (!(await agreed(run, 'Go back?'))) return exitCode.undecided;
  await carryOut(run, store, plan);
  return exitCode.done;
}

function unchanged({ out }: Run<RevertFlags>, name: string, why: string): ExitCode {
  out.note(`${why}: nothing to do`);
  out.event('reverted', { name, changed: false });
  out.data(`${name}\n`);
  return exitCode.done;
}

/** Does what a plan of a swap's way back says. */
export async function carryOut(
  { out, signal, command }: Pick<Run<RevertFlags>, 'out' | 'signal' | 'command'>,
  store: TemplateStore,
  { wish, world }: Extract<Plan, { kind: 'revert' }>,
): Promise<void> {
  const from = performance.now();
  const reverted = await store.revert(wish, { signal, expectWorld: world });
  const ms = performance.now() - from;
  const { name, release, absentMs, retired } = reverted;
  out.event('reverted', { ...reverted, changed: true, ms: Math.round(ms) });
  const absent = absentMs === undefined ? '' : `, absent for ${durationText(absentMs)}`;
  out.note(
    `Reverted ${name} to release ${release === '' ? 'unknown' : release} in ${durationText(ms)}${absent}, nothing uploaded`,
  );
  if (retired !== undefined) out.note(`What it was is kept as ${retired}; forward again: ${command('revert', name)}`);
  out.data(`${name}\n`);
}

async function revertPointer(run: Run<RevertFlags>, name: string, pointer: PointerFile): Promise<ExitCode> {
  const { flags, out, signal } = run;
  const from = performance.now();
  const { store, placement, owner } = await run.open('folder');
  const generations = await store.history(placement, owner, name, { signal });
  const now = await pointer.read();
  const target = generationOf(generations, flags.to, name) ?? before(generations, now, name, pointer.path);
  if (target.name === now) return unchanged(run, now, `${pointer.path} names ${now} already`);
  const verification = await store.verify(placement, target.name, { signal });
  // Whether a host could take an import says nothing about a template that is there.
  const bad = verification.checks.find(({ name: check, ok }) => !ok && check !== 'hosts');
  if (bad !== undefined) {
    throw new TemplateProblem({
      code: 'GENERATION_UNUSABLE',
      message: `${target.name} is not fit for use: ${bad.name}: ${bad.detail}`,
      exit: exitCode.blocked,
      next: run.command('verify', target.name),
    });
  }
  out.note(
    `${pointer.path} goes back from ${now ?? 'nothing'} to ${target.name} (release ${target.release ?? 'unknown'})`,
  );
  if (!(await agreed(run, 'Go back?'))) return exitCode.undecided;
  const to = {
    template: target.name,
    server: placement.server,
    path: `${placement.folder}/${escapeName(target.name)}`,
    ...(target.release === undefined ? {} : { release: target.release }),
    ...(target.digest === undefined ? {} : { sha256: target.digest }),
  };
  await pointTo(store, placement, to, { pointer, consumer: flags.consumer, signal });
  const ms = performance.now() - from;
  out.event('reverted', { name: target.name, file: pointer.path, changed: true, ms: Math.round(ms) });
  out.note(`Pointed ${pointer.path} to ${target.name}, nothing uploaded`);
  out.data(`${target.name}\n`);
  return exitCode.done;
}

/** The newest usable generation that is older than the current one. */
export function before(
  generations: readonly Generation[],
  now: string | undefined,
  name: string,
  file: string,
): Generation {
  const at = generations.findIndex((one) => one.name === now);
  const older = at < 0 ? undefined : generations.slice(at + 1).find(({ revertible }) => revertible);
  if (older !== undefined) return older;
  const why =
    at < 0 ? `${file} names ${now ?? 'nothing'}, which is no generation of it` : 'there is no older generation';
  throw new TemplateProblem({
    code: 'NOTHING_TO_REVERT',
    message: `${name} cannot go back: ${why}`,
    exit: exitCode.blocked,
    next: shell`drydock template history ${name} --pointer ${file}`,
  });
}

/** The steps of a plan, each with the calls that it makes. */
export function stepsText(steps: readonly PlannedStep[]): string {
  const calls = steps.flatMap((step) => [`  ${step.text}`, ...step.calls.map((call) => `      ${call}`)]);
  return calls.join('\n');
}
