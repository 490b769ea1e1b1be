import { runCommand } from '../command.ts';
import { compared, type Figure } from '../measure.ts';
import { barePatches, startFleet } from './fleet.ts';

const SETS = 1000;
const FOLDERS = 10;
const [FIRST, SECOND] = ['9.8.20260802-0', '9.9.20260903-0'] as const;
const ROUNDS = 3;

/** A plan of all sets by the command, then all of them moved, and pinned to the image before. */
export async function pointer(report: (figure: Figure) => void, signal: AbortSignal): Promise<void> {
  await using fleet = await startFleet({ folders: FOLDERS, sets: SETS, publication: 'pointer' });
  const { voyage, flags } = fleet;
  await fleet.release(FIRST);
  fleet.operate();
  await fleet.all(({ phase, current }) => phase === 'Current' && current === FIRST, signal);
  await fleet.stop();
  await fleet.release(SECOND);
  const common = { bench: 'image', lowerIsBetter: true } as const;
  // Exit code 6: changes are pending.
  const [plans, looks] = [[], []] as [
    Awaited<ReturnType<typeof runCommand>>[],
    Awaited<ReturnType<typeof runCommand>>[],
  ];
  const [lease, namespace, ...reach] = flags.slice(2);
  const cluster = flags.slice(0, 2);
  for (let round = 0; round <= ROUNDS; round++) {
    const plan = await runCommand(['image', 'plan', '-o', 'json', ...cluster, ...reach], 6, signal);
    const look = await runCommand(['status', '-o', 'json', ...cluster, lease ?? '', namespace ?? ''], 0, signal);
    const { steps } = JSON.parse(plan.stdout) as { readonly steps: readonly { readonly kind: string }[] };
    const points = steps.filter(({ kind }) => kind === 'point').length;
    if (points !== SETS) throw new Error(`bench: the plan moves ${points} of ${SETS} sets`);
    if (round > 0) plans.push(plan);
    if (round > 0) looks.push(look);
  }
  const best = (of: typeof plans): number => Math.min(...of.map(({ seconds }) => seconds));
  const most = (of: typeof plans): number => Math.max(...of.map(({ rssMB }) => rssMB));
  const planned = { ...common, case: `plan of ${SETS} sets` } as const;
  report({ ...planned, metric: 'wall', unit: 's', ours: best(plans), peer: best(looks), goal: 2 });
  report({ ...planned, metric: 'peak RSS', unit: 'MB', ours: most(plans), peer: most(looks), goal: 200 });

  fleet.operate();
  await fleet.all(({ phase, current }) => phase === 'Current' && current === SECOND, signal);
  const limit = await barePatches(fleet);
  await voyage.switchboard.resetUploads({ signal });
  const since = performance.now();
  await fleet.pin(({ history = [] }) => {
    const { release, image } = history[1] ?? {};
    if (release !== FIRST || image === undefined) throw new Error('bench: a set has no way back');
    return { release, image, by: 'bench', reason: 'measured' };
  });
  await fleet.all(({ reason, current }) => reason === 'Pinned' && current === FIRST, signal);
  const seconds = (performance.now() - since) / 1000;
  const { bytes } = await voyage.switchboard.uploads({ signal });
  const back = { ...common, case: `revert of ${SETS} sets` } as const;
  report({ ...back, metric: 'wall', unit: 's', ours: seconds, peer: limit, goal: 60 });
  report(compared({ ...back, metric: 'bare patches', unit: 's', ours: seconds, peer: limit }));
  report({ ...back, metric: 'uploaded', unit: 'B', ours: bytes, goal: 0 });
}
